//! The panel in German: every screen, its refusals, and how a language is chosen.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{PASSWORD, Page, World, request};
use actix_web::http::header::{ACCEPT_LANGUAGE, COOKIE, SET_COOKIE};
use actix_web::http::{Method, StatusCode};
use admin_panel::{Access, ROUTES};
use dropin_access::operator::OperatorRole;
use dropin_access::{EndpointSettings, Permission};
use dropin_ports::{NotificationFilter, NotificationQuery};
use dropin_usecases::operators::Operators;

/// The whole texts of a language, by their keys.
fn words(file: &'static str) -> BTreeMap<&'static str, &'static str> {
    let words = file.split("words {").nth(1).unwrap().split("\n    }").next().unwrap();
    let lines = words.lines().filter_map(|line| line.trim().strip_suffix("\",")?.split_once(": \""));
    lines.collect()
}

/// English texts that German has in other words.
fn english_alone() -> BTreeSet<&'static str> {
    let (english, german) =
        (words(include_str!("../../src/texts/en.rs")), words(include_str!("../../src/texts/de.rs")));
    assert_eq!(english.keys().collect::<Vec<_>>(), german.keys().collect::<Vec<_>>());
    assert!(400 < english.len(), "{}", english.len());
    let common: BTreeSet<_> = german.into_values().collect();
    english.into_values().filter(|text| !common.contains(text)).collect()
}

/// Pieces of English texts with parts filled in, long enough to be no other language's.
fn english_pieces() -> Vec<&'static str> {
    let file = include_str!("../../src/texts/en.rs");
    let forms = file.split("sentences {").nth(1).unwrap().split("codes {").next().unwrap();
    let texts = forms.lines().filter(|line| line.contains("): \"")).flat_map(|line| line.split('"').skip(1).step_by(2));
    let pieces = texts.flat_map(|text| text.split(['{', '}']).step_by(2)).map(str::trim);
    pieces.filter(|piece| 12 <= piece.len()).collect()
}

