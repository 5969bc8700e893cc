//! What operators change about merchants in the panel, and what they look after for them: settings, endpoints, many notifications, the ledger.

use std::sync::Arc;

use crate::common::World;
use actix_web::http::StatusCode;
use dropin_access::operator::OperatorRole;
use dropin_access::{EndpointSettings, Merchant, RateForm, SavedCardKind};
use dropin_catalogue::MerchantMethods;
use dropin_kernel::{EndpointId, MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{Clock, MerchantSettings, ScreeningStore};
use dropin_risk::{Facts, Rules};

impl World {
    async fn merchant(&self, id: MerchantId) -> Merchant {
        self.deps.access.find_merchant(id).await.unwrap().unwrap()
    }

    async fn endpoint(&self, merchant: MerchantId, url: &str) -> EndpointId {
        self.deps.merchants.add_endpoint(merchant, url, EndpointSettings::default()).await.unwrap().endpoint_id
    }

    async fn log(&self, session: &str, merchant: MerchantId) -> String {
        self.get(Some(session), &format!("/audit?merchant={merchant}")).await.text
    }
}

#[actix_web::test]
async fn a_merchants_page_shows_whether_addresses_are_checked_and_the_account_for_google_pay() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let path = format!("/merchants/{}", world.ana);
    let shown = async |name: &str| {
        let text = world.get(Some(&owner), &path).await.text;
        let (_, rest) = text.split_once(&format!("<dt>{name}</dt><dd>")).unwrap();
        rest.split_once("</dd>").unwrap().0.to_owned()
    };
    assert_eq!((shown("Address check").await.as_str(), shown("Google Pay").await.as_str()), ("off", "off"));
    let google_pay = "example:shop-17:NL".parse().ok();
    let methods = MerchantMethods { address_check: true, google_pay, ..MerchantMethods::default() };
    let change = MerchantSettings { methods: Some(methods), ..MerchantSettings::default() };
    world.deps.merchants.set(world.ana, change).await.unwrap();
    assert_eq!(shown("Address check").await, "on");
    assert_eq!(shown("Google Pay").await, "<code>example:shop-17:NL</code>");
}

#[actix_web::test]
async fn a_merchants_settings_are_set_as_they_are_shown() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let path = format!("/merchants/{}/settings", world.ana);
    let page = world.get(Some(&owner), &path).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let seen = page.field("seen");
    let fields = |name: &'static str, attempts: &'static str| {
        vec![
            ("seen", seen.clone()),
            ("name", name.to_owned()),
            ("currency[]", "USD".to_owned()),
            ("currency[]", "JPY".to_owned()),
            ("lifetime", "2h".to_owned()),
            ("attempts", attempts.to_owned()),
            ("saved_cards", "on".to_owned()),
            ("saved_card_kind", "UNSCHEDULED".to_owned()),
        ]
    };
    let send = async |fields: Vec<(&'static str, String)>, path: &str| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        world.post(&owner, path, &fields).await
    };
    let wrong = send(fields("Ana's <shop>", "21"), &path).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.text.contains("from 1 to 20") && wrong.text.contains("&lt;shop&gt;"), "{}", wrong.text);
    let none = send(fields("", "3"), &path).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY, "a shop has a name");
    let before = world.merchant(world.ana).await;
    assert_ne!(before.attempts_allowed, 3);
    let set = send(fields("Ana's shop", "3"), &path).await;
    assert_eq!(
        (set.status, set.location()),
        (StatusCode::SEE_OTHER, format!("{path}?done=saved").as_str()),
        "{}",
        set.text
    );
    let after = world.merchant(world.ana).await;
    assert_eq!((after.name.as_str(), after.attempts_allowed), ("Ana's shop", 3));
    assert_eq!(after.currencies, [Currency::Usd, Currency::Jpy]);
    assert_eq!(after.session_lifetime.as_secs(), 7_200);
    assert_eq!((after.saved_cards.offered, after.saved_cards.kind), (true, SavedCardKind::Unscheduled));
    assert_eq!(
        (&after.origins, &after.methods),
        (&before.origins, &before.methods),
        "what the form does not show stays"
    );
    let stale = send(fields("Ana", "4"), &path).await;
    assert_eq!(stale.status, StatusCode::CONFLICT, "of a page of before: {}", stale.text);
    assert_eq!(world.merchant(world.ana).await.name, "Ana's shop");
    let typed = stale.text.contains("value=\"Ana\"") && stale.text.contains("name=\"attempts\" value=\"4\"");
    assert!(typed && stale.text.contains("Somebody else changed"), "what was typed stays: {}", stale.text);
    let mut again = fields("Ana", "4");
    again[0].1 = stale.field("seen");
    assert_eq!(send(again, &path).await.status, StatusCode::SEE_OTHER, "it may be saved from there");
    assert_eq!(world.merchant(world.ana).await.name, "Ana");
    assert!(world.log(&owner, world.ana).await.contains("Merchant change"));
}

