//! The provider's one address.

use std::any::Any;
use std::io;
use std::net::TcpListener;

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::dev::{Extensions, Server};
use actix_web::rt::net::TcpStream;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use super::{WalletAuthority, WalletError};

/// How long a payment session counts, as the real one.
const LIFETIME: Duration = Duration::minutes(5);
/// Largest request.
const MAX_BODY: usize = 4 * 1024;

/// The merchant that a connection's certificate names.
#[derive(Clone)]
struct CertificateName(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ask {
    merchant_identifier: String,
    display_name: String,
    initiative: String,
    initiative_context: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    epoch_timestamp: i64,
    expires_at: i64,
    merchant_session_identifier: String,
    nonce: String,
    merchant_identifier: String,
    domain_name: String,
    display_name: String,
    signature: String,
}

impl WalletAuthority {
    /// Serves payment sessions on `listener`, until the server is told to stop. One worker: a sandbox has few shoppers.
    ///
    /// # Errors
    /// [`WalletError::Tls`].
    pub fn serve(&self, listener: TcpListener) -> Result<Server, WalletError> {
        let tls = self.tls()?;
        let limited = web::PayloadConfig::new(MAX_BODY);
        let app = move || {
            App::new()
                .app_data(limited.clone())
                .route("/paymentservices/paymentSession", web::post().to(session))
                .default_service(web::to(|| async { HttpResponse::NotFound().finish() }))
        };
        let server =
            HttpServer::new(app).on_connect(attach_certificate_name).workers(1).shutdown_timeout(1).disable_signals();
        let failed = |error: io::Error| WalletError::Tls(error.to_string());
        Ok(server.listen_rustls_0_23(listener, tls).map_err(failed)?.run())
    }
}

/// Keeps whom the connection's certificate names.
fn attach_certificate_name(connection: &dyn Any, extensions: &mut Extensions) {
    let stream = connection.downcast_ref::<TlsStream<TcpStream>>();
    let certificate = stream.and_then(|stream| stream.get_ref().1.peer_certificates()?.first());
    let parsed = certificate.and_then(|der| x509_parser::parse_x509_certificate(der).ok());
    let named = parsed.and_then(|(_, certificate)| {
        let name = certificate.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
        Some(CertificateName(name))
    });
    if let Some(named) = named {
        extensions.insert(named);
    }
}

/// A payment session for the merchant that shows its certificate, and for no other.
async fn session(request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let named = request.conn_data::<CertificateName>().map(|CertificateName(name)| name.clone());
    let ask: Ask = match serde_json::from_slice(&body) {
        Ok(ask) => ask,
        Err(_malformed) => return HttpResponse::BadRequest().finish(),
    };
    if named.as_deref() != Some(ask.merchant_identifier.as_str()) {
        return HttpResponse::Unauthorized().finish();
    }
    if ask.initiative != "web" || ask.initiative_context.is_empty() || ask.display_name.is_empty() {
        return HttpResponse::BadRequest().finish();
    }
    let now = OffsetDateTime::now_utc();
    let milliseconds = |at: OffsetDateTime| at.unix_timestamp() * 1_000;
    let number = now.unix_timestamp_nanos();
    HttpResponse::Ok().json(Session {
        epoch_timestamp: milliseconds(now),
        expires_at: milliseconds(now + LIFETIME),
        merchant_session_identifier: format!("SANDBOX-{number:x}"),
        nonce: format!("{:08x}", number % 0xffff_ffff),
        merchant_identifier: ask.merchant_identifier,
        domain_name: ask.initiative_context,
        display_name: ask.display_name,
        // Nobody checks it: the sandbox's wallet is simulated too.
        signature: "73616e64626f78".to_owned(),
    })
}
