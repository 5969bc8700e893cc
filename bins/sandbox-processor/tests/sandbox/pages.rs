//! The pages in a browser's hands: what they show, what they refuse, races of buttons, and faults on purpose.

use std::time::Duration;

use crate::common::{Caller, KEY, RETURN_URL, RunningProcessor, asking, fresh_key, until};
use actix_web::http::Method;
use actix_web::{App, HttpServer, web};
use futures_util::future::join_all;
use sandbox_processor::{Config, Hosting, OpenStoreError, SandboxProcessor, Waits};
use serde_json::json;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

#[actix_web::test]
async fn a_get_shows_and_decides_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (method, buttons) in [
        ("CARD", &["succeed", "fail", "cancel"][..]),
        ("PAYPAL", &["pay", "cancel"]),
        ("IDEAL", &["pay", "cancel"]),
        ("KIOSK", &["pay", "cancel"]),
        ("PAYLATER", &["approve", "review", "cancel"]),
        ("BANKTRANSFER", &["arrived", "arrived"]),
    ] {
        let (key, pending) = caller.pending(json!({"Method": method, "OrderId": "<b>&\"'"})).await;
        let page = pending.page();
        for query in ["", "?choice=succeed", "?choice=pay&form=x"] {
            let shown = caller.open(&format!("{page}{query}")).await;
            assert_eq!(shown.status, 200);
            let found: Vec<_> = shown.text.split("name=\"choice\" value=\"").skip(1).collect();
            assert!(
                found.len() == buttons.len() && found.iter().zip(buttons).all(|(f, b)| f.starts_with(b)),
                "{method}"
            );
            assert!(shown.text.contains("29.90 USD") && shown.text.contains("<html lang=\"en\">"), "{}", shown.text);
            assert!(shown.text.contains("&lt;b&gt;&amp;&quot;&#39;") && !shown.text.contains("<b>"), "{}", shown.text);
            assert!(!shown.text.contains("<script"), "{}", shown.text);
            assert!(!shown.text.contains(&key), "the key is the caller's");
        }
        assert_eq!(caller.operation(&key).await.body, pending.body);
        assert_eq!(caller.journaled(&key).await, ["PENDING"]);
    }
    running.stop().await;
}

#[actix_web::test]
async fn every_page_is_shut_in_and_only_a_challenge_may_be_framed() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    for (method, frames) in [("CARD", "frame-ancestors http: https:"), ("PAYPAL", "frame-ancestors 'none'")] {
        let (_, pending) = caller.pending(json!({"Method": method})).await;
        let shown = caller.open(&pending.page()).await;
        for directive in
            ["default-src 'none'", "style-src 'self'", "base-uri 'none'", "form-action http: https:", frames]
        {
            assert!(shown.policy.split("; ").any(|held| held == directive), "{directive} in {}", shown.policy);
        }
    }
    let style = caller.open("/pages/style.css").await;
    assert_eq!(style.status, 200);
    assert!(style.text.contains("max-width"));
    running.stop().await;
}

#[actix_web::test]
async fn an_unknown_page_and_a_foreign_form_do_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({})).await;
    let (other, second) = caller.pending(json!({})).await;
    let foreign = caller.open(&second.page()).await.form();
    for unknown in [format!("/pages/{key}"), "/pages/".to_owned() + &"0".repeat(32), "/pages/a/b".to_owned()] {
        let shown = caller.open(&unknown).await;
        assert_eq!((shown.status, shown.text.contains("No such page")), (404, true), "{unknown}");
        assert!(shown.policy.contains("default-src 'none'"));
        let body = format!("form={foreign}&choice=succeed");
        assert_eq!(caller.send(Method::POST, &unknown, &[FORM], body).await.unwrap().status, 404, "{unknown}");
    }
    let page = pending.page();
    for form in ["", "x", ".", ".0", foreign.as_str(), &format!("{}.1", "0".repeat(32))] {
        let shown = caller.send_form(&page, form, "succeed", None).await;
        assert_eq!((shown.status, shown.text.contains("Nothing was done")), (400, true), "{form}");
    }
    let own = caller.open(&page).await.form();
    for choice in ["pay", "arrived", "approve", "SUCCEED", ""] {
        assert_eq!(caller.send_form(&page, &own, choice, None).await.status, 400, "{choice}");
    }
    let large = format!("form={own}&choice=succeed&amount={}", "1".repeat(5_000));
    assert_eq!(caller.send(Method::POST, &page, &[FORM], large).await.unwrap().status, 400);
    let typed =
        caller.send(Method::POST, &page, &[("Content-Type", "text/plain")], format!("form={own}&choice=succeed"));
    assert_eq!(typed.await.unwrap().status, 400);
    assert_eq!(caller.send(Method::PUT, &page, &[], String::new()).await.unwrap().status, 405);
    for key in [&key, &other] {
        assert_eq!(caller.journaled(key).await, ["PENDING"]);
    }
    running.stop().await;
}

