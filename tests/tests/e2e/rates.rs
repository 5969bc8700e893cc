//! Exchange rates: from the feed to the page, and from the offer to the last refund (docs/SPECIFICATION.md#rates).

use std::time::Duration;

use dropin_tests::{Response, World, cards, until};
use serde_json::{Value, json};

/// A file of long ago.
const OLD: &[(&str, &str)] =
    &[("DROPIN_RATES_FEED", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/rates-of-2020.csv"))];

/// What a page of the merchant's is shown, once it is what is waited for: settings are in force within two seconds.
async fn shown(world: &World, what: &str, wanted: impl Fn(&Response) -> bool) -> Response {
    let url = format!("{}/v2.2/getRates?merchantId={}", world.base, world.merchant.id);
    until(what, Duration::from_secs(20), async || {
        let answer = world.open(&url, "empty").await;
        wanted(&answer).then_some(answer)
    })
    .await
}

/// The text of a number in JSON text, where it stands first behind `member`.
fn number<'a>(text: &'a str, member: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("\"{member}\":")).unwrap_or_else(|| panic!("{member} in {text}"));
    rest.split([',', '}']).next().unwrap()
}

/// So many cents at `rate` cents for one of the settlement's, to the nearest; no half comes up here.
fn settled(cents: i128, rate: &str) -> i128 {
    let (whole, decimals) = rate.split_once('.').unwrap_or((rate, ""));
    let (digits, scale) = (format!("{whole}{decimals}").parse::<i128>().unwrap(), 10_i128.pow(decimals.len() as u32));
    (2 * cents * scale + digits) / (2 * digits)
}

fn cents(text: &str, member: &str) -> i128 {
    number(text, member).replace('.', "").parse().unwrap()
}

async fn refund(world: &World, order: &Value, reference: &str, amount: Option<&str>) -> i128 {
    let answer = world.merchant.refund(order, reference, amount).await;
    assert_eq!((answer.status, &answer.json()["State"]), (201, &json!("SUCCEEDED")), "{}", answer.text());
    assert_eq!(answer.json()["SettlementCurrency"], "GBP");
    cents(&answer.text(), "SettlementAmount")
}

crate::both! { with &[];
    /// The sandbox's own rates: spot at first; then guaranteed, and a payment from its offer to its last refund.
    async fn an_offer_prices_a_session_to_its_last_refund(world: &World) {
        let spot = shown(world, "spot rates", |answer| answer.status == 200).await;
        let listed = |answer: &Response, list: &str| answer.json()[list].as_array().map_or(0, Vec::len);
        assert_eq!((listed(&spot, "Rates"), listed(&spot, "RateOffers")), (60, 0), "{}", spot.text());
        let change = ["--rates", "guaranteed", "--settlement-currency", "GBP", "--markup", "USD=150"];
        let set = [&["merchant", "set", &world.merchant.id][..], &change, &["--json"]].concat();
        let set: Value = serde_json::from_str(&world.programs.run_dropin(&set)).unwrap();
        assert_eq!(set["Rates"]["MarkupBasisPoints"], json!({"USD": 150}));
        let offers = shown(world, "offers", |answer| listed(answer, "RateOffers") == 60).await.json();
        let offers = offers["RateOffers"].as_array().unwrap().clone();
        let dollars = offers.iter().find(|offer| offer["Currency"] == "USD").unwrap();
        let priced = json!({"Currency": null, "RateOfferId": dollars["Id"], "AutoCapture": true});
        let session = world.merchant.create_session(priced.clone()).await;
        let created = world.merchant.session_text(&session).await;
        assert!(created.contains("\"Currency\":\"USD\"") && created.contains(dollars["Id"].as_str().unwrap()), "{created}");
        let rate = number(&created, "Rate").to_owned();
        assert_eq!(cents(&created, "SettlementAmount"), settled(2_990, &rate), "{created}");
        assert_eq!(world.pay(&session, cards::VISA).await["State"], "COMPLETED");
        world.receiver.expect(&session, &crate::PAID).await;
        let order = world.merchant.order_of(&session).await;
        let text = world.merchant.order_text(&order).await;
        assert_eq!((cents(&text, "SettlementAmount"), number(&text, "Rate")), (settled(2_990, &rate), rate.as_str()));
        let first = refund(world, &order, "part", Some("9.99")).await;
        assert_eq!(first, settled(999, &rate));
        assert_eq!(first + refund(world, &order, "rest", None).await, settled(2_990, &rate));
        world.receiver.expect(&session, &[&crate::PAID[..], &["REFUND_SUCCEEDED"; 2]].concat()).await;
        // Another merchant's offer is as one that does not exist.
        let stranger = world.another_merchant().await;
        let of_nobody = json!({"Currency": null, "RateOfferId": uuid::Uuid::new_v4()});
        let mut told = Vec::new();
        for change in [priced, of_nobody] {
            let body = stranger.session_request(change).to_string().into_bytes();
            let refused = stranger.post_session(body).await;
            assert_eq!((refused.status, &refused.json()["FieldErrors"][0]["Code"]), (400, &json!("NOT_FOUND")));
            told.push(refused.text());
        }
        assert_eq!(told[0], told[1]);
    }
}

mod stale {
    use super::*;

    crate::both! { with super::super::OLD;
        /// Rates of years ago: shown with a warning, guaranteed to nobody, and told to whoever runs this.
        async fn old_rates_are_no_guarantee(world: &World) {
            let spot = shown(world, "spot rates", |answer| answer.status == 200).await;
            assert!(spot.header("warning").is_some_and(|warning| warning.contains("2020-01-02")), "{spot:?}");
            assert!(spot.text().contains("{\"Currency\":\"USD\",\"Rate\":1.1193}"), "{}", spot.text());
            world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--rates", "guaranteed"]);
            let refused = shown(world, "the refusal", |answer| answer.status != 200).await;
            assert_eq!((refused.status, refused.code().as_str()), (503, "RATES_STALE"));
            assert!(refused.header("retry-after").is_some());
            let told: Value = serde_json::from_str(&world.programs.run_dropin(&["rates", "show", "--json"])).unwrap();
            assert_eq!((&told["Stale"], &told["Day"]), (&json!(true), &json!("2020-01-02")), "{told}");
        }
    }
}