/// What a person reads on a page: its texts, and those of the attributes that are read out or shown.
fn read(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        all.extend(text.lines().map(|line| line.trim().to_owned()));
        for name in [" aria-label=\"", " placeholder=\"", " title=\""] {
            all.extend(tag.split(name).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    all.retain(|text| !text.is_empty());
    all
}

impl World {
    async fn get_german(&self, session: Option<&str>, path: &str) -> Page {
        self.send(request(Method::GET, path, session).insert_header((ACCEPT_LANGUAGE, "de-AT,de;q=0.9"))).await
    }

    async fn post_german(&self, session: &str, path: &str, fields: &[(&str, &str)]) -> Page {
        let csrf = Operators::csrf_token(session);
        let fields: Vec<_> = [("csrf", csrf.as_str())].into_iter().chain(fields.iter().copied()).collect();
        let sent = request(Method::POST, path, Some(session)).insert_header(("origin", "https://panel.example"));
        self.send(sent.insert_header((ACCEPT_LANGUAGE, "de")).set_form(fields)).await
    }
}

#[actix_web::test]
async fn no_screen_has_an_english_word_in_german() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let order = format!("/orders/{}", world.order_of_ana);
    let filter = NotificationFilter { merchant: Some(world.ana), ..NotificationFilter::default() };
    let query = NotificationQuery { filter, after: None, oldest_first: false, limit: 1 };
    let event = world.deps.notifications.list(query).await.unwrap().notifications[0].event_id;
    let endpoint = world.deps.merchants.add_endpoint(world.ana, "http://127.0.0.1:9/hook", EndpointSettings::default());
    let endpoint = endpoint.await.unwrap().endpoint_id;
    let permissions = [Permission::OrderRead].into_iter().collect();
    world.deps.merchants.add_user(world.ana, permissions).await.unwrap();
    let key = world.get(Some(&owner), &order).await.field("key");
    let refund = [("key", key.as_str()), ("amount", "1.00"), ("note", "zu spät")];
    assert_eq!(world.post(&owner, &format!("{order}/refund"), &refund).await.status, StatusCode::SEE_OTHER);
    let own = world.deps.operators.current(&owner).await.unwrap().operator.id.to_string();
    let (english, pieces) = (english_alone(), english_pieces());
    assert!(40 < pieces.len(), "{}", pieces.len());
    let mut walked = 0;
    let extra = [
        "/orders?state=DECLINED",
        "/sessions?reference=none",
        "/notifications?type=NONE_*",
        "/nothing",
        "/orders?since=gestern",
        "/orders?unbekannt=1",
        "/sign-in?why=idle",
    ];
    let done =
        ["refunded", "refund-waits", "cancel-pending", "review-approved"].map(|code| format!("{order}?done={code}"));
    let all = ROUTES.iter().filter(|route| route.method == Method::GET).map(|route| route.path.to_owned());
    for path in all.chain(extra.map(str::to_owned)).chain(done) {
        let id = match path.split('/').nth(1).unwrap_or_default() {
            "orders" => world.order_of_ana.to_string(),
            "sessions" => world.session_of_bob.to_string(),
            "merchants" => world.ana.to_string(),
            "notifications" => event.to_string(),
            "operators" => own.clone(),
            _ => world.deps.ids.random().to_string(),
        };
        let path = path.replace("{id}", &id).replace("{endpoint}", &endpoint.to_string());
        let page = world.get_german(Some(&owner), &path).await;
        if page.status.is_redirection() || path.ends_with(".csv") || path.starts_with("/live/") {
            continue;
        }
        assert!(page.text.contains("<html lang=\"de\">"), "{path}: {}", page.text);
        let left: Vec<_> = read(&page.text).into_iter().filter(|text| english.contains(text.as_str())).collect();
        assert!(left.is_empty(), "{path}: {left:?}");
        let left: Vec<_> = pieces.iter().filter(|piece| page.text.contains(**piece)).collect();
        assert!(left.is_empty(), "{path}: {left:?}");
        walked += 1;
    }
    assert!(30 < walked, "{walked}");
    let log = world.get_german(Some(&owner), "/audit").await.text;
    assert!(log.contains("Bestellung erstattet") && !log.contains("Order refund"), "{log}");
    let file = world.get_german(Some(&owner), "/orders.csv").await.text;
    assert!(file.starts_with("Bestellung,Händler,Referenz,"), "{file}");
    let page = world.get_german(Some(&owner), &order).await.text;
    assert!(page.contains("28.90 USD noch erstattbar") && page.contains("21. Sept. 2026"), "{page}");
}

/// The same screens in English have what they are looked for in German: the walk above can fail.
#[actix_web::test]
async fn english_screens_have_english_words() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let english = english_alone();
    for path in ["/", "/orders", "/account", "/nothing", "/sign-in"] {
        let page = world.get(Some(&owner), path).await;
        assert!(page.text.contains("<html lang=\"en\">"), "{path}");
        let found = read(&page.text).into_iter().filter(|text| english.contains(text.as_str())).count();
        assert!(1 < found, "{path}: {found}");
    }
}

#[actix_web::test]
async fn money_is_refused_in_german_rather_than_guessed() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let order = format!("/orders/{}", world.order_of_ana);
    let key = world.get(Some(&owner), &order).await.field("key");
    for (amount, why) in [
        ("1,00", "1,00 ist kein Betrag; schreiben Sie ihn als 1250.00"),
        ("1.000", "1.000 hat mehr Nachkommastellen als USD"),
        ("1.000,00", "ist kein Betrag"),
        ("0.00", "Der Betrag muss über null liegen."),
        ("99.00", "29.90 USD der Bestellung können erstattet werden"),
        ("", "Geben Sie den Betrag ein."),
    ] {
        let fields = [("key", key.as_str()), ("amount", amount), ("note", "verloren")];
        let page = world.post_german(&owner, &format!("{order}/refund"), &fields).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{amount}: {}", page.text);
        assert!(page.text.contains(why), "{amount}: {}", page.text);
        assert!(
            page.text.contains(&format!("name=\"amount\" inputmode=\"decimal\" value=\"{amount}\"")),
            "typed {amount} stays"
        );
    }
    let limit =
        world.post_german(&owner, &format!("/merchants/{}/limits", world.ana), &[("limits", "1.000 EUR")]).await;
    assert!(limit.text.contains("1.000 EUR ist kein Limit"), "{}", limit.text);
    let short = world.post_german(&owner, "/account/password", &[("old", PASSWORD), ("new", "kurz")]).await;
    assert!(short.text.contains("muss mindestens 12 Zeichen haben"), "{}", short.text);
    let trail = world.deps.audit.find_audit_trail(world.order_of_ana).await.unwrap().unwrap();
    assert!(trail.records.refunds.is_empty(), "nothing was refunded");
}