#[actix_web::test]
async fn a_repeated_click_goes_on_and_decides_nothing() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({})).await;
    let page = pending.page();
    let form = caller.open(&page).await.form();
    for choice in ["fail", "fail", "succeed", "cancel"] {
        let back = caller.send_form(&page, &form, choice, None).await;
        assert_eq!((back.status, back.location.as_str()), (303, RETURN_URL));
    }
    assert_eq!(caller.operation(&key).await.reason(), "AUTHENTICATION_FAILED");
    assert_eq!(caller.journaled(&key).await, ["PENDING", "DECLINED"]);
    let closed = caller.open(&page).await;
    assert!(closed.text.contains("Not confirmed") && !closed.text.contains("<form"), "{}", closed.text);
    running.stop().await;
}

#[actix_web::test]
async fn sixty_four_presses_and_voids_have_one_winner() {
    let running =
        RunningProcessor::start_waiting(Waits { review: Duration::from_secs(3_600), ..Waits::default() }).await;
    let caller = &running.caller;
    for (method, choices) in [
        ("CARD", ["succeed", "fail"]),
        ("IDEAL", ["pay", "cancel"]),
        ("PAYLATER", ["approve", "cancel"]),
        ("BANKTRANSFER", ["arrived", "arrived"]),
    ] {
        let (key, pending) = caller.pending(json!({"Method": method})).await;
        let page = pending.page();
        let form = caller.open(&page).await.form();
        let races = (0..64).map(|n| {
            let (key, page, form) = (&key, &page, &form);
            async move {
                match n % 3 {
                    2 => caller.void(&fresh_key(), key).await.outcome() == "APPROVED",
                    choice => {
                        assert_eq!(caller.send_form(page, form, choices[choice], None).await.status, 303);
                        false
                    }
                }
            }
        });
        let voided = join_all(races).await.into_iter().filter(|voided| *voided).count();
        let now = caller.operation(&key).await;
        assert_eq!(caller.journaled(&key).await, ["PENDING", now.outcome()], "{method}");
        // A void wins over the page, or over a card or a lender that was approved before it.
        let undone = now.outcome() == "APPROVED" && !matches!(method, "IDEAL" | "BANKTRANSFER");
        assert_eq!(voided, usize::from(now.reason() == "VOIDED" || undone), "{method} {now:?}");
    }
    running.stop().await;
}

#[actix_web::test]
async fn parts_of_a_transfer_that_arrive_at_once_are_all_counted() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "BANKTRANSFER"})).await;
    let page = pending.page();
    // Every one of them reads the page and sends what it read: some find that another was first, and read again. What was read says how much
    // had arrived then, and counts for that state only: nobody who read of 28 or less can be the 30th.
    let parts = (0..29).map(|_| {
        let page = &page;
        async move {
            // At worst all the others are first, one after the other.
            for _ in 0..29 {
                let form = caller.open(page).await.form();
                if form.ends_with(".2900") {
                    return;
                }
                caller.send_form(page, &form, "arrived", Some("1")).await;
            }
        }
    });
    join_all(parts).await;
    let received: Vec<_> = caller.journal().await.iter().filter_map(|entry| entry["Received"].as_f64()).collect();
    assert_eq!(received, (1..=29).map(f64::from).collect::<Vec<_>>(), "each sum once, none left out");
    assert_eq!(caller.operation(&key).await.outcome(), "PENDING", "0.90 is missing");
    running.stop().await;
}

