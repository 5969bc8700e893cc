//! The published test numbers that have no chapter of their own (docs/SPECIFICATION.md#test-numbers). Of the others: 3-D Secure in `hosted`, review in `reviews`,
//! captures in `payment`, refunds in `refunds`, unknown outcomes in `faults`.

use dropin_tests::cards;
use serde_json::json;

use crate::{CHARGED, PAID};

crate::both! {
    /// Every scheme is authorized, captured at once, and named.
    async fn every_scheme_is_paid(world: &World) {
        for (scheme, number) in cards::SCHEMES {
            let paid = world.paid(number, json!({"AutoCapture": true})).await;
            assert_eq!(paid.order["PaymentMethod"], scheme);
            world.receiver.expect(&paid.session, &PAID).await;
            world.journal_has(&paid.session, &CHARGED).await;
            assert_eq!(world.merchant.session(&paid.session).await["PaymentMethod"], scheme);
        }
    }

    /// Through to the processor, which shows it.
    async fn a_co_badged_card_pays_by_the_scheme_that_was_chosen(world: &World) {
        let mut billing = world.merchant.session_request(json!({}))["BillingProfile"].clone();
        billing["Address"] = json!({"Street": "1 rue Haute", "City": "Lyon", "Country": "FR", "Postcode": "69001"});
        for scheme in ["CB", "VISA"] {
            let request = json!({"Currency": "EUR", "BillingProfile": billing, "AutoCapture": true});
            let session = world.merchant.create_session(request).await;
            let shopper = world.shopper(&session);
            let stashed = shopper.stash("one", cards::CO_BADGED).await;
            assert_eq!(shopper.submit_by("MC", &stashed).await.status, 400, "it bears no such mark");
            let paid = shopper.submit_by(scheme, &stashed).await;
            assert_eq!(paid.json()["PaymentMethod"], scheme, "{}", paid.text());
            world.receiver.expect(&session, &PAID).await;
            let shown = world.merchant.session(&session).await;
            assert_eq!(shown["PaymentMethod"], scheme);
            let order = shown["Order"]["OrderId"].as_str().unwrap();
            assert_eq!(world.authorization_of(order).await["Scheme"], scheme);
        }
    }

    /// Amounts are exact in currencies of every size, through to the processor.
    async fn every_size_of_currency_is_paid_exactly(world: &World) {
        for (currency, amount) in [("JPY", "1234"), ("USD", "0.01"), ("KWD", "12.345"), ("EUR", "999999999999.99")] {
            let items = json!([{"Name": "Mug", "Amount": "AMOUNT", "Quantity": 1}]);
            let request = world.merchant.session_request(json!({"AutoCapture": true, "Currency": currency, "Items": items}));
            let body = request.to_string().replace("\"AMOUNT\"", amount);
            let created = world.merchant.post_session(body.into_bytes()).await;
            assert_eq!(created.status, 201, "{}", created.text());
            let session = created.json()["SessionId"].as_str().unwrap().to_owned();
            assert_eq!(world.pay(&session, cards::VISA).await["State"], "COMPLETED");
            world.receiver.expect(&session, &PAID).await;
            world.journal_has(&session, &[("AUTHORIZE", "APPROVED", amount), ("CAPTURE", "APPROVED", amount)]).await;
        }
    }
}