#[actix_web::test]
async fn screening_is_switched_and_its_rules_are_set_with_mistakes_shown() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let path = format!("/merchants/{}/screening", world.ana);
    let send = async |path: &str, seen: &str, rules: &str| {
        let fields = [("seen", seen), ("screening", "on"), ("rules", rules), ("days", "7")];
        world.post(&developer, path, &fields).await
    };
    let kept = async || {
        let rules = world.deps.access.find_screening_rules(world.ana).await.unwrap().unwrap();
        (world.merchant(world.ana).await.screening.on, rules.revision, rules.text)
    };
    let page = world.get(Some(&developer), &path).await;
    assert_eq!((page.status, page.field("seen").as_str()), (StatusCode::OK, "0"), "{}", page.text);
    assert!(page.text.contains("Nobody has decided about a screened payment of the last 90 days"), "{}", page.text);
    let wrong = "\n\n[weights]\n NEW_SHOPPER = 500 # <b>\n";
    for path in [path.clone(), format!("{path}/try")] {
        let page = send(&path, "0", wrong).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", page.text);
        assert!(page.text.contains("Line 4, column 16: must be a whole number"), "{}", page.text);
        assert!(page.text.contains("\n\n\n[weights]\n NEW_SHOPPER = 500 # &lt;b&gt;\n</textarea>"), "{}", page.text);
    }
    assert_eq!(kept().await, (false, 0, None), "neither of them");
    let rules = "[block]\nEMAIL_DOMAINS = ['spam.example']\n";
    let set = send(&path, "0", rules).await;
    assert_eq!(set.location(), format!("{path}?done=saved"), "{}", set.text);
    assert_eq!(kept().await, (true, 1, Some(rules.to_owned())));
    let page = world.get(Some(&developer), &path).await;
    assert!(page.text.contains("spam.example") && page.text.contains("value=\"on\" checked"), "{}", page.text);
    let stale = send(&path, "0", "[weights]\nNEW_SHOPPER = 6\n").await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.text.contains("Somebody else changed") && stale.text.contains("NEW_SHOPPER = 6"), "{}", stale.text);
    assert!(stale.text.contains("spam.example"), "what holds now stands beside it: {}", stale.text);
    assert_eq!(kept().await, (true, 1, Some(rules.to_owned())));
    let long = send(&path, "1", &"#".repeat(256 * 1024 + 1)).await;
    assert!(long.text.contains("256 KiB"), "{}", long.status);
    let cleared = world.post(&developer, &path, &[("seen", "1"), ("rules", " \n")]).await;
    assert_eq!(cleared.status, StatusCode::SEE_OTHER);
    assert_eq!(kept().await, (false, 2, None));
    let owner = world.operator(OperatorRole::Owner, None).await;
    let log = world.log(&owner, world.ana).await;
    assert!(log.contains("ScreeningRules") && !log.contains("spam.example"), "{log}");
}

