//! The admin panel in Chromium: every screen in light on a desk, in dark on a phone and there in German, and a refund as an operator makes it.

use admin_panel::{Access, PanelRoute, ROUTES};
use dropin_access::operator::OperatorRole;
use dropin_tests::{Topology, browser, cards, world::Demo};
use serde_json::{Value, json};

use crate::saved_cards::SAVED;
use crate::{PAID, both};

/// What the browser sees of each screen, judged by axe's default rules; nothing is wider than the screen, and the console has nothing to say.
#[actix_web::test]
async fn the_admin_panel_is_walked() {
    let demo = Demo::start().await;
    let (panel, mut link) = (demo.shown("Admin panel"), Some(demo.first_operator()));
    let pictures = std::env::var("DROPIN_TEST_PICTURES").ok();
    let sizes = [(1280, 800, "light", "en-US"), (360, 740, "dark", "en-US"), (360, 740, "light", "de-DE")];
    for ((width, height, scheme, locale), half) in sizes.into_iter().flat_map(|size| [(size, 0), (size, 1)]) {
        let input = json!({
            "panel": panel, "link": link.take(), "scheme": scheme, "locale": locale, "half": half, "viewport": {"width": width, "height": height},
            "pictures": pictures.as_ref().map(|folder| format!("{folder}/{width}-{scheme}")),
        });
        let seen = browser::run("adminScreens", &input).await;
        assert_eq!(seen["problems"], json!([]), "{width} {scheme} {locale}: {seen}");
        assert_eq!(seen["languages"], json!([locale[..2]]), "each screen in the browser's language: {seen}");
        assert_eq!(seen["names"].as_array().unwrap().len(), 13, "an owner sees every screen: {seen}");
        let cookie = json!([{"name": "__Host-dropin-admin", "secure": true, "httpOnly": true, "sameSite": "Strict", "path": "/"}]);
        assert_eq!(seen["cookies"], cookie);
    }
    demo.finish().await;
}

/// The button of a refund pressed twice moves the money once, and the audit log says who did it and why.
#[actix_web::test]
async fn a_refund_in_the_panel_is_made_once_and_is_on_the_record() {
    let demo = Demo::start().await;
    let paid = browser::run(
        "shop",
        &json!({
            "shop": demo.shop, "viewport": {"width": 1280, "height": 800}, "number": cards::VISA, "events": 3,
        }),
    )
    .await;
    assert_eq!(paid["problems"], json!([]), "{paid}");
    let input = json!({
        "panel": demo.shown("Admin panel"), "link": demo.first_operator(), "viewport": {"width": 1280, "height": 800},
    });
    let seen = browser::run("adminRefund", &input).await;
    assert_eq!((&seen["problems"], &seen["notice"]), (&json!([]), &json!("The refund was made.")), "{seen}");
    assert_eq!(seen["refunds"].as_array().unwrap().len(), 1, "{seen}");
    assert_eq!(seen["isLogged"], true, "{seen}");
    demo.finish().await;
}

/// The pages of the panel for a role, by the table of its routes: each with whether the role may see it. Streams and files are no pages.
fn pages_of(role: OperatorRole) -> Vec<Value> {
    let shows = |route: &&PanelRoute| {
        route.method == "GET" && !route.path.starts_with("/live/") && !["/orders.csv", "/find"].contains(&route.path)
    };
    let page = |route: &PanelRoute| {
        let allowed = match route.access {
            Access::Anybody => return None,
            Access::SignedIn => true,
            Access::Allowed(action) => action.rule().roles.contains(&role),
        };
        Some(json!({"path": route.path, "allowed": allowed}))
    };
    ROUTES.iter().filter(shows).filter_map(page).collect()
}

