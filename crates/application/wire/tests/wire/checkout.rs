//! The server-to-server checkout: what is accepted, and the exact bytes of the answers.

use crate::common::{LATER, NOW, bank_details, fields, id, ledger, started};
use dropin_catalogue::{Catalogue, Class, Method};
use dropin_kernel::LedgerTransactionId;
use dropin_money::{Amount, Currency};
use dropin_order::{Order, OrderEvent, OrderState, VoidCause};
use dropin_validation::UrlPolicy;
use dropin_wire::RequestError;
use dropin_wire::checkout::{CheckoutRequest, PaidBy, checkout_action, checkout_result, declined};
use dropin_wire::event;
use dropin_wire::order::OrderBody;
use serde_json::{Value, json};

/// Every member that may be sent, but ContractId.
fn whole() -> Value {
    json!({
        "MerchantId": "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809102", "ReferenceId": " order-1 ", "ConsumerCurrency": "EUR", "PaymentMethod": "VISA",
        "Capture": true, "DeviceFingerprint": "f", "StashId": "cart-1", "Return": "https://shop.example/back?a=1",
        "Items": [
            {"Description": "Mug", "ConsumerPrice": 10, "Quantity": 2.0, "Sku": "M-1", "ImageUrl": "https://shop.example/mug.png"},
            {"Description": "Gift", "ConsumerPrice": 0, "Quantity": 1},
        ],
        "Consumer": {
            "Name": "Ana", "Email": "ana@shop.example", "Phone": "+1 213 373 4253", "Address": "1 Main St", "City": "LA", "Region": "US-CA",
            "PostalCode": "90001", "Country": "US",
        },
    })
}