/// An hour after the payments of the world.
struct AnHourLater;

impl Clock for AnHourLater {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_790_003_600_000_000)
    }
}

#[actix_web::test]
async fn rules_are_tried_on_past_payments_of_the_merchant() {
    let mut world = World::new().await;
    world.deps.clock = Arc::new(AnHourLater);
    let developer = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let facts = Facts { billing_country: "AT".parse().ok(), ..Facts::default() };
    let past = Rules::built_in().screen(facts);
    for (order, merchant) in [(world.order_of_ana, world.ana), (world.order_of_bob, world.bob)] {
        world.store.put_screening(order, merchant, past.clone()).await.unwrap();
    }
    let path = format!("/merchants/{}/screening/try", world.ana);
    let tried = async |rules: &str, days: &str| {
        world.post(&developer, &path, &[("seen", "0"), ("screening", "on"), ("rules", rules), ("days", days)]).await
    };
    let rules = "[block]\nBILLING_COUNTRIES = ['AT']\n";
    let page = tried(rules, "1").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for part in
        ["1 of 1 payments of the last day", &world.order_of_ana.to_string(), "Allow", "Block", "BILLING_COUNTRIES"]
    {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(!page.text.contains(&world.order_of_bob.to_string()), "nobody else's");
    let same = tried("", "90").await;
    assert!(same.text.contains("0 of 1 payments"), "{}", same.text);
    assert_eq!(tried(rules, "9999").await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let merchant = world.merchant(world.ana).await;
    assert_eq!((merchant.screening.on, merchant.screening.rules_revision), (false, 0), "nothing was saved");
}

#[actix_web::test]
async fn methods_and_rates_are_set_one_by_one() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let base = format!("/merchants/{}", world.ana);
    let seen = async || world.get(Some(&owner), &format!("{base}/settings")).await.field("seen");
    let set = world
        .post(
            &owner,
            &format!("{base}/methods"),
            &[("seen", &seen().await), ("method[]", "PAYPAL:off"), ("method[]", "VISA:on"), ("client_eu", "K1234")],
        )
        .await;
    assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    let offered =
        async |id: &str| world.merchant(world.ana).await.methods.adjustments.of(id).and_then(|one| one.offered);
    assert_eq!((offered("PAYPAL").await, offered("VISA").await), (Some(false), Some(true)));
    let shown = world.get(Some(&owner), &format!("{base}/settings")).await.text;
    assert!(shown.contains("value=\"PAYPAL:off\" selected") && shown.contains("value=\"K1234\""), "{shown}");
    let back = [("seen", &*seen().await), ("method[]", "PAYPAL:"), ("client_eu", "")];
    assert_eq!(world.post(&owner, &format!("{base}/methods"), &back).await.status, StatusCode::SEE_OTHER);
    assert_eq!((offered("PAYPAL").await, offered("VISA").await), (None, Some(true)), "as the deployment has it again");
    assert!(world.merchant(world.ana).await.methods.pay_later_clients.is_empty());
    for wrong in [("method[]", "GOLD:on"), ("method[]", "VISA:maybe"), ("client_eu", "<b>")] {
        let page = world.post(&owner, &format!("{base}/methods"), &[("seen", &seen().await), wrong]).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong:?}");
    }
    let limits = format!("{base}/method-limits");
    let narrowed = "[IDEAL]\ncountries = [\"NL\"]\namounts = { EUR = \"1.00..500.00\" }";
    let wrong = world
        .post(&owner, &limits, &[("seen", &seen().await), ("method_limits", "[IDEAL]\ncountries = [\"NLD\"]")])
        .await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        wrong.text.contains("[IDEAL] countries: NLD is no upper-case") && wrong.text.contains("NLD&#34;]"),
        "{}",
        wrong.text
    );
    let stale = world.post(&owner, &limits, &[("seen", "of before"), ("method_limits", narrowed)]).await;
    assert_eq!(stale.status, StatusCode::CONFLICT, "{}", stale.text);
    assert!(stale.text.contains("amounts = { EUR = &#34;1.00..500.00&#34; }"), "what was typed stays: {}", stale.text);
    let set = world.post(&owner, &limits, &[("seen", &seen().await), ("method_limits", narrowed)]).await;
    assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    let shown = world.get(Some(&owner), &format!("{base}/settings")).await.text;
    assert!(shown.contains("amounts = { EUR = &#34;1.00..500.00&#34; }"), "{shown}");
    let set = world.post(&owner, &limits, &[("seen", &seen().await), ("method_limits", "")]).await;
    assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    assert!(world.merchant(world.ana).await.methods.adjustments.is_empty(), "an empty field takes them away");

    let rates =
        [("seen", &*seen().await), ("form", "GUARANTEED"), ("settlement", "USD"), ("markups", "BRL 250\njpy=10")];
    let set = world.post(&owner, &format!("{base}/rates"), &rates).await;
    assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    let kept = world.deps.rates.find_rate_settings(world.ana).await.unwrap();
    assert_eq!((kept.form, kept.pricing.settlement), (RateForm::Guaranteed, Currency::Usd));
    assert_eq!(kept.pricing.markups[&Currency::Brl].basis_points(), 250);
    let wrong = [("seen", &*seen().await), ("form", "SPOT"), ("settlement", "USD"), ("markups", "BRL 2.5 %")];
    let page = world.post(&owner, &format!("{base}/rates"), &wrong).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.text.contains("BRL 2.5 %"), "what was typed stays");
    assert!(world.log(&owner, world.ana).await.contains("Rates change"));
}

