//! The mobile wallet, from its certificate to the refund of what it paid (docs/SPECIFICATION.md#wallet, docs/SPECIFICATION.md#checkout-request).

use std::time::Duration;

use dropin_tests::{cards, until};
use serde_json::json;

use crate::{AUTHORIZED, PAID};

crate::both! {
    with &[];

    async fn a_wallet_pays_in_the_drop_in_and_from_server_to_server(world: &World) {
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        assert_eq!(shopper.view().await["TokenMethods"], json!([]), "no certificate, no button");
        let key = world.set_wallet_up().await;
        let view = until("the wallet is offered, within two seconds", Duration::from_secs(2), async || {
            Some(shopper.view().await).filter(|view| !view["TokenMethods"][0].is_null())
        })
        .await;
        let parameters = &view["TokenMethods"][0]["Parameters"];
        assert_eq!(view["TokenMethods"][0]["Type"], "APPLEPAY", "{view}");
        assert_eq!(parameters["MerchantIdentifier"], "merchant.example.tests", "{view}");

        // What the page's callbacks do.
        let url = parameters["PaymentSessionUrl"].as_str().unwrap();
        assert!(url.starts_with(&world.checkout), "{url}");
        let validation_url = "https://wallet-gateway.localhost/paymentservices/startSession";
        let answer = world.wallet_session(url, validation_url, &world.receiver.origin()).await;
        assert_eq!((answer.status, &answer.json()["domainName"]), (200, &json!("localhost")), "{}\n{}", answer.text(), world.programs.logged());
        assert_eq!(answer.header("access-control-allow-origin"), Some(world.receiver.origin().as_str()));
        for (wrong, origin, status) in [
            ("https://wallet-gateway.localhost.evil.example/x", world.receiver.origin(), 400),
            (validation_url, "https://evil.example".to_owned(), 403),
        ] {
            assert_eq!(world.wallet_session(url, wrong, &origin).await.status, status, "{wrong} {origin}");
        }

        // startWalletSession: another merchant of the same page has a wallet of its own, or none.
        let stranger = world.another_merchant().await;
        let of_stranger = url.replace(&world.merchant.id, &stranger.id);
        assert_eq!(world.wallet_session(&of_stranger, validation_url, &world.receiver.origin()).await.status, 403);

        let token = world.stash_token("approve").await;
        let answer = shopper.submit(view["Version"].as_i64().unwrap(), &token).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        world.receiver.expect(&session, &PAID).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!((&order["State"], &order["PaymentMethod"]), (&json!("PROCESSED"), &json!("APPLEPAY")), "{order}");
        let refund = world.merchant.refund(&order, "r-1", Some("9.90")).await;
        assert_eq!((refund.status, &refund.json()["State"]), (201, &json!("SUCCEEDED")), "{}", refund.text());
        world.receiver.expect(&session, &[&PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;

        let token = world.stash_token("approve").await;
        let paid = world.merchant.post_checkout("", None, &world.token_checkout(&token)).await;
        assert_eq!((paid.status, &paid.json()["Captured"]), (200, &json!(true)), "{}", paid.text());
        let order = paid.json()["OrderId"].as_str().unwrap().to_owned();
        world.receiver.expect(&order, &PAID[1..]).await;
        let again = world.merchant.post_checkout("", None, &world.token_checkout(&token)).await;
        assert_eq!(again.status, 400, "a token pays once: {}", again.text());
        let token = world.stash_token("decline").await;
        let declined = world.merchant.post_checkout("", None, &world.token_checkout(&token)).await;
        assert_eq!((declined.status, declined.code().as_str()), (402, "PAYMENT_DECLINED"));

        // Nobody sees the key again.
        let shown = world.programs.run_dropin(&["wallet", "show", &world.merchant.id, "--json"]);
        assert!(shown.contains("VERIFIED"), "{shown}");
        let secret = key.lines().nth(1).unwrap();
        assert!(!shown.contains(secret) && !world.programs.logged().contains(secret));
        world.programs.run_dropin(&["wallet", "remove", &world.merchant.id]);
        let session = world.merchant.create_session(json!({"AutoCapture": false})).await;
        let shopper = world.shopper(&session);
        until("the wallet is offered no more, within two seconds", Duration::from_secs(2), async || {
            (shopper.view().await["TokenMethods"] == json!([])).then_some(())
        })
        .await;
        let progress = world.pay(&session, cards::VISA).await;
        assert_eq!(progress["State"], "COMPLETED", "{progress}");
        world.receiver.expect(&session, &AUTHORIZED).await;
    }

    async fn google_pay_is_offered_by_an_account_and_pays(world: &World) {
        let id = &world.merchant.id;
        let set = ["merchant", "set", id, "--google-pay", "example:shop-17:NL"];
        world.programs.run_dropin(&set);
        let session = world.merchant.create_session(json!({"AutoCapture": true})).await;
        let shopper = world.shopper(&session);
        let view = until("Google Pay is offered, within two seconds", Duration::from_secs(2), async || {
            Some(shopper.view().await).filter(|view| !view["TokenMethods"][0].is_null())
        })
        .await;
        let entry = &view["TokenMethods"][0];
        assert_eq!((&entry["Type"], &entry["Parameters"]["GatewayMerchantId"]), (&json!("GOOGLEPAY"), &json!("shop-17")));
        let refused = world.stash_google_token("decline").await;
        let answer = shopper.submit(view["Version"].as_i64().unwrap(), &refused).await;
        assert_eq!(answer.json()["Attempt"]["ErrorCode"], "PAYMENT_DECLINED", "{}", answer.text());
        let token = world.stash_google_token("approve").await;
        let answer = shopper.submit(shopper.view().await["Version"].as_i64().unwrap(), &token).await;
        assert_eq!((answer.status, &answer.json()["State"]), (200, &json!("COMPLETED")), "{}", answer.text());
        world.receiver.expect(&session, &PAID).await;
        let order = world.merchant.order_of(&session).await;
        assert_eq!((&order["State"], &order["PaymentMethod"]), (&json!("PROCESSED"), &json!("GOOGLEPAY")), "{order}");
        world.programs.run_dropin(&["merchant", "set", id, "--no-google-pay"]);
        until("Google Pay is offered no more, within two seconds", Duration::from_secs(2), async || {
            (shopper.view().await["TokenMethods"] == json!([])).then_some(())
        })
        .await;
    }

    async fn a_shopper_is_asked_for_a_postcode_that_is_told_to_nobody_but_the_processor(world: &World) {
        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--address-check", "on"]);
        let address = json!({"Street": "10 Downing Street", "City": "London", "Country": "GB"});
        let profile = json!({"Name": "Ada", "Email": "ada@shop.example", "Address": address});
        let session = world.merchant.create_session(json!({"AutoCapture": true, "BillingProfile": profile})).await;
        let shopper = world.shopper(&session);
        until("the postcode is asked for, within two seconds", Duration::from_secs(2), async || {
            Some(shopper.view().await).filter(|view| view["AddressFields"][0]["Example"] == "SW1A 1AA")
        })
        .await;
        let stashed = shopper.stash("postcode", cards::VISA).await;
        let missing = shopper.submit(shopper.view().await["Version"].as_i64().unwrap(), &stashed).await;
        assert_eq!(missing.json()["FieldErrors"][0]["Field"], "BillingAddress.Postcode", "{}", missing.text());
        let wrong = shopper.submit_from("10117", &stashed).await;
        assert_eq!(wrong.json()["FieldErrors"][0]["Code"], "FIELD_INVALID", "{}", wrong.text());
        let paid = shopper.submit_from("ec1a1bb", &stashed).await;
        assert_eq!((paid.status, &paid.json()["State"]), (200, &json!("COMPLETED")), "{}", paid.text());
        world.receiver.expect(&session, &PAID).await;
        let read = world.merchant.session(&session).await;
        assert!(!read.to_string().to_lowercase().contains("ec1a"), "{read}");
        assert_eq!(read["BillingProfile"]["Address"], address, "{read}");
        assert!(!world.programs.logged().to_lowercase().contains("ec1a"));
    }
}