#[actix_web::test]
async fn faults_hit_pages_and_reviews() {
    let running =
        RunningProcessor::start_waiting(Waits { review: Duration::from_secs(3_600), ..Waits::default() }).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({"Method": "PAYLATER"})).await;
    let page = pending.page();
    caller.faults(json!({"Mode": "error_500", "Remaining": 1, "Kinds": ["PAGE"]})).await;
    let failed = caller.press(&page, "review").await;
    assert_eq!((failed.status, failed.text.contains("Open this page again")), (500, true));
    assert_eq!(caller.journaled(&key).await, ["PENDING"]);

    caller.faults(json!({"Mode": "duplicate", "Remaining": 1})).await;
    assert_eq!(caller.press(&page, "review").await.status, 303);
    assert_eq!(caller.journaled(&key).await, ["PENDING", "PENDING"]);

    caller.faults(json!({"Mode": "error_500", "Remaining": 1, "Kinds": ["REVIEW"]})).await;
    assert_eq!(caller.review(&key, "approve").await.status, 500);
    caller.faults(json!({"Mode": "timeout_after_work", "Remaining": 1, "DelayMs": 10, "Kinds": ["REVIEW"]})).await;
    assert_eq!(caller.review(&key, "approve").await.code(), "PROCESSOR_TIMEOUT");
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");

    let (key, pending) = caller.pending(json!({"Method": "IDEAL"})).await;
    caller.faults(json!({"Mode": "timeout_after_work", "Remaining": 1, "DelayMs": 10})).await;
    assert_eq!(caller.press(&pending.page(), "pay").await.status, 504);
    assert_eq!(caller.operation(&key).await.outcome(), "APPROVED");

    let (key, pending) = caller.pending(json!({})).await;
    caller.faults(json!({"Mode": "refuse", "Remaining": 1})).await;
    assert_eq!(caller.press(&pending.page(), "succeed").await.location, RETURN_URL);
    let refused = caller.operation(&key).await;
    assert_eq!((refused.reason(), &refused.body["Retryable"]), ("GENERIC_DECLINE", &json!(true)));

    caller.faults(json!({"Mode": "refuse", "Remaining": 1})).await;
    let key = fresh_key();
    let refused = caller.post("/v1/authorizations", &key, asking(json!({"Method": "PAYPAL"}))).await;
    assert_eq!((refused.outcome(), &refused.body["Retryable"]), ("DECLINED", &json!(true)));

    let (key, pending) = caller.pending(json!({})).await;
    let page = pending.page();
    let form = caller.open(&page).await.form();
    caller.faults(json!({"Mode": "slow", "Remaining": 1, "DelayMs": 400})).await;
    let slow = caller.send_form(&page, &form, "succeed", None);
    let overtaken = async {
        until("the press to be on its way", || async {
            (caller.get("/v1/faults").await.body["Mode"] == "none").then_some(())
        })
        .await;
        caller.void(&fresh_key(), &key).await
    };
    let (slow, void) = futures_util::future::join(slow, overtaken).await;
    assert_eq!((slow.status, void.outcome()), (303, "APPROVED"));
    assert_eq!(caller.operation(&key).await.reason(), "VOIDED");
    assert_eq!(caller.journaled(&key).await, ["PENDING", "DECLINED"]);
    running.stop().await;
}

#[actix_web::test]
async fn pages_are_where_the_configuration_says() {
    let hosting = |url: &str| Hosting { public_url: Some(url.to_owned()), ..Hosting::default() };
    let folder = tempfile::tempdir().unwrap();
    for wrong in ["", "pay.example", "ftp://pay.example", "https://pay.example/?x", "https://a:b@pay.example"] {
        let config = Config {
            database: folder.path().join("processor.db"),
            key: "k".to_owned(),
            capture_delay: Duration::ZERO,
            silence: Duration::ZERO,
        };
        let refused = SandboxProcessor::open_with(config, hosting(wrong));
        assert!(matches!(refused, Err(OpenStoreError::PublicUrl)), "{wrong}");
    }
    let public = hosting("https://pay.example/sandbox/");
    let running = RunningProcessor::start_with(folder, Duration::ZERO, Duration::ZERO, public).await;
    let caller = &running.caller;
    let (key, pending) = caller.pending(json!({})).await;
    let page = pending.page();
    let token = page.strip_prefix("https://pay.example/sandbox/pages/").expect(&page);
    assert_eq!((token.len(), caller.operation(&key).await.page()), (32, page.clone()));
    let local = format!("{}/pages/{token}", caller.base);
    assert_eq!(caller.press(&local, "succeed").await.status, 303);
    running.stop().await;
}

#[actix_web::test]
async fn pages_can_be_shown_without_the_callers_routes() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("processor.db");
    let config = Config { database, key: KEY.to_owned(), capture_delay: Duration::ZERO, silence: Duration::ZERO };
    let processor = SandboxProcessor::open(config).expect("a store");
    let server = HttpServer::new(move || {
        App::new()
            .service(web::scope("/inner").configure(processor.configure()))
            .service(web::scope("/sandbox").configure(processor.configure_pages()))
    });
    let server = server.workers(1).disable_signals().bind(("127.0.0.1", 0)).expect("a port");
    let (inner, outer) = (Caller::new(server.addrs()[0], "/inner"), Caller::new(server.addrs()[0], "/sandbox"));
    actix_web::rt::spawn(server.run());
    let (key, pending) = inner.pending(json!({"Method": "PAYPAL"})).await;
    let page = pending.page().replace("/inner/", "/sandbox/");
    assert_eq!(outer.press(&page, "pay").await.status, 303);
    assert_eq!(inner.operation(&key).await.outcome(), "APPROVED");
    assert_eq!(outer.operation(&key).await.status, 404);
}

#[actix_web::test]
async fn the_messaging_script_is_there_for_each_region_and_no_other() {
    let running = RunningProcessor::start().await;
    let caller = &running.caller;
    let scripts: Vec<_> = join_all(["eu", "na", "oc"].map(|region| async move {
        let script = caller.open(&format!("/onsite/{region}/script.js")).await;
        assert_eq!(script.status, 200, "{region}");
        script.text
    }))
    .await;
    assert!(scripts.iter().all(|script| script.contains("pay-later-placement")));
    for nowhere in
        ["/onsite/eu", "/onsite/us/script.js", "/onsite/EU/script.js", "/onsite/../eu/script.js", "/onsite//script.js"]
    {
        assert_eq!(caller.open(nowhere).await.status, 404, "{nowhere}");
    }
    running.stop().await;
}