#[actix_web::test]
async fn an_endpoint_is_changed_and_tested() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let viewer = world.operator(OperatorRole::Viewer, Some(world.ana)).await;
    let id = world.endpoint(world.ana, "http://127.0.0.1:9/hook").await;
    let path = format!("/merchants/{}/endpoints/{id}", world.ana);
    assert!(!world.get(Some(&viewer), &path).await.text.contains("<form action=\"/merchants/"), "it only looks");
    let wrong = [("url", "ftp://127.0.0.1/"), ("events", "ORDER_PAID"), ("retry", "")];
    let page = world.post(&developer, &path, &wrong).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.text.contains("ftp://127.0.0.1/") && page.text.contains("ORDER_PAID"), "{}", page.text);
    let slow = world.post(&developer, &path, &[("url", "http://127.0.0.1:9/hook"), ("retry", "soon")]).await;
    assert_eq!(slow.status, StatusCode::UNPROCESSABLE_ENTITY);
    let right = [("url", "http://127.0.0.1:9/other"), ("events", "order_*"), ("retry", "5s,30s;1h")];
    assert_eq!(world.post(&developer, &path, &right).await.location(), format!("{path}?done=saved"));
    let kept = world.deps.access.find_endpoint(id).await.unwrap().unwrap();
    assert_eq!(kept.url, "http://127.0.0.1:9/other");
    assert_eq!(kept.settings.events.unwrap().to_string(), "ORDER_*");
    assert_eq!(kept.settings.retry.unwrap().to_string(), "5s,30s;1h");
    world.post(&developer, &path, &[("url", "http://127.0.0.1:9/other"), ("events", ""), ("retry", "")]).await;
    let kept = world.deps.access.find_endpoint(id).await.unwrap().unwrap();
    assert_eq!(kept.settings, EndpointSettings::default(), "as everywhere again");

    let tested = world.post(&developer, &format!("{path}/test"), &[]).await;
    assert_eq!(tested.status, StatusCode::OK, "{}", tested.text);
    assert!(tested.text.contains("Answered 200") && tested.text.contains("&lt;b&gt;thanks"), "{}", tested.text);
    let sent = world.receiver.0.lock().unwrap().clone();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].url.as_str(), sent[0].secrets.len()), ("http://127.0.0.1:9/other", 1));
    assert_eq!(String::from_utf8_lossy(&sent[0].body), r#"{"Sequence":1,"EventType":"ENDPOINT_TEST"}"#);
    let owner = world.operator(OperatorRole::Owner, None).await;
    let log = world.log(&owner, world.ana).await;
    assert!(log.contains("Endpoint test") && log.contains("Endpoint change"), "{log}");
    let foreign = world.endpoint(world.bob, "http://127.0.0.1:9/bob").await;
    for (act, fields) in [("", &right[..]), ("/test", &[])] {
        let path = format!("/merchants/{}/endpoints/{foreign}{act}", world.ana);
        assert_eq!(world.post(&developer, &path, fields).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(world.receiver.0.lock().unwrap().len(), 1, "nothing went to Bob's endpoint");
}

#[actix_web::test]
async fn an_api_user_may_do_exactly_what_is_ticked() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, None).await;
    let username = world.deps.access.list_users(world.ana).await.unwrap()[0].username.clone();
    let path = format!("/merchants/{}/users/{username}/permissions", world.ana);
    let narrowed = world.post(&developer, &path, &[("permission[]", "order:read")]).await;
    assert_eq!(narrowed.status, StatusCode::FORBIDDEN, "only an owner takes that away: {}", narrowed.text);
    let owner = world.operator(OperatorRole::Owner, None).await;
    let set = world.post(&owner, &path, &[("permission[]", "order:read")]).await;
    assert_eq!(set.status, StatusCode::SEE_OTHER, "{}", set.text);
    let kept = world.deps.access.list_users(world.ana).await.unwrap()[0].permissions;
    assert_eq!(kept.iter().map(|one| one.as_str()).collect::<Vec<_>>(), ["order:read"]);
    let money =
        world.post(&developer, &path, &[("permission[]", "order:read"), ("permission[]", "order:refund")]).await;
    assert_eq!(money.status, StatusCode::FORBIDDEN, "only an owner lets it move money: {}", money.text);
    assert_eq!(world.post(&owner, &path, &[("permission[]", "order:refund")]).await.status, StatusCode::SEE_OTHER);
    let none = world.post(&owner, &path, &[]).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY, "one that may do nothing is revoked instead");
}