/// With members changed; null takes one away.
fn with(change: Value) -> Value {
    let mut body = whole();
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn read(body: &Value, policy: UrlPolicy) -> Result<CheckoutRequest, RequestError> {
    CheckoutRequest::parse(body.to_string().as_bytes(), policy, &Catalogue::of_sandbox())
}

fn method_of(request: CheckoutRequest) -> Option<String> {
    let PaidBy::Instrument { method, .. } = request.paid_by else { panic!("a contract") };
    method
}

fn parse(body: &Value) -> CheckoutRequest {
    read(body, UrlPolicy::Production).unwrap()
}

#[track_caller]
fn refused(body: &Value) -> Vec<String> {
    fields(read(body, UrlPolicy::Production).unwrap_err())
}

#[test]
fn a_checkout_with_everything() {
    let request = parse(&whole());
    assert_eq!((request.reference.as_str(), request.country.as_str(), request.capture), ("order-1", "US", true));
    assert_eq!(request.total, Amount::from_minor(Currency::Eur, 2_000).unwrap(), "Quantity multiplies");
    let paid_by = PaidBy::Instrument {
        method: Some("VISA".to_owned()),
        stash_id: Some("cart-1".to_owned()),
        return_url: Some("https://shop.example/back?a=1".to_owned()),
        fingerprint: "f".parse().unwrap(),
    };
    assert_eq!(request.paid_by, paid_by);
    let document = concat!(
        r#"{"Consumer":{"Name":"Ana","Email":"ana@shop.example","Phone":"+1 213 373 4253","Address":"1 Main St","City":"LA","#,
        r#""Region":"US-CA","PostalCode":"90001","Country":"US"},"Items":["#,
        r#"{"Description":"Mug","ConsumerPrice":10.00,"Quantity":2,"Sku":"M-1","ImageUrl":"https://shop.example/mug.png"},"#,
        r#"{"Description":"Gift","ConsumerPrice":0.00,"Quantity":1}]}"#
    );
    assert_eq!(request.document, document);
}

#[test]
fn a_checkout_with_as_little_as_possible() {
    let least = parse(&json!({
        "MerchantId": "whoever", "ReferenceId": "order-1", "ConsumerCurrency": "JPY", "PaymentMethod": "BANKTRANSFER", "DeviceFingerprint": "f",
        "StashId": null, "Items": [{"Description": "Mug", "ConsumerPrice": 1000, "Quantity": 1}],
        "Consumer": {"Name": "Ana", "Email": "ana@shop.example", "Address": "1 Main St", "City": "LA", "Country": "US"},
    }));
    let is_least = |paid_by: &PaidBy| matches!(paid_by, PaidBy::Instrument { stash_id: None, return_url: None, .. });
    assert!(!least.capture && is_least(&least.paid_by), "{least:?}");
    assert_eq!(least.merchant_id, "whoever", "who that is, the caller knows");
}

#[test]
fn what_is_missing_or_of_another_type_is_told_at_once() {
    assert_eq!(
        refused(&json!({})),
        [
            "Consumer FIELD_MISSING",
            "ConsumerCurrency FIELD_MISSING",
            "DeviceFingerprint FIELD_MISSING",
            "Items FIELD_MISSING",
            "MerchantId FIELD_MISSING",
            "PaymentMethod FIELD_MISSING",
            "ReferenceId FIELD_MISSING",
        ]
    );
    let items =
        json!([{"Description": 1, "ConsumerPrice": "10", "Quantity": true, "Sku": {}, "ImageUrl": []}, "mug", {}]);
    let wrong = with(json!({"Items": items, "Consumer": {"Phone": 7}, "Capture": "yes", "Return": 1, "StashId": 2}));
    assert_eq!(
        refused(&wrong),
        [
            "Capture FIELD_INVALID",
            "Consumer.Address FIELD_MISSING",
            "Consumer.City FIELD_MISSING",
            "Consumer.Country FIELD_MISSING",
            "Consumer.Email FIELD_MISSING",
            "Consumer.Name FIELD_MISSING",
            "Consumer.Phone FIELD_INVALID",
            "Items[0].ConsumerPrice FIELD_INVALID",
            "Items[0].Description FIELD_INVALID",
            "Items[0].ImageUrl FIELD_INVALID",
            "Items[0].Quantity FIELD_INVALID",
            "Items[0].Sku FIELD_INVALID",
            "Items[1] FIELD_INVALID",
            "Items[2].ConsumerPrice FIELD_MISSING",
            "Items[2].Description FIELD_MISSING",
            "Items[2].Quantity FIELD_MISSING",
            "Return FIELD_INVALID",
            "StashId FIELD_INVALID",
        ]
    );
}

#[test]
fn every_wrong_meaning_is_told_at_once() {
    let wrong = with(json!({
        "ReferenceId": " ", "ConsumerCurrency": "XXX", "DeviceFingerprint": " ", "StashId": "a b", "Return": "shop",
        "Items": [{"Description": " ", "ConsumerPrice": -1, "Quantity": 0, "Sku": " ", "ImageUrl": "http://shop.example/mug.png"}],
        "Consumer": {"Name": " ", "Email": " ", "Phone": " ", "Address": " ", "City": " ", "Region": " ", "PostalCode": " ", "Country": "us"},
    }));
    assert_eq!(
        refused(&wrong),
        [
            "Consumer.Address FIELD_MISSING",
            "Consumer.City FIELD_MISSING",
            "Consumer.Country VALUE_NOT_ALLOWED",
            "Consumer.Email FIELD_MISSING",
            "Consumer.Name FIELD_MISSING",
            "Consumer.Phone FIELD_MISSING",
            "Consumer.PostalCode FIELD_MISSING",
            "Consumer.Region FIELD_MISSING",
            "ConsumerCurrency VALUE_NOT_ALLOWED",
            "DeviceFingerprint FIELD_MISSING",
            "Items[0].ConsumerPrice VALUE_OUT_OF_RANGE",
            "Items[0].Description FIELD_MISSING",
            "Items[0].ImageUrl FIELD_INVALID",
            "Items[0].Quantity VALUE_OUT_OF_RANGE",
            "Items[0].Sku FIELD_MISSING",
            "ReferenceId FIELD_MISSING",
            "Return FIELD_INVALID",
            "StashId FIELD_INVALID",
        ]
    );
}

#[test]
fn a_consumer_is_text_of_which_only_lengths_and_the_country_are_checked() {
    let mut free = whole();
    for (name, text) in
        [("Email", "ana at shop"), ("Phone", "ask for Ana"), ("Region", "north of the river"), ("PostalCode", "?")]
    {
        free["Consumer"][name] = json!(text);
    }
    assert_eq!(parse(&free).country, "US");
    free["Consumer"]["Region"] = json!("x".repeat(256));
    assert_eq!(refused(&free), ["Consumer.Region VALUE_TOO_LONG"]);
    for left_out in ["Phone", "Region", "PostalCode"] {
        let mut empty = whole();
        empty["Consumer"][left_out] = json!("");
        assert!(!parse(&empty).document.contains(&format!("\"{left_out}\"")), "{left_out}");
    }
}

#[test]
fn totals_are_exact_and_bounded() {
    let items = |items: Value| with(json!({"Items": items}));
    let item = |price: &str, quantity: u64| {
        let price: Value = serde_json::from_str(price).unwrap();
        json!({"Description": "x", "ConsumerPrice": price, "Quantity": quantity})
    };
    let total = |entries: Value| parse(&items(entries)).total.to_string();
    assert_eq!(total(json!([item("0.07", 3), item("19.99", 1000)])), "19990.21");
    assert_eq!(total(json!([item("999999.99", 1_000_000)])), "999999990000.00");
    assert_eq!(refused(&items(json!([item("1000000", 1_000_000)]))), ["Items[0].ConsumerPrice VALUE_OUT_OF_RANGE"]);
    assert_eq!(
        refused(&items(json!([item("999999999999", 1_000_000)]))),
        ["Items[0].ConsumerPrice VALUE_OUT_OF_RANGE"]
    );
    let most = || item("999999.99", 1_000_000);
    assert_eq!(refused(&items(json!([most(), most()]))), ["Items VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(&items(json!([item("0", 9)]))), ["Items VALUE_OUT_OF_RANGE"], "nothing to pay");
    assert_eq!(refused(&items(json!([]))), ["Items VALUE_OUT_OF_RANGE"]);
    assert_eq!(refused(&items(json!([item("0.001", 1)]))), ["Items[0].ConsumerPrice FIELD_INVALID"]);
    let many: Vec<_> = (0..501).map(|_| item("1", 1)).collect();
    assert_eq!(refused(&items(json!(many))), ["Items VALUE_OUT_OF_RANGE"]);
}

#[test]
fn a_method_takes_what_its_class_needs() {
    let method = |method: &str, stash: Value, back: Value| {
        with(json!({"PaymentMethod": method, "StashId": stash, "Return": back}))
    };
    let (stash, back) = (|| json!("cart-1"), || json!("https://shop.example/back"));
    assert_eq!(refused(&method("VISA", Value::Null, Value::Null)), ["Return FIELD_MISSING", "StashId FIELD_MISSING"]);
    for (id, class_needs_return) in [("PAYPAL", true), ("BANKTRANSFER", false)] {
        assert_eq!(method_of(parse(&method(id, Value::Null, back()))).as_deref(), Some(id));
        let conflict = ["PaymentMethod CONFLICT", "StashId CONFLICT"];
        assert_eq!(refused(&method(id, stash(), back())), conflict, "{id}");
        let without = read(&method(id, Value::Null, Value::Null), UrlPolicy::Production);
        assert_eq!(without.is_err(), class_needs_return, "{id}");
    }
    assert_eq!(refused(&method("BITCOIN", stash(), back())), ["PaymentMethod VALUE_NOT_ALLOWED"]);
    let token = parse(&with(json!({"PaymentMethod": null, "StashId": "cart-1", "Return": null})));
    let is_token = |paid_by: &PaidBy| matches!(paid_by, PaidBy::Instrument { method: None, return_url: None, .. });
    assert!(is_token(&token.paid_by), "a wallet's token may wait there: {token:?}");
    assert_eq!(method_of(parse(&method("APPLEPAY", stash(), Value::Null))).as_deref(), Some("APPLEPAY"));
}

#[test]
fn a_method_that_the_deployment_added_is_read_by_its_class() {
    let own = Method::builder("TIKKIE", "Tikkie", Class::Online).build().unwrap();
    let catalogue = Catalogue::of_sandbox().with([own]).unwrap();
    let read = |stash: Value, back: Value| {
        let body = with(json!({"PaymentMethod": "TIKKIE", "StashId": stash, "Return": back}));
        assert_eq!(refused(&body)[0], "PaymentMethod VALUE_NOT_ALLOWED", "another deployment");
        CheckoutRequest::parse(body.to_string().as_bytes(), UrlPolicy::Production, &catalogue)
    };
    let back = || json!("https://shop.example/back");
    assert_eq!(method_of(read(Value::Null, back()).unwrap()).as_deref(), Some("TIKKIE"));
    assert_eq!(fields(read(Value::Null, Value::Null).unwrap_err()), ["Return FIELD_MISSING"]);
    assert_eq!(fields(read(json!("cart-1"), back()).unwrap_err()), ["PaymentMethod CONFLICT", "StashId CONFLICT"]);
}

#[test]
fn urls_follow_the_deployments_policy() {
    let plain = with(json!({"Return": "http://shop.example/back"}));
    assert_eq!(refused(&plain), ["Return FIELD_INVALID"]);
    assert!(read(&plain, UrlPolicy::Sandbox).is_ok());
}

const ORDER: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103";

fn utf_8(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap()
}

/// What a checkout's answer says beyond the Order's own names.
fn rendered(order: &Order) -> String {
    let start = format!(r#"{{"OrderId":"{ORDER}","ReferenceId":"order-1","State":"{}","#, order.state.as_str());
    let catalogue = Catalogue::of_sandbox();
    let rules = catalogue.payment_rules(&order.payment_method);
    utf_8(checkout_result(order, rules)).strip_prefix(&start).unwrap().to_owned()
}

fn authorized(order: &Order, under_review: bool) -> Order {
    order.authorized(&order.total.clone(), under_review, LATER, ledger(), NOW).unwrap().change.next
}

fn captured(order: &Order, minor: i64) -> Order {
    let amount = Amount::from_minor(Currency::Usd, minor).unwrap();
    let reserved = order.request_capture(&amount, NOW).unwrap().change.next;
    reserved.captured(&amount, &amount, ledger(), id::<LedgerTransactionId>(7), NOW).unwrap().change.next
}

const END: &str = r#""Expiry":"2026-11-19T11:06:40.000000Z","#;
/// Of a card's page, and of the window to capture: counted from the creation when the Order names no end.
const PAGE_END: &str = r#""Expiry":"2026-11-18T11:21:40.000000Z","#;
const WINDOW_END: &str = r#""Expiry":"2026-11-25T11:06:40.000000Z","#;

#[test]
fn a_checkout_tells_what_happened_to_the_money() {
    let begun = started(None, "VISA");
    let flags = r#""Authorized":false,"Completed":false,"Captured":false}"#;
    assert_eq!(rendered(&begun), format!(r#""UnderReview":false,{PAGE_END}{flags}"#));
    let reserved = authorized(&begun, false);
    let flags = r#""Authorized":true,"Completed":true,"Captured":false}"#;
    assert_eq!(rendered(&reserved), format!(r#""UnderReview":false,{END}{flags}"#));
    let to_capture = reserved.clone().edited(|parts| parts.auto_capture = true).unwrap();
    let flags = r#""Authorized":true,"Completed":false,"Captured":false}"#;
    assert_eq!(rendered(&to_capture), format!(r#""UnderReview":false,{END}{flags}"#), "the capture follows");
    assert_eq!(rendered(&authorized(&begun, true)), format!(r#""UnderReview":true,{END}{flags}"#), "a review is open");
    assert_eq!(
        rendered(&captured(&reserved, 2_990)),
        format!(r#""UnderReview":false,{WINDOW_END}"Authorized":true,"Completed":true,"Captured":true}}"#)
    );
    assert_eq!(
        rendered(&captured(&reserved, 1_000)),
        format!(r#""UnderReview":false,{WINDOW_END}"Authorized":true,"Completed":true,"Captured":false}}"#),
        "not all of it"
    );
    let voiding = reserved.clone().edited(|parts| parts.voiding = Some(VoidCause::Merchant)).unwrap();
    let over = voiding.voided(ledger(), NOW).unwrap().change.next;
    let flags = r#""Authorized":false,"Completed":false,"Captured":false}"#;
    assert_eq!(rendered(&over), format!(r#""UnderReview":false,{WINDOW_END}{flags}"#));
}

#[test]
fn a_checkout_tells_where_the_shopper_has_to_go() {
    let page = "https://wallet.example/pay".to_owned();
    let redirected = started(None, "PAYPAL").redirected(page, LATER, NOW).unwrap().change.next;
    let flags = r#""Authorized":false,"Completed":false,"Captured":false"#;
    let action = r#""Action":{"Redirect":"https://wallet.example/pay"}"#;
    assert_eq!(rendered(&redirected), format!(r#""UnderReview":false,{END}{flags},{action}}}"#));
    let voiding = redirected.edited(|parts| parts.voiding = Some(VoidCause::Expired)).unwrap();
    assert!(!rendered(&voiding).contains("Action"), "nobody is sent to a page that is being closed");
    let page = Some("https://pay.example/v1/transfer/1".to_owned());
    let begun = started(None, "BANKTRANSFER").edited(|parts| parts.transfer_page = page).unwrap();
    assert!(!rendered(&begun).contains("Action"), "the account is not known yet");
    let transfer = begun.transfer_awaited(bank_details(), LATER, NOW).unwrap().change.next;
    let action = r#""Action":{"Redirect":"https://pay.example/v1/transfer/1"}"#;
    assert_eq!(rendered(&transfer), format!(r#""UnderReview":false,{END}{flags},{action}}}"#), "no BankDetails");
}

#[test]
fn a_pay_later_review_is_a_review() {
    let reviewed = started(None, "PAYLATER").taken_into_review(NOW).unwrap().change.next;
    let flags = r#""Authorized":false,"Completed":false,"Captured":false}"#;
    assert_eq!(rendered(&reviewed), format!(r#""UnderReview":true,{WINDOW_END}{flags}"#));
    assert_eq!(
        utf_8(checkout_action(&reviewed)),
        format!(r#"{{"OrderId":"{ORDER}","Completed":false,"UnderReview":true}}"#)
    );
    let approved = reviewed.provider_approved(&reviewed.total.clone(), LATER, ledger(), NOW).unwrap().change.next;
    let flags = r#""Authorized":true,"Completed":true,"Captured":false}"#;
    assert_eq!(rendered(&approved), format!(r#""UnderReview":false,{END}{flags}"#), "nobody captures it by itself");
}

#[test]
fn actions_are_completed_when_the_order_is_captured_or_cancelled() {
    let reserved = authorized(&started(None, "VISA"), false);
    let checkout_action = |order: &Order| utf_8(checkout_action(order));
    assert_eq!(checkout_action(&reserved), format!(r#"{{"OrderId":"{ORDER}","Completed":false,"UnderReview":false}}"#));
    for done in [captured(&reserved, 2_990), reserved.edited(|parts| parts.state = OrderState::Cancelled).unwrap()] {
        assert_eq!(checkout_action(&done), format!(r#"{{"OrderId":"{ORDER}","Completed":true,"UnderReview":false}}"#));
    }
}

#[test]
fn a_refusal_names_the_order() {
    let body = utf_8(declined(&started(None, "VISA"), true));
    assert!(body.starts_with(r#"{"Code":"PAYMENT_DECLINED","Message":"#), "{body}");
    assert!(body.ends_with(&format!(r#","OrderId":"{ORDER}"}}"#)), "{body}");
}

#[test]
fn a_failure_that_never_reached_the_processor_blames_no_means_of_payment() {
    let order = started(None, "VISA");
    assert!(utf_8(declined(&order, true)).contains("another means of payment"));
    let unreached = utf_8(declined(&order, false));
    assert!(!unreached.contains("another means of payment") && unreached.contains("ReferenceId"), "{unreached}");
    assert!(unreached.ends_with(&format!(r#","OrderId":"{ORDER}"}}"#)), "{unreached}");
}

#[test]
fn an_order_under_review_says_so_everywhere() {
    let begun = started(None, "PAYLATER");
    let theirs = begun.taken_into_review(NOW).unwrap().change.next;
    let approved = theirs.provider_approved(&theirs.total.clone(), LATER, ledger(), NOW).unwrap().change.next;
    let (ours, free) = (authorized(&begun, true), authorized(&begun, false));
    for (order, held) in [(&begun, false), (&theirs, true), (&approved, false), (&ours, true), (&free, false)] {
        let answers = [
            rendered(order),
            utf_8(checkout_action(order)),
            serde_json::to_string(&OrderBody::brief(order)).unwrap(),
            serde_json::to_string(&OrderBody::captured(order, "UnderReview")).unwrap(),
            utf_8(event::order_changed(OrderEvent::CommitAccepted, order)),
        ];
        for answer in answers {
            assert!(answer.contains(&format!(r#""UnderReview":{held}"#)), "{:?}: {answer}", order.state);
        }
    }
}
