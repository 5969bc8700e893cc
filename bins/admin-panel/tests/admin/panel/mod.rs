//! The panel as browsers meet it: who gets in, what a role and a scope let an operator do, and what no request gets past.

mod lists;

use crate::common::{PASSWORD, World, request, session_of};
use actix_web::http::{Method, StatusCode};
use admin_panel::{Access, ROUTES};
use dropin_access::SealedSecret;
use dropin_access::operator::{ActionReach, OperatorRole, PanelAction};
use dropin_ports::{ProcessorAccount, ProcessorAccountPut};
use dropin_store_contract::audited;
use dropin_usecases::operators::Operators;

/// An address of the table with ids in it: of Bob's things where there are some.
fn address(world: &World, path: &str) -> String {
    let id = match path.trim_start_matches("/live").split('/').nth(1).unwrap_or_default() {
        "orders" => world.order_of_bob.to_string(),
        "sessions" => world.session_of_bob.to_string(),
        "merchants" => world.bob.to_string(),
        _ => world.deps.ids.random().to_string(),
    };
    let other = world.deps.ids.random().to_string();
    let path = path.replace("{id}", &id).replace("{user}", "api-user").replace("{endpoint}", &other);
    if path.starts_with("/contracts/") { format!("{path}?merchant={}", world.bob) } else { path }
}

#[actix_web::test]
async fn nobody_gets_in_without_signing_in() {
    let world = World::new().await;
    for route in ROUTES.iter().filter(|route| route.access != Access::Anybody) {
        let path = address(&world, route.path);
        for session in [None, Some("0".repeat(43))] {
            let request = request(route.method.clone(), &path, session.as_deref())
                .insert_header(("origin", "https://panel.example"));
            let request = if route.method == Method::POST { request.set_form([("csrf", "x")]) } else { request };
            let page = world.send(request).await;
            assert_eq!(page.status, StatusCode::SEE_OTHER, "{} {path}", route.method);
            assert!(page.location().starts_with("/sign-in"), "{path}: {}", page.location());
        }
    }
}

/// A role promises nothing that the panel does not do. Users that move money are told apart behind the routes of API users.
#[test]
fn every_action_of_the_roles_stands_at_a_route() {
    for action in PanelAction::ALL.into_iter().filter(|action| *action != PanelAction::ManageMoneyUsers) {
        let stands = ROUTES.iter().any(|route| matches!(route.access, Access::Allowed(at) if at == action));
        assert!(stands, "{action} stands in docs/operator-roles.md alone");
    }
}

#[actix_web::test]
async fn another_merchants_things_are_not_there() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, Some(world.ana)).await;
    for route in ROUTES {
        let Access::Allowed(action) = route.access else { continue };
        let path = address(&world, route.path);
        let page = match route.method == Method::POST {
            true => world.post(&session, &path, &[]).await,
            false => world.get(Some(&session), &path).await,
        };
        if action.rule().reach == ActionReach::Deployment {
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{path} is for the whole deployment");
        } else if route.path.contains('{') {
            assert_eq!(page.status, StatusCode::NOT_FOUND, "{} {path}: {}", route.method, page.text);
        }
        // What an id in the address names may stand there; nothing else of Bob's does.
        for foreign in [world.order_of_bob.to_string(), world.session_of_bob.to_string()] {
            assert!(!page.text.contains(&foreign), "{path} shows {foreign}");
        }
        assert!(!page.text.contains(&format!("/merchants/{}", world.bob)), "{path}");
    }
    for list in ["/orders", "/sessions", "/orders.csv", "/disputes", "/notifications", "/audit"] {
        let page = world.get(Some(&session), &format!("{list}?merchant={}", world.bob)).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{list}");
    }
    let orders = world.get(Some(&session), "/orders").await.text;
    assert!(orders.contains(&world.order_of_ana.to_string()), "{orders}");
    let found = world.get(Some(&session), &format!("/find?q={}", world.order_of_bob)).await;
    assert!(!found.location().starts_with("/orders/"), "{}", found.location());
}

