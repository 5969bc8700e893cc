//! The mobile wallet: its simulated tokens, and the provider that lets nobody in without a certificate of its own.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{KEY, PLAIN, RunningProcessor, asking, authorization, fresh_key};
use actix_tls::connect::{Connector as TcpConnector, Resolver};
use actix_web::http::Method;
use futures_util::future::LocalBoxFuture;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sandbox_processor::{Hosting, IssuedIdentity, WalletAuthority};
use serde_json::{Value, json};

fn token(wanted: &Value) -> Value {
    let data = json!({"token": {"paymentData": {"sandbox": wanted}}});
    let terms = json!({"Card": null, "Token": {"Type": "APPLEPAY", "Data": data}, "ReviewAllowed": true});
    serde_json::from_str(&asking(terms)).expect("JSON")
}

#[actix_web::test]
async fn a_token_stands_for_a_card_and_says_which() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (wanted, outcome, reason) in [
        ("approve", "APPROVED", ""),
        ("review", "APPROVED", ""),
        ("challenge", "PENDING", ""),
        ("decline", "DECLINED", "GENERIC_DECLINE"),
        ("insufficient_funds", "DECLINED", "INSUFFICIENT_FUNDS"),
    ] {
        let answer = caller.post("/v1/authorizations", &fresh_key(), token(&wanted.into())).await;
        assert_eq!((answer.status, answer.outcome(), answer.reason()), (200, outcome, reason), "{answer:?}");
        assert_eq!(answer.body["UnderReview"] == true, wanted == "review", "{answer:?}");
        assert_eq!(answer.body["Method"], "CARD");
        assert!(!answer.text.contains("paymentData"), "nothing of the token is told: {answer:?}");
    }
    let key = fresh_key();
    caller.post("/v1/authorizations", &key, token(&"pending_refund".into())).await;
    assert_eq!(caller.capture(&fresh_key(), &key, "29.90").await.outcome(), "APPROVED");
    assert_eq!(caller.refund(&fresh_key(), &key, "9.90").await.outcome(), "PENDING");
    running.stop().await;
}

#[actix_web::test]
async fn what_is_no_token_is_refused_and_not_repeated() {
    let running = RunningProcessor::start().await;
    let good = token(&"approve".into());
    let change = |change: &dyn Fn(&mut Value)| {
        let mut body = good.clone();
        change(&mut body);
        body
    };
    let card: Value = serde_json::from_str(&authorization(PLAIN)).expect("JSON");
    for (body, start) in [
        (change(&|body| body["Card"] = card["Card"].clone()), "Send either Card, Token or Credential"),
        (change(&|body| body["Method"] = "PAYPAL".into()), "Token must be left out"),
        (change(&|body| body["Token"]["Type"] = "4242".into()), "Token.Type must be"),
        (change(&|body| body["Token"]["Data"] = Value::Null), "Token.Data"),
        (change(&|body| body["Token"]["Data"] = "4242".into()), "Token.Data must be a JSON object"),
        (token(&"4242".into()), "Token.Data.token.paymentData.sandbox must be"),
    ] {
        let answer = running.caller.post("/v1/authorizations", &fresh_key(), body).await;
        let message = answer.body["Message"].as_str().unwrap_or_default();
        assert_eq!((answer.status, answer.code()), (400, "INVALID_REQUEST"), "{answer:?}");
        assert!(message.starts_with(start) && !message.contains("4242"), "{message}");
    }
    running.stop().await;
}

/// Sends every name to one address.
struct There(SocketAddr);

impl actix_tls::connect::Resolve for There {
    fn lookup<'a>(
        &'a self,
        _: &'a str,
        _: u16,
    ) -> LocalBoxFuture<'a, Result<Vec<SocketAddr>, Box<dyn std::error::Error>>> {
        Box::pin(async { Ok(vec![self.0]) })
    }
}

