//! The admin panel in Chromium: every screen in light on a desk, in dark on a phone and there in German, and a refund as an operator makes it.

use dropin_tests::{browser, cards, world::Demo};
use serde_json::json;

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
        assert_eq!(seen["names"].as_array().unwrap().len(), 12, "an owner sees every screen: {seen}");
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
