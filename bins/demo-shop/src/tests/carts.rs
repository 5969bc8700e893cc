//! Carts: one Session for each, until that is over.

use serde_json::{Value, json};

use super::CART;
use super::world::{SESSION, World, cart, session};

/// A reload, another tab, the way back: the cart's Session is read again, whatever became of it.
#[actix_web::test]
async fn a_cart_has_one_session_until_that_is_over() {
    let world = World::open().await;
    let lines = |asked: &[(String, _, String)]| asked.iter().map(|(line, ..)| line.clone()).collect::<Vec<_>>();
    let read = format!("GET /v1/session/{SESSION}");
    world.answers(201, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", cart(CART, 1)).await.0, 200);
    for state in ["CREATED", "PROCESSING", "REDIRECTED", "COMPLETED"] {
        world.asked();
        world.answers(200, session(state, None));
        let (status, answer) = world.post("/api/checkout", cart(CART, 1)).await;
        assert_eq!((status, &answer["SessionId"], &answer["State"]), (200, &json!(SESSION), &json!(state)), "{answer}");
        assert_eq!((lines(&world.asked()), &answer["Outdated"]), (vec![read.clone()], &json!(false)), "{state}");
    }
    for over in ["FAILED", "CANCELLED"] {
        world.answers(200, session(over, None));
        world.answers(201, session("CREATED", None));
        assert_eq!(world.post("/api/checkout", cart(CART, 1)).await.0, 200);
        assert_eq!(lines(&world.asked()), [read.as_str(), "POST /v1/session"], "{over}");
    }
}

#[actix_web::test]
async fn a_changed_cart_replaces_its_session_unless_it_is_being_paid() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    let (_, first) = world.post("/api/checkout", cart(CART, 1)).await;
    let created = world.asked().pop().unwrap().2;
    world.answers(200, session("CREATED", None));
    world.answers(200, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", cart(CART, 2)).await.1["SessionId"], first["SessionId"]);
    let (line, _, body) = world.asked().pop().unwrap();
    assert_eq!(line, format!("PUT /v1/session/{SESSION}"));
    assert!(
        body.contains(r#""Amount":48.00,"Quantity":2"#) && body.contains("\"STILL-1\""),
        "its reference stays: {body}"
    );
    assert!(created.contains("/pay?session={SessionId}"), "CancelUrl is the page with the drop-in: {created}");
    // Priced anew because the page asks for it, though nothing changed.
    let again = |mut cart: Value| {
        cart["Again"] = json!(true);
        cart
    };
    world.answers(200, session("CREATED", None));
    world.answers(200, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", again(cart(CART, 2))).await.0, 200);
    assert!(world.asked()[1].0.starts_with("PUT "));
    // The shopper was faster than the change.
    let refusal = json!({"Code": "INVALID_SESSION_STATE", "Message": "The Session is PROCESSING."});
    for (status, body) in [(200, session("CREATED", None)), (409, refusal), (200, session("PROCESSING", None))] {
        world.answers(status, body);
    }
    let (status, answer) = world.post("/api/checkout", cart(CART, 3)).await;
    assert_eq!((status, &answer["State"], &answer["Outdated"]), (200, &json!("PROCESSING"), &json!(true)), "{answer}");
}

/// After a restart of the shop, too: the browser says which Session it knows, and the service says how that stands.
#[actix_web::test]
async fn a_cart_that_the_shop_forgot_is_not_paid_twice() {
    let world = World::open().await;
    let mut cart = cart(CART, 1);
    cart["SessionId"] = json!(SESSION);
    world.answers(200, session("COMPLETED", Some("PROCESSED")));
    assert_eq!(world.post("/api/checkout", cart.clone()).await.1["State"], "COMPLETED");
    world.answers(200, session("CREATED", None));
    world.answers(200, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", cart.clone()).await.0, 200);
    assert!(world.asked().pop().unwrap().0.starts_with("PUT "), "nobody knows what it was priced for");
    // The service is away: the shop does not forget the Session for that.
    world.answers(503, json!({"Code": "SERVICE_UNAVAILABLE", "Message": "x"}));
    assert_eq!(world.post("/api/checkout", cart.clone()).await.0, 503);
    world.answers(404, json!({"Code": "SESSION_NOT_FOUND", "Message": "x"}));
    world.answers(201, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", cart).await.0, 200);
    assert_eq!(world.asked().pop().unwrap().0, "POST /v1/session");
}

#[actix_web::test]
async fn two_clicks_make_one_session() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    world.answers(200, session("CREATED", None));
    let (first, second) = futures_util::future::join(
        world.post("/api/checkout", cart(CART, 1)),
        world.post("/api/checkout", cart(CART, 1)),
    )
    .await;
    assert_eq!((first.0, second.0), (200, 200), "{} {}", first.1, second.1);
    let lines: Vec<_> = world.asked().into_iter().map(|(line, ..)| line).collect();
    assert_eq!(lines, ["POST /v1/session".to_owned(), format!("GET /v1/session/{SESSION}")]);
}
