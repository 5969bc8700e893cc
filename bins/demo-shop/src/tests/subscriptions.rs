//! A subscription is sold, charged without the shopper, and ended.

use serde_json::{Value, json};

use super::world::{Delivery, ORDER, SESSION, World, cart, fresh_id, session};

const CONTRACT: &str = "6f0d4d0c-3a39-4f3c-9f7e-0f2b5a1c7d30";
const CHARGE: &str = "a5c3f1de-77a1-4c0b-8a0e-2b6f6f0d9e41";

/// A paid Session that sold two boxes and a mug to a customer in Sweden.
fn sold() -> Value {
    let mut sold = session("COMPLETED", Some("PROCESSED"));
    sold["Currency"] = json!("SEK");
    sold["Items"] = json!([
        {"Name": "Tidepool mug", "Amount": 268.80, "Quantity": 1}, {"Name": "Tea by post", "Amount": 378.5, "Quantity": 2},
    ]);
    sold["BillingProfile"]["Address"] =
        json!({"Street": "Exempelgatan 7", "City": "Stockholm", "Country": "SE", "Postcode": "111 22"});
    sold["Order"]["ContractId"] = json!(CONTRACT);
    sold
}

/// Its contract, with the first payment and so many charges.
fn contract(state: &str, charges: usize) -> Value {
    let order = |id: &str, reference: String| json!({"OrderId": id, "MerchantReference": reference, "State": "PROCESSED", "Amount": 378.5, "Currency": "SEK"});
    let charged = (0..charges).map(|charge| order(CHARGE, format!("STILL-1-{}", charge + 2)));
    let orders: Vec<_> = std::iter::once(order(ORDER, "STILL-1".to_owned())).chain(charged).collect();
    json!({"ContractId": CONTRACT, "State": state, "Kind": "RECURRING", "Orders": orders})
}

async fn charge(world: &World, number: u32) -> (u16, Value) {
    world.post(&format!("/api/payment/{SESSION}/charge"), json!({"Number": number})).await
}

fn lines(world: &World) -> Vec<String> {
    world.asked().into_iter().map(|(line, ..)| line).collect()
}

fn reads() -> [String; 2] {
    [format!("GET /v1/session/{SESSION}"), format!("GET /v1/contract/{CONTRACT}")]
}