both! {
    /// Every page of the table of routes is opened as every role: what the role may see is there, without a fault that a browser finds, and the rest
    /// says so. axe looks at each in one topology; it would see the same in the other.
    async fn every_role_walks_every_page(world: &World) {
        let panel = world.programs.admin_panel().await;
        let session = world.merchant.create_session(json!({"OpenContract": true})).await;
        let shopper = world.shopper(&session);
        let submitted = shopper.submit_agreeing(&shopper.stash("only-one", cards::VISA).await).await;
        assert_eq!(submitted.status, 200, "{}", submitted.text());
        world.receiver.expect(&session, &SAVED).await;
        let roles = OperatorRole::ALL.map(|role| {
            let link = world.programs.invite_operator(&panel.url, role.as_str());
            json!({"role": role.as_str(), "link": link, "pages": pages_of(role)})
        });
        let is_judged = world.programs.topology() == Topology::AllInOne;
        let input = json!({"panel": panel.url, "roles": roles, "isJudged": is_judged});
        let seen = browser::run("adminRoles", &input).await;
        assert_eq!(seen["problems"], json!([]), "{seen}");
        for role in OperatorRole::ALL {
            let pages = pages_of(role);
            let allowed = pages.iter().filter(|page| page["allowed"] == true).count();
            let walked = json!({"shown": allowed, "refused": pages.len() - allowed});
            assert_eq!(seen["walked"][role.as_str()], walked, "{seen}");
        }
    }

    /// An Order is refunded by the merchant's server while its page is open and somebody types a reason: the page shows the refund by itself, and the
    /// text, the focus and the place of the cursor stay.
    async fn an_open_page_shows_what_happens(world: &World) {
        let panel = world.programs.admin_panel().await;
        let paid = world.paid(cards::VISA, json!({})).await;
        world.receiver.expect(&paid.session, &PAID).await;
        let order = paid.order["OrderId"].as_str().unwrap();
        let input = json!({
            "panel": panel.url, "link": world.programs.invite_operator(&panel.url, "owner"), "order": order,
            "refund": format!("{}/v1/order/{order}/refund", world.base), "authorization": world.merchant.authorization(),
        });
        let seen = browser::run("adminLive", &input).await;
        assert_eq!(seen["problems"], json!([]), "{seen}");
        let state = |refunds, note, cursor| json!({"refunds": refunds, "note": note, "focus": "n-refund", "cursor": cursor});
        assert_eq!(seen["before"], state(0, "One came bro", 12), "{seen}");
        assert_eq!(seen["after"], state(1, "One came broken", 15), "{seen}");
        assert_eq!(seen["isWarned"], true, "the form was made for the Order as it was: {seen}");
        assert_eq!(seen["ended"], "You are signed out, or may do something else by now; load the page again.", "{seen}");
        let [completed, authorized, processed] = PAID;
        world.receiver.expect(&paid.session, &[completed, authorized, processed, "REFUND_SUCCEEDED"]).await;
    }
    /// Events of a sandbox happen by the buttons of the panel as by `dropin trigger`: by payments, by a review, and by the processor's fault switch.
    async fn events_are_made_to_happen_in_the_panel(world: &World) {
        let panel = world.programs.admin_panel().await;
        let events = ["ORDER_PROCESSED", "ORDER_DECLINED", "CONTRACT_SUSPENDED"];
        let input = json!({
            "panel": panel.url, "link": world.programs.invite_operator(&panel.url, "owner"), "events": events,
            "merchant": world.merchant.credentials()["MerchantId"],
        });
        let seen = browser::run("adminEvents", &input).await;
        assert_eq!((&seen["problems"], &seen["logged"]), (&json!([]), &json!(events.len())), "{seen}");
        let made = seen["seen"].as_array().unwrap();
        for (one, event) in made.iter().zip(events) {
            assert_eq!((&one["event"], &one["state"]), (&json!(event), &json!("Happened")), "{seen}");
        }
        assert_eq!(made[0]["links"], json!(["orders", "sessions", "notifications"]), "{seen}");
        assert_eq!(made[2]["links"], json!(["contracts", "notifications"]), "{seen}");
        made.iter().filter_map(|one| one["session"].as_str()).for_each(|session| world.merchant.adopt(session));
        world.receiver.expect(made[0]["session"].as_str().unwrap(), &PAID).await;
    }
}