#[actix_web::test]
async fn a_form_comes_from_a_page_of_ours_with_its_token_and_its_fields() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let other = world.operator(OperatorRole::Owner, None).await;
    let path = format!("/merchants/{}/origins", world.ana);
    let token = Operators::csrf_token(&session);
    let send = async |origin: Option<&str>, csrf: &str, extra: &[(&str, &str)]| {
        let fields: Vec<_> =
            [("csrf", csrf), ("origins", "https://ana.example")].into_iter().chain(extra.iter().copied()).collect();
        let mut sent = request(Method::POST, &path, Some(&session)).set_form(&fields);
        if let Some(origin) = origin {
            sent = sent.insert_header(("origin", origin.to_owned()));
        }
        world.send(sent).await
    };
    let here = Some("https://panel.example");
    for (page, why) in [
        (send(None, &token, &[]).await, "without an Origin"),
        (send(Some("https://evil.example"), &token, &[]).await, "of another origin"),
        (send(Some("null"), &token, &[]).await, "of no origin"),
        (send(here, "", &[]).await, "without a token"),
        (send(here, &Operators::csrf_token(&other), &[]).await, "with the token of another session"),
    ] {
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{why}");
    }
    let unknown = send(here, &token, &[("sandbox", "false")]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST, "a field that the form does not have");
    let kept = world.store_origins(world.ana).await;
    assert!(!kept.contains(&"https://ana.example".to_owned()), "nothing was done: {kept:?}");
    let page = send(here, &token, &[]).await;
    assert_eq!(
        (page.status, page.location()),
        (StatusCode::SEE_OTHER, format!("/merchants/{}?done=saved", world.ana).as_str())
    );
    assert_eq!(world.store_origins(world.ana).await, ["https://ana.example"]);
}

impl World {
    async fn store_origins(&self, merchant: dropin_kernel::MerchantId) -> Vec<String> {
        let merchant = self.deps.access.find_merchant(merchant).await.unwrap().unwrap();
        merchant.origins.iter().map(|origin| origin.as_str().to_owned()).collect()
    }
}

#[actix_web::test]
async fn every_answer_is_walled_in() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    for path in ["/", "/sign-in", "/orders", "/nothing/here", "/orders/x", "/orders?evil=1", "/accept?token=x"] {
        let page = world.get(Some(&session), path).await;
        let header =
            |name: &str| page.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        // The overview is live, by one script of ours.
        let is_live = path == "/";
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(policy.contains("script-src 'self'; connect-src 'self'"), is_live, "{policy}");
        assert!(policy.contains("trusted-types 'none'"), "{policy}");
        assert_eq!(
            (header("x-frame-options"), header("referrer-policy")),
            ("DENY".to_owned(), "no-referrer".to_owned()),
            "{path}"
        );
        assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        let scripts = page.text.matches("<script").count();
        assert_eq!(scripts, usize::from(is_live), "{path}");
        assert_eq!(page.text.matches("<script type=\"module\" src=\"/assets/").count(), scripts, "{path}");
        assert!(!page.text.contains(" style=\"") && !page.text.contains("http://"), "{path}");
    }
}

#[actix_web::test]
async fn signing_in_leads_to_pages_of_ours_alone() {
    let world = World::new().await;
    world.operator(OperatorRole::Viewer, None).await;
    let owner = world.operator(OperatorRole::Owner, None).await;
    let email = world.deps.operators.current(&owner).await.unwrap().operator.email;
    let enter = async |password: &str, next: &str| {
        let fields = [("email", email.as_str()), ("password", password), ("next", next)];
        world
            .send(
                request(Method::POST, "/sign-in", None)
                    .insert_header(("origin", "https://panel.example"))
                    .set_form(fields),
            )
            .await
    };
    for (next, leads) in [
        ("/orders?state=PROCESSED", "/orders?state=PROCESSED"),
        ("", "/"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
    ] {
        let page = enter(PASSWORD, next).await;
        assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, leads), "{next}");
        let session = session_of(&page).unwrap();
        assert_ne!(session, owner, "a new session each time");
        assert_eq!(world.get(Some(&session), "/").await.status, StatusCode::OK);
    }
    let wrong = enter("wrong", "/orders").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        wrong.text.contains(email.as_str()) && session_of(&wrong).is_none(),
        "the address is kept, the password is not"
    );
    assert!(!wrong.text.contains("value=\"wrong\""));
    let out = world.post(&owner, "/sign-out", &[]).await;
    assert_eq!(out.location(), "/sign-in?why=out");
    assert_eq!(world.get(Some(&owner), "/").await.status, StatusCode::SEE_OTHER, "the session is over");
}

