//! Payment methods: whatever is listed can be paid with, in the drop-in and from server to server, as the deployment and the merchant have it
//! (docs/SPECIFICATION.md#catalogue).

use std::time::Duration;

use dropin_tests::{World, until};
use serde_json::{Value, json};

/// The deployment's own catalogue file.
const FILE: &[(&str, &str)] = &[("DROPIN_CATALOGUE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/catalogue.toml"))];

async fn listed(world: &World, merchant: &str, filter: &str) -> Value {
    let url = format!("{}/v2.22/getPaymentMethods?MerchantId={merchant}{filter}", world.checkout);
    let answer = world.open(&url, "empty").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn ids(methods: &Value) -> Vec<&str> {
    methods.as_array().unwrap().iter().map(|one| one["Id"].as_str().unwrap()).collect()
}

/// A Session of so many euros for a customer in `country`.
async fn session(world: &World, country: &str, euros: u32) -> String {
    let mut billing = world.merchant.session_request(json!({}))["BillingProfile"].clone();
    billing["Address"] = json!({"Street": "Voorbeeld 1", "City": "Ergens", "Country": country, "Postcode": "1011"});
    let items = json!([{"Name": "Mug", "Amount": euros, "Quantity": 1}]);
    world.merchant.create_session(json!({"Currency": "EUR", "BillingProfile": billing, "Items": items})).await
}

/// What a checkout of so many euros with a method comes to.
async fn checkout(world: &World, country: &str, euros: u32, method: &str) -> u16 {
    let mut request = world.merchant.checkout_request(json!({
        "ConsumerCurrency": "EUR", "PaymentMethod": method,
        "Items": [{"Description": "Mug", "ConsumerPrice": euros, "Quantity": 1}],
    }));
    request["Consumer"]["Country"] = json!(country);
    let answer = world.merchant.post_checkout("", None, &request).await;
    if answer.status == 400 {
        assert_eq!(answer.json()["FieldErrors"][0]["Field"], "PaymentMethod", "{}", answer.text());
    }
    answer.status
}

crate::both! { with super::FILE;
    /// Three calls, one answer.
    async fn whatever_is_listed_can_be_paid_with(world: &World) {
        for (country, euros) in [("NL", 20), ("NL", 1_001), ("BE", 20), ("DE", 20)] {
            let list = listed(world, &world.merchant.id, &format!("&Country={country}&Currency=EUR&Amount={euros}")).await;
            let public = ids(&list["PaymentMethods"]);
            assert!(!public.contains(&"DINERS") && public.contains(&"VISA"), "{public:?}");
            assert_eq!(public.contains(&"IDEAL"), country != "DE" && euros == 20, "{country} {euros}");
            assert!(!public.contains(&"BANKTRANSFER"), "in the drop-in alone");
            let view = world.shopper(&session(world, country, euros).await).view().await;
            let shown: Vec<_> = ids(&view["PaymentMethods"]).into_iter().filter(|id| *id != "BANKTRANSFER").collect();
            assert_eq!(shown, public, "{country} {euros}");
            for method in ["PAYPAL", "IDEAL", "PAYLATER", "BANKTRANSFER", "BLIK"] {
                let taken = checkout(world, country, euros, method).await;
                assert_eq!(taken, if public.contains(&method) { 200 } else { 400 }, "{country} {euros} {method}");
            }
        }
        let shopper = world.shopper(&session(world, "NL", 1_001).await);
        assert!(ids(&shopper.view().await["PaymentMethods"]).contains(&"BANKTRANSFER"));
        assert_eq!(shopper.submit_method("IDEAL").await.status, 400, "it was not shown");
        assert_eq!(shopper.submit_method("BANKTRANSFER").await.status, 200, "nothing had been begun");
    }

    /// From the command line, within two seconds, and nobody else's. The sandbox's messaging script is where the list says.
    async fn a_merchant_offers_what_its_operator_says(world: &World) {
        let (mine, other) = (&world.merchant.id, world.another_merchant().await.id);
        let before = listed(world, &other, "").await;
        assert_eq!(listed(world, mine, "").await, before);
        let change = ["--no-method", "PAYPAL", "--method", "DINERS", "--pay-later-client", "na=own.na-1"];
        world.programs.run_dropin(&[&["merchant", "set", mine][..], &change].concat());
        let offers = async || {
            let list = listed(world, mine, "").await;
            let ids = ids(&list["PaymentMethods"]);
            (!ids.contains(&"PAYPAL") && ids.contains(&"DINERS")).then_some(())
        };
        until("the merchant's own offer", Duration::from_secs(2), offers).await;
        assert_eq!(listed(world, &other, "").await, before);
        assert_eq!(checkout(world, "NL", 20, "PAYPAL").await, 400);
        let shown = world.programs.run_dropin(&["merchant", "show", mine, "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["Methods"], json!({"DINERS": {"Offered": true}, "PAYPAL": {"Offered": false}}), "{shown}");
        for (filter, client, region) in [("&Country=NL", "sandbox-eu", "eu"), ("&Locale=en_US", "own.na-1", "na")] {
            let list = listed(world, mine, filter).await;
            let methods = list["PaymentMethods"].as_array().unwrap();
            let parameters = &methods.iter().find(|one| one["Id"] == "PAYLATER").unwrap()["Parameters"];
            assert_eq!(parameters["ClientId"], client, "{parameters}");
            let url = parameters["OnSiteJavaScriptUrl"].as_str().unwrap();
            assert!(url.ends_with(&format!("/onsite/{region}/script.js")), "{url}");
            let script = world.open(url, "script").await;
            assert_eq!(script.status, 200, "{url}: {}", script.text());
        }
        let unknown = world.programs.try_dropin(&["merchant", "set", mine, "--no-method", "CASH"]).unwrap_err();
        assert!(unknown.contains("must be one of VISA"), "{unknown}");
    }
}