#[actix_web::test]
async fn a_basket_with_a_subscription_opens_a_contract_and_no_other_does() {
    let world = World::open().await;
    let id = fresh_id();
    let basket = |products: &[&str]| {
        let lines: Vec<_> = products.iter().map(|product| json!({"Id": product, "Quantity": 1})).collect();
        json!({"CartId": id, "Currency": "EUR", "AutoCapture": true, "Lines": lines})
    };
    world.answers(201, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", basket(&["mug", "teabox"])).await.0, 200);
    let body: Value = serde_json::from_str(&world.asked()[0].2).unwrap();
    assert_eq!((&body["OpenContract"], &body["Items"][1]["Amount"]), (&json!(true), &json!(16.90)), "{body}");
    // Taken out of the basket again.
    for _ in 0..2 {
        world.answers(200, session("CREATED", None));
    }
    assert_eq!(world.post("/api/checkout", basket(&["mug", "tea"])).await.0, 200);
    let (line, _, body) = world.asked().pop().unwrap();
    assert!(line.starts_with("PUT ") && !body.contains("OpenContract"), "{line} {body}");
    assert!(body.contains(r#""AllowContract":true"#), "{body}");
    let catalogue: Value = serde_json::from_str(&world.get("/api/catalogue").await.2).unwrap();
    let monthly = catalogue["Things"].as_array().unwrap().iter().filter(|thing| thing["Monthly"] == true);
    assert_eq!(monthly.map(|thing| thing["Id"].as_str().unwrap()).collect::<Vec<_>>(), ["teabox"]);
}

/// The first purchase makes the customer known; the next one names them, whatever is in it. In another country it is another customer.
#[actix_web::test]
async fn a_known_customer_is_named_and_may_save_a_card() {
    let world = World::open().await;
    let mut bodies = Vec::new();
    for (country, product) in [("IE", "mug"), ("IE", "mug"), ("IE", "teabox"), ("SE", "mug")] {
        world.answers(201, session("CREATED", None));
        let lines = [json!({"Id": product, "Quantity": 1})];
        let basket =
            json!({"CartId": fresh_id(), "Currency": "EUR", "Country": country, "AutoCapture": true, "Lines": lines});
        assert_eq!(world.post("/api/checkout", basket).await.0, 200);
        bodies.push(serde_json::from_str::<Value>(&world.asked().pop().unwrap().2).unwrap());
    }
    let seen: Vec<_> = bodies
        .iter()
        .map(|body| {
            let profile = &body["BillingProfile"];
            (
                &body["AllowContract"],
                &body["OpenContract"],
                &body["BillingProfileReference"],
                &profile["BillingProfileReference"],
            )
        })
        .collect();
    let (yes, none, robin) = (json!(true), Value::Null, json!("robin-IE"));
    let expected = [
        (&yes, &none, &none, &robin),
        (&yes, &none, &robin, &none),
        (&none, &yes, &robin, &none),
        (&yes, &none, &none, &json!("robin-SE")),
    ];
    assert_eq!(seen, expected);
    assert_eq!((&bodies[0]["BillingProfile"]["Name"], &bodies[1]["BillingProfile"]), (&json!("Robin Example"), &none));
}

/// A card that was saved is no subscription: nothing is charged without the customer.
#[actix_web::test]
async fn a_saved_card_is_not_charged_behind_the_counter() {
    let world = World::open().await;
    let mut saved = sold();
    saved["Items"] = json!([{"Name": "Tidepool mug", "Amount": 24, "Quantity": 1}]);
    for _ in 0..2 {
        world.answers(200, saved.clone());
    }
    let shown: Value = serde_json::from_str(&world.get(&format!("/api/payment/{SESSION}")).await.2).unwrap();
    assert_eq!((&shown["Subscription"], &shown["Order"]["ContractId"]), (&Value::Null, &json!(CONTRACT)), "{shown}");
    let (status, answer) = charge(&world, 2).await;
    assert_eq!((status, &answer["Code"]), (409, &json!("NO_SUBSCRIPTION")), "{answer}");
}

/// At the price that it was sold at, in the digits of the service; and once, however often the button is pressed.
#[actix_web::test]
async fn two_clicks_charge_one_month() {
    let world = World::open().await;
    for (status, answer) in [
        (200, sold()),
        (200, contract("ACTIVE", 0)),
        (
            200,
            json!({"OrderId": CHARGE, "State": "PROCESSED", "Authorized": true, "Captured": true, "Completed": true}),
        ),
        (200, sold()),
        (200, contract("ACTIVE", 1)),
    ] {
        world.answers(status, answer);
    }
    let (first, second) = futures_util::future::join(charge(&world, 2), charge(&world, 2)).await;
    let mut repeated = Vec::new();
    for (status, answer) in [first, second] {
        let charged = (status, &answer["OrderId"], &answer["Reference"], &answer["Captured"]);
        assert_eq!(charged, (200, &json!(CHARGE), &json!("STILL-1-2"), &json!(true)), "{answer}");
        repeated.push(answer["Repeated"] == true);
    }
    repeated.sort_unstable();
    assert_eq!(repeated, [false, true]);
    let asked = world.asked();
    let [session, contract] = reads();
    let expected = [session.as_str(), &contract, "POST /checkout/v2.21", &session, &contract];
    assert_eq!(asked.iter().map(|(line, ..)| line.as_str()).collect::<Vec<_>>(), expected);
    let (_, headers, body) = &asked[2];
    assert_eq!(headers.get("authorization").unwrap(), "Basic c2hvcDpvbmx5LWZvci10aGlzLXRlc3Q=");
    assert!(body.contains(r#""ConsumerPrice":378.5,"#), "the service's own digits: {body}");
    let body: Value = serde_json::from_str(body).unwrap();
    let expected = json!({
        "MerchantId": "5b8f2a0e-4c1d-4e9a-9a57-1c2d3e4f5a6b", "ReferenceId": "STILL-1-2", "ConsumerCurrency": "SEK", "Capture": true,
        "ContractId": CONTRACT,
        "Consumer": {"Name": "Robin Example", "Email": "robin@example.com", "Address": "Exempelgatan 7", "City": "Stockholm", "Country": "SE"},
        "Items": [{"Description": "2 × Tea by post", "ConsumerPrice": 378.5, "Quantity": 1}],
    });
    assert_eq!(body, expected);
}

/// The page asks for what it showed as the next charge, and for nothing else.
#[actix_web::test]
async fn charges_nothing_that_was_not_asked_for() {
    let world = World::open().await;
    for (what, number, sold, expected) in [
        ("another tab charged meanwhile", 5, sold(), (409, "CHARGE_OUTDATED")),
        ("no contract", 2, session("COMPLETED", Some("PROCESSED")), (409, "NO_SUBSCRIPTION")),
    ] {
        world.answers(200, sold);
        world.answers(200, contract("ACTIVE", 2));
        let (status, answer) = charge(&world, number).await;
        assert_eq!((status, answer["Code"].as_str()), (expected.0, Some(expected.1)), "{what}: {answer}");
        assert!(lines(&world).iter().all(|line| line.starts_with("GET ")), "{what}");
        world.script_nothing();
    }
    let (status, answer) = world.post("/api/payment/nonsense/charge", json!({"Number": 2})).await;
    assert_eq!((status, &answer["Code"]), (404, &json!("PAYMENT_NOT_FOUND")));
    let (status, _) = world.post(&format!("/api/payment/{SESSION}/charge"), json!({"Number": "2"})).await;
    assert_eq!(status, 400);
    let form = world.client.post(world.url(&format!("/api/payment/{SESSION}/charge"))).send_form(&[("Number", "2")]);
    assert_eq!(form.await.unwrap().status().as_u16(), 403, "a form of a foreign page");
    assert!(lines(&world).is_empty(), "the payment service was asked");
}

/// The service lists the newest payments alone, and those of other programs too; neither brings a number back.
#[actix_web::test]
async fn a_number_is_given_once() {
    let world = World::open().await;
    let mut contract = contract("ACTIVE", 2);
    contract["Orders"][0]["MerchantReference"] = json!("charge-by-command");
    contract["Orders"][2]["MerchantReference"] = json!("STILL-1-101");
    world.answers(200, sold());
    world.answers(200, contract);
    let shown: Value = serde_json::from_str(&world.get(&format!("/api/payment/{SESSION}")).await.2).unwrap();
    assert_eq!(shown["Subscription"]["NextCharge"], 102, "{shown}");
}

#[actix_web::test]
async fn a_charge_that_was_not_made_says_what_to_do() {
    let world = World::open().await;
    let refusal = |code: &str| json!({"Code": code, "Message": "Words of the service.", "OrderId": CHARGE});
    for (status, code, expected, words) in [
        (
            402,
            "PAYMENT_DECLINED",
            (402, "PAYMENT_DECLINED"),
            "Words of the service. Nothing was charged. Try again in some days",
        ),
        (
            402,
            "SHOPPER_AUTHENTICATION_REQUIRED",
            (402, "SHOPPER_AUTHENTICATION_REQUIRED"),
            "have the shopper subscribe anew",
        ),
        (409, "INVALID_CONTRACT_STATE", (409, "INVALID_CONTRACT_STATE"), "Words of the service. Nothing was charged."),
        (409, "DUPLICATE_MERCHANT_REFERENCE_ID", (409, "DUPLICATE_MERCHANT_REFERENCE_ID"), "Words of the service."),
        (403, "NOT_AUTHORIZED", (502, "CREDENTIALS_REFUSED"), "Words of the service."),
        (503, "OUTCOME_UNKNOWN", (502, "CHARGE_UNKNOWN"), "it may have been made"),
        (500, "INTERNAL_ERROR", (502, "CHARGE_UNKNOWN"), "it may have been made"),
    ] {
        world.answers(200, sold());
        world.answers(200, contract("ACTIVE", 0));
        world.answers(status, refusal(code));
        let (got, answer) = charge(&world, 2).await;
        assert_eq!((got, answer["Code"].as_str()), (expected.0, Some(expected.1)), "{answer}");
        assert!(answer["Message"].as_str().unwrap().contains(words), "{code}: {answer}");
    }
}

#[actix_web::test]
async fn ends_the_contract_once() {
    let world = World::open().await;
    let path = format!("/api/payment/{SESSION}/end");
    world.answers(200, sold());
    world.answers(200, contract("ACTIVE", 1));
    world.answers(200, json!({"ContractId": CONTRACT, "State": "CLOSED", "StateReason": "MERCHANT"}));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["State"]), (200, &json!("CLOSED")), "{answer}");
    let (line, _, body) = world.asked().pop().unwrap();
    assert_eq!(line, "POST /checkout/v2.21/closeContract");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body, json!({"MerchantId": "5b8f2a0e-4c1d-4e9a-9a57-1c2d3e4f5a6b", "ContractId": CONTRACT}));
    // It is over already.
    world.answers(200, sold());
    world.answers(200, contract("CLOSED", 1));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["State"], lines(&world)), (200, &json!("CLOSED"), reads().to_vec()), "{answer}");
    // The service does not let it be ended now.
    world.answers(200, sold());
    world.answers(200, contract("OPENING", 0));
    world.answers(409, json!({"Code": "INVALID_CONTRACT_STATE", "Message": "The contract is OPENING."}));
    let (status, answer) = world.post(&path, json!({})).await;
    assert_eq!((status, &answer["Message"]), (409, &json!("The contract is OPENING.")));
}