#[actix_web::test]
async fn a_refund_that_is_sent_twice_is_one() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let path = format!("/orders/{}", world.order_of_ana);
    let page = world.get(Some(&session), &path).await;
    assert_eq!(page.status, StatusCode::OK);
    let key = page.field("key");
    let fields = [("key", key.as_str()), ("amount", "1.00"), ("note", "too late")];
    let (first, second) = (
        world.post(&session, &format!("{path}/refund"), &fields).await,
        world.post(&session, &format!("{path}/refund"), &fields).await,
    );
    for page in [first, second] {
        assert_eq!(
            (page.status, page.location()),
            (StatusCode::SEE_OTHER, format!("{path}?done=refunded").as_str()),
            "{}",
            page.text
        );
    }
    let trail = world.deps.audit.find_audit_trail(world.order_of_ana).await.unwrap().unwrap();
    assert_eq!(trail.records.refunds.len(), 1);
    assert_eq!(trail.records.refunds[0].amount.to_string(), "1.00");
    let without =
        world.post(&session, &format!("{path}/refund"), &[("key", &key), ("amount", "7"), ("note", " ")]).await;
    assert_eq!(without.status, StatusCode::UNPROCESSABLE_ENTITY, "money needs a note");
    assert!(without.text.contains("Say why") && without.text.contains("value=\"7\""), "what was typed stays");
    let signed_out = world.operator(OperatorRole::Owner, None).await;
    world.post(&signed_out, "/sign-out", &[]).await;
    let kept = world
        .post(&signed_out, &format!("{path}/refund"), &[("key", &key), ("amount", "2.00"), ("note", "a long story")])
        .await;
    assert_eq!(kept.status, StatusCode::UNAUTHORIZED);
    assert!(
        kept.text.contains("a long story") && !kept.text.contains(&Operators::csrf_token(&signed_out)),
        "{}",
        kept.text
    );
    let shown = world.get(Some(&session), &format!("{path}?done=refunded")).await.text;
    assert!(shown.contains("The refund was made."));
    let log = world.get(Some(&session), &format!("/audit?subject={}", world.order_of_ana)).await.text;
    assert!(log.contains("too late"), "{log}");
}