#[actix_web::test]
async fn many_notifications_are_counted_before_they_are_sent_again_or_discarded() {
    let world = World::new().await;
    let developer = world.operator(OperatorRole::Developer, Some(world.ana)).await;
    let first = world.endpoint(world.ana, "http://127.0.0.1:9/first").await;
    world.harness.processed(world.ana).await;
    let parked = world.deps.merchants.remove_endpoint(first).await.unwrap();
    assert!(0 < parked, "what waited is parked");
    let heir = world.endpoint(world.ana, "http://127.0.0.1:9/heir").await;
    let chosen = format!("merchant={}", world.ana);
    let estimate =
        async |query: &str| world.get(Some(&developer), &format!("/notifications/replay?{query}")).await.text;
    let open = estimate("").await;
    assert!(open.contains("Nothing happens before") && !open.contains("Send them again"), "{open}");
    let nowhere = estimate(&chosen).await;
    assert!(nowhere.contains(&format!("<li>{parked} ha")) && nowhere.contains("no endpoint to go to"), "{nowhere}");
    assert!(!nowhere.contains("Send them again"), "there is nothing to send");
    let counted = estimate(&format!("{chosen}&to={heir}")).await;
    assert!(counted.contains(&format!("<li>{parked} ")) && counted.contains("sent again</li>"), "{counted}");
    assert!(counted.contains("name=\"before\" value=\"20"), "what happens later is none of them: {counted}");
    let stands = async |state: &str| {
        let page = world.get(Some(&developer), &format!("/notifications?{chosen}&state={state}")).await.text;
        page.matches("class=\"ref\"").count()
    };
    let waiting = stands("PARKED").await;
    assert_eq!(waiting as u32, parked, "counting moves nothing");
    let (merchant, heir) = (world.ana.to_string(), heir.to_string());
    let early = [("merchant", merchant.as_str()), ("to", &heir), ("before", "1970-01-01T00:00:01.000000Z")];
    for path in ["/notifications/replay", "/notifications/discard"] {
        let early: Vec<_> = early.into_iter().filter(|(name, _)| path.ends_with("replay") || *name != "to").collect();
        let none = world.post(&developer, path, &early).await;
        assert_eq!((none.status, stands("PARKED").await), (StatusCode::OK, waiting), "{path}: {}", none.text);
    }
    let damaged = [("merchant", merchant.as_str()), ("before", "soon")];
    assert_eq!(world.post(&developer, "/notifications/replay", &damaged).await.status, StatusCode::BAD_REQUEST);
    let one_type = [("merchant", merchant.as_str()), ("to", &heir), ("type", "ORDER_AUTHORIZED")];
    let sent = world.post(&developer, "/notifications/replay", &one_type).await;
    assert_eq!(sent.status, StatusCode::OK);
    assert!(sent.text.contains("1 is sent again"), "{}", sent.text);
    assert_eq!(stands("PARKED").await, waiting - 1);

    let discards = world.get(Some(&developer), &format!("/notifications/discard?{chosen}")).await.text;
    let told = format!("{} {} discarded", waiting - 1, if waiting == 2 { "is" } else { "are" });
    assert!(discards.contains(&format!("<li>{told}</li>")), "{discards}");
    let gone = world
        .post(&developer, "/notifications/discard", &[("merchant", &merchant), ("note", "the shop is closed")])
        .await;
    assert!(gone.text.contains(&told), "{}", gone.text);
    assert_eq!(stands("PARKED").await, 0);
    let owner = world.operator(OperatorRole::Owner, None).await;
    let log = world.log(&owner, world.ana).await;
    assert!(log.contains("the shop is closed") && log.contains("Notification discard"), "{log}");
    for (path, field) in
        [("replay", "rate"), ("replay", "since"), ("discard", "type"), ("replay", "to"), ("discard", "endpoint")]
    {
        let page = world.get(Some(&developer), &format!("/notifications/{path}?{chosen}&{field}=x!")).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
    }
    for path in ["/notifications/replay", "/notifications/discard"] {
        let foreign = world.post(&developer, path, &[("merchant", &world.bob.to_string())]).await;
        assert_eq!(foreign.status, StatusCode::NOT_FOUND, "Bob's are not there");
        let all = world.post(&developer, path, &[]).await;
        assert_eq!(all.status, StatusCode::NOT_FOUND, "nobody means everybody's");
    }
}

#[actix_web::test]
async fn the_ledger_is_compared_in_the_background() {
    let world = World::new().await;
    let reviewer = world.operator(OperatorRole::Reviewer, None).await;
    let app = world.app().await;
    let empty = world.get_of(&app, &reviewer, "/ledger").await.text;
    assert!(empty.contains("Not compared since"), "{empty}");
    let started = world.post_of(&app, &reviewer, "/ledger", &[("books", "on")]).await;
    assert_eq!(started.location(), "/ledger?done=comparing");
    let done = async {
        loop {
            let page = world.get_of(&app, &reviewer, "/ledger").await.text;
            if !page.contains("Running") {
                return page;
            }
            actix_web::rt::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let page = actix_web::rt::time::timeout(std::time::Duration::from_secs(30), done).await.unwrap();
    assert!(page.contains("Everything fits") && page.contains("our own books alone"), "{page}");
    assert!(page.contains("<dt>Orders</dt><dd>2</dd>"), "{page}");
}