/// Neither a charge's Order nor a contract has what the events of a Session have.
#[actix_web::test]
async fn believes_what_it_is_told_of_charges_and_contracts() {
    let world = World::open().await;
    world.answers(201, session("CREATED", None));
    assert_eq!(world.post("/api/checkout", cart(&fresh_id(), 1)).await.0, 200);
    let shown = async || {
        world.answers(200, sold());
        world.answers(200, contract("ACTIVE", 1));
        serde_json::from_str::<Value>(&world.get(&format!("/api/payment/{SESSION}")).await.2).unwrap()
    };
    let before = shown().await;
    let of = &before["Subscription"];
    assert_eq!((&of["ContractId"], &of["NextCharge"]), (&json!(CONTRACT), &json!(3)), "{before}");
    assert_eq!(of["Monthly"], json!([{"Description": "2 × Tea by post", "Price": "378.5"}]));
    let charge = &of["Charges"][0];
    assert_eq!(
        (&charge["Reference"], &charge["State"], &charge["Stage"]),
        (&json!("STILL-1-2"), &json!("PROCESSED"), &Value::Null)
    );
    let order =
        json!({"OrderId": CHARGE, "State": "PROCESSED", "MerchantReference": "STILL-1-2", "UnderReview": false});
    let closed = json!({"ContractId": CONTRACT, "State": "CLOSED", "StateReason": "MERCHANT", "SessionId": SESSION});
    for (id, sequence, body) in [
        ("paid", 2, json!({"EventType": "ORDER_PROCESSED", "Order": order})),
        ("late", 1, json!({"EventType": "ORDER_AUTHORIZED", "Order": order})),
        ("closed", 5, json!({"EventType": "CONTRACT_CLOSED", "Contract": closed})),
        (
            "elsewhere",
            1,
            json!({"EventType": "CONTRACT_OPENED", "Contract": {"ContractId": CHARGE, "State": "ACTIVE"}}),
        ),
    ] {
        let delivery = Delivery { id: id.to_owned(), body: body.to_string(), ..Delivery::new(sequence, "", "") };
        assert_eq!(world.deliver(&delivery).await, 200, "{body}");
    }
    let told = world.notifications(4).await;
    assert_eq!((&told[0]["SessionId"], &told[0]["MerchantReference"]), (&Value::Null, &json!("STILL-1-2")));
    assert_eq!((&told[2]["SessionId"], &told[2]["State"]), (&json!(SESSION), &json!("CLOSED")));
    assert_eq!(told[2]["MerchantReference"], "");
    let after = shown().await;
    assert_eq!(
        (&after["Subscription"]["Charges"][0]["Stage"], &after["Stage"]),
        (&json!("PAID"), &json!("AWAITING_PAYMENT")),
        "{after}"
    );
}

/// A payment can be read while its contract cannot.
#[actix_web::test]
async fn a_contract_that_cannot_be_read_hides_no_payment() {
    let world = World::open().await;
    world.answers(200, sold());
    world.answers(403, json!({"Code": "NOT_AUTHORIZED", "Message": "contract:read is missing."}));
    let (status, _, text) = world.get(&format!("/api/payment/{SESSION}")).await;
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &shown["Subscription"], &shown["Order"]["ContractId"]), (200, &Value::Null, &json!(CONTRACT)));
}