/// Asks for a payment session, perhaps with a certificate; the status, and the answer. No status: no connection.
async fn ask(
    address: SocketAddr,
    authority: &WalletAuthority,
    identity: Option<&IssuedIdentity>,
    identifier: &str,
) -> Option<(u16, Value)> {
    let mut roots = RootCertStore::empty();
    let root = std::fs::read(authority.root_file()).expect("a root");
    roots.add(CertificateDer::from_pem_slice(&root).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let tls = tls.with_root_certificates(roots);
    let tls = match identity {
        None => tls.with_no_client_auth(),
        Some(identity) => {
            let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("a certificate")];
            let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("a key");
            tls.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    let tcp = TcpConnector::new(Resolver::custom(There(address))).service();
    let connector = awc::Connector::new().connector(tcp).rustls_0_23(Arc::new(tls));
    let client = awc::Client::builder().connector(connector).timeout(Duration::from_secs(10)).finish();
    let body = json!({"merchantIdentifier": identifier, "displayName": "Ana", "initiative": "web", "initiativeContext": "shop.example"});
    let url = "https://wallet-gateway.localhost/paymentservices/paymentSession";
    let mut answer = client.post(url).send_body(body.to_string()).await.ok()?;
    let bytes = answer.body().await.ok()?;
    Some((answer.status().as_u16(), serde_json::from_slice(&bytes).unwrap_or_default()))
}

#[actix_web::test]
async fn the_provider_gives_sessions_to_whom_the_certificate_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = WalletAuthority::open(&folder.path().join("wallet")).expect("an authority");
    let stranger = WalletAuthority::open(&folder.path().join("other")).expect("an authority");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    actix_web::rt::spawn(authority.serve(listener).expect("a server"));
    let own = authority.issue("merchant.ana").expect("issued");
    let (status, session) = ask(address, &authority, Some(&own), "merchant.ana").await.expect("an answer");
    assert_eq!(status, 200, "{session}");
    assert_eq!((&session["domainName"], &session["displayName"]), (&json!("shop.example"), &json!("Ana")));
    let lifetime = session["expiresAt"].as_i64().expect("a time") - session["epochTimestamp"].as_i64().expect("a time");
    assert_eq!(lifetime, 300_000);
    let of_another = ask(address, &authority, Some(&own), "merchant.bob").await.expect("an answer");
    assert_eq!(of_another.0, 401, "a certificate speaks for its own merchant");
    let strange = stranger.issue("merchant.ana").expect("issued");
    assert_eq!(ask(address, &authority, Some(&strange), "merchant.ana").await, None, "another authority's");
    assert_eq!(ask(address, &authority, None, "merchant.ana").await, None, "without a certificate");
    assert_eq!(ask(address, &stranger, Some(&own), "merchant.ana").await, None, "the provider proves itself too");
}

#[actix_web::test]
async fn certificates_are_issued_to_whoever_knows_the_key() {
    let asked = |identifier: &str| json!({ "MerchantIdentifier": identifier }).to_string();
    let bearer = format!("Bearer {KEY}");
    let headers = [("Authorization", bearer.as_str())];
    let without = RunningProcessor::start().await;
    let refused = without.caller.send(Method::POST, "/v1/wallet/identities", &headers, asked("m")).await;
    assert_eq!(refused.expect("an answer").code(), "NO_WALLET");
    without.stop().await;
    let folder = tempfile::tempdir().expect("a folder");
    let wallet = Some(WalletAuthority::open(&folder.path().join("wallet")).expect("an authority"));
    let hosting = Hosting { wallet, ..Hosting::default() };
    let running = RunningProcessor::start_with(folder, Duration::ZERO, Duration::ZERO, hosting).await;
    let send = async |headers: &[(&str, &str)], body: String| {
        running.caller.send(Method::POST, "/v1/wallet/identities", headers, body).await.expect("an answer")
    };
    let issued = send(&headers, asked("merchant.ana")).await;
    assert!(issued.body["PrivateKey"].as_str().is_some_and(|key| key.contains("PRIVATE KEY")), "{}", issued.status);
    assert_eq!(send(&[], asked("merchant.ana")).await.status, 401);
    for wrong in ["", "a b", &"m".repeat(65)] {
        assert_eq!(send(&headers, asked(wrong)).await.code(), "INVALID_REQUEST", "{wrong}");
    }
    running.stop().await;
}