#[actix_web::test]
async fn a_refund_above_the_merchants_limit_waits_for_another_operator() {
    let world = World::new().await;
    let (owner, other) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Reviewer, None).await);
    let merchant = format!("/merchants/{}", world.ana);
    let order = format!("/orders/{}", world.order_of_ana);
    let page = world.get(Some(&owner), &order).await;
    let currency = page.text.split("Amount in ").nth(1).unwrap()[..3].to_owned();
    let set = world.post(&owner, &format!("{merchant}/limits"), &[("limits", &format!("0.50 {currency}"))]).await;
    assert_eq!(set.location(), format!("{merchant}?done=saved"), "{}", set.text);
    let wrong = world.post(&owner, &format!("{merchant}/limits"), &[("limits", "much")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let key = page.field("key");
    let asked = world
        .post(&owner, &format!("{order}/refund"), &[("key", &key), ("amount", "1.00"), ("note", "lost parcel")])
        .await;
    assert_eq!(asked.location(), format!("{order}?done=refund-waits"), "{}", asked.text);
    let approve = [("decision", "approve")];
    let own = world.post(&owner, &format!("/approvals/{key}"), &approve).await;
    assert_eq!(own.status, StatusCode::CONFLICT, "the one who asked is no second operator: {}", own.text);
    assert!(world.get(Some(&other), "/approvals").await.text.contains("lost parcel"));
    let approved = world.post(&other, &format!("/approvals/{key}"), &approve).await;
    assert_eq!(approved.location(), format!("{order}?done=refunded"), "{}", approved.text);
    let trail = world.deps.audit.find_audit_trail(world.order_of_ana).await.unwrap().unwrap();
    assert_eq!(trail.records.refunds.len(), 1);
}

#[actix_web::test]
async fn an_invitation_leads_to_the_host_that_the_browser_asked_for() {
    let world = World::new().await;
    let session = world.operator(OperatorRole::Owner, None).await;
    let csrf = Operators::csrf_token(&session);
    let fields = [
        ("csrf", csrf.as_str()),
        ("name", "Eve"),
        ("email", "eve@shop.example"),
        ("role[]", "viewer"),
        ("scope", "deployment"),
    ];
    let sent = request(Method::POST, "/operators", Some(&session))
        .insert_header(("origin", "https://panel.example"))
        .insert_header(("x-forwarded-host", "evil.example"))
        .insert_header(("forwarded", "host=evil.example;proto=http"))
        .set_form(fields);
    let page = world.send(sent).await;
    assert!(page.text.contains("https://panel.example/accept?token="), "{}", page.text);
    assert!(!page.text.contains("evil.example"), "{}", page.text);
}

/// An operator of the whole deployment says which processors a merchant's payments go to; one of the merchant sees it.
#[actix_web::test]
async fn payments_are_routed_by_those_of_the_whole_deployment_alone() {
    let world = World::new().await;
    let (owner, of_ana) =
        (world.operator(OperatorRole::Owner, None).await, world.operator(OperatorRole::Owner, Some(world.ana)).await);
    let settings = format!("/merchants/{}/settings", world.ana);
    let path = format!("/merchants/{}/processors", world.ana);
    let set = async |session: &str, rules: &str| {
        let seen = world.get(Some(session), &settings).await.field("seen");
        world.post(session, &path, &[("seen", seen.as_str()), ("processor_rules", rules)]).await
    };
    for (rules, why) in [("gone", "sandbox, stripe-us"), ("stripe-us colour=red", "is no condition")] {
        let refused = set(&owner, rules).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
        assert!(refused.text.contains(why) && refused.text.contains(rules), "{}", refused.text);
    }
    assert_eq!(set(&owner, "stripe-us currencies=USD\r\nsandbox").await.status, StatusCode::SEE_OTHER);
    let kept = world.deps.access.find_merchant(world.ana).await.unwrap().unwrap().processors.to_string();
    assert_eq!(kept, "stripe-us currencies=USD\nsandbox");
    assert_eq!(set(&of_ana, "sandbox").await.status, StatusCode::FORBIDDEN);
    let seen = world.get(Some(&of_ana), &settings).await.text;
    assert!(seen.contains("stripe-us currencies=USD") && !seen.contains("processor_rules"), "{seen}");
    assert_eq!(set(&owner, "").await.status, StatusCode::SEE_OTHER);
    assert!(world.deps.access.find_merchant(world.ana).await.unwrap().unwrap().processors.rules().is_empty());
    // An account of the merchant's own is shown, and rules may name it; another merchant's may not.
    for (merchant, name) in [(world.ana, "stripe-us.ana"), (world.bob, "stripe-us.bob")] {
        let account = ProcessorAccount {
            id: world.deps.ids.random(),
            merchant_id: merchant,
            processor: name.parse().unwrap(),
            account: format!("acct_of_{name}"),
            has_events: false,
            sealed: SealedSecret(b"what is sealed".to_vec()),
            set_at: world.deps.clock.now(),
            removed_at: None,
        };
        let put = world.deps.processor_accounts.put_processor_account(account, 9, audited()).await;
        assert_eq!(put, Ok(ProcessorAccountPut::Done));
    }
    let seen = world.get(Some(&of_ana), &settings).await.text;
    assert!(seen.contains("acct_of_stripe-us.ana") && !seen.contains("stripe-us.bob"), "{seen}");
    assert!(!seen.contains("what is sealed"));
    assert_eq!(set(&owner, "stripe-us.bob").await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(set(&owner, "stripe-us.ana").await.status, StatusCode::SEE_OTHER);
}