#[actix_web::test]
async fn mistakes_in_rules_and_limits_are_told_in_german() {
    let world = World::new().await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let merchant = format!("/merchants/{}", world.ana);
    let rules = [("seen", "0"), ("rules", "[rules]\nR = \"NEW_SHOPPER\""), ("days", "7")];
    let page = world.post_german(&owner, &format!("{merchant}/screening"), &rules).await;
    assert!(page.text.contains("hier gehört `and` oder `then` hin"), "{}", page.text);
    let seen = world.get(Some(&owner), &format!("{merchant}/settings")).await.field("seen");
    for (limits, why) in [
        ("[IDEAL]\ncountries = [\"nl\"]", "[IDEAL] countries: nl ist kein Code nach ISO 3166-1 alpha-2"),
        ("[NOTHING]\noffered = true", "[NOTHING] ist keine Zahlungsart: berichtigen Sie die Kennung"),
        ("[IDEAL]\nrefunds = true", "[IDEAL] refunds: lassen Sie es weg"),
    ] {
        let fields = [("seen", seen.as_str()), ("method_limits", limits)];
        let page = world.post_german(&owner, &format!("{merchant}/method-limits"), &fields).await;
        assert!(page.text.contains(why), "{}", page.text);
    }
}

#[actix_web::test]
async fn a_language_is_chosen_in_the_browser_before_it_is_asked_for() {
    let world = World::new().await;
    let viewer = world.operator(OperatorRole::Viewer, None).await;
    let spoken = async |asked: Option<&str>, cookie: &str| {
        let mut sent = request(Method::GET, "/sign-in", None);
        if let Some(asked) = asked {
            sent = sent.insert_header((ACCEPT_LANGUAGE, asked.to_owned()));
        }
        if !cookie.is_empty() {
            sent = sent.insert_header((COOKIE, format!("__Host-dropin-admin-language={cookie}")));
        }
        let page = world.send(sent).await.text;
        page.split("<html lang=\"").nth(1).unwrap()[..2].to_owned()
    };
    assert_eq!(spoken(None, "").await, "en");
    assert_eq!(spoken(Some("fr"), "").await, "en");
    assert_eq!(spoken(Some("de"), "").await, "de");
    assert_eq!(spoken(Some("de"), "en").await, "en", "the choice goes first");
    assert_eq!(spoken(None, "de").await, "de");
    assert_eq!(spoken(Some("de"), "\"><script>").await, "de", "what is no language is no choice");
    let page = world.get(Some(&viewer), "/account").await.text;
    assert!(page.contains("<option value=\"de\" lang=\"de\">Deutsch</option>"), "{page}");
    for (chosen, kept) in [("de", "=de; Max-Age=31536000; "), ("", "=; Max-Age=0; ")] {
        let set = world.post(&viewer, "/account/language", &[("language", chosen)]).await;
        assert_eq!((set.status, set.location()), (StatusCode::SEE_OTHER, "/account?done=changed"), "{}", set.text);
        let cookie = set.headers.get(SET_COOKIE).unwrap().to_str().unwrap();
        let expected = format!("__Host-dropin-admin-language{kept}Path=/; Secure; HttpOnly; SameSite=Strict");
        assert_eq!(cookie, expected, "as strict as the session's");
    }
    let wrong = world.post(&viewer, "/account/language", &[("language", "xx")]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(ROUTES.iter().any(|route| route.path == "/account/language" && route.access == Access::SignedIn));
}
