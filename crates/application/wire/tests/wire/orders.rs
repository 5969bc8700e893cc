//! The exact bytes of what a merchant is told of an Order's life: refunds, cancels, hosted pages and bank transfers.

use crate::common::{LATER, NOW, SMALLEST, bank_details, completed, fields, id, in_state, session, started};
use dropin_kernel::{AttemptId, MerchantId, OrderId, RefundId};
use dropin_money::{Amount, Currency};
use dropin_order::{Order, OrderEvent, OrderState, Refund, RefundState};
use dropin_session::{Session, SessionState};
use dropin_wire::event;
use dropin_wire::order::{HistoryEntry, OrderBody, OrderRefundRequest, cancel_refused, cancelled, refund, refund_list};
use dropin_wire::session::SessionBody;

fn text(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).unwrap()
}

fn utf_8(body: Vec<u8>) -> String {
    String::from_utf8(body).unwrap()
}

fn lines(text: &str) -> String {
    text.lines().map(str::trim).collect()
}

fn some_refund(description: Option<&str>) -> Refund {
    Refund {
        id: id::<RefundId>(6),
        order_id: id::<OrderId>(3),
        merchant_id: id::<MerchantId>(2),
        reference: "refund-1".to_owned(),
        amount: Amount::from_minor(Currency::Usd, 1_000).unwrap(),
        settlement: None,
        description: description.map(str::to_owned),
        state: RefundState::InProgress,
        created_at: NOW,
        updated_at: LATER,
    }
}

const REFUND: &str = r#"{"RefundId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809106","RefundReference":"refund-1","State":"IN_PROGRESS",
    "Amount":10.00,"Currency":"USD","CreatedAt":"2026-11-18T11:06:40.000000Z","UpdatedAt":"2026-11-19T11:06:40.000000Z"}"#;

#[test]
fn refunds_one_by_one_and_all() {
    let plain = some_refund(None);
    assert_eq!(utf_8(refund(&plain)), lines(REFUND));
    assert!(
        utf_8(refund(&some_refund(Some("broken")))).contains(r#""Currency":"USD","Description":"broken","CreatedAt""#)
    );
    assert_eq!(text(&refund_list(&[plain])), format!(r#"{{"Refunds":[{}]}}"#, lines(REFUND)));
    assert_eq!(text(&refund_list(&[])), r#"{"Refunds":[]}"#);
}

#[test]
fn refund_events_carry_refund_and_order() {
    let (_, order) = completed(SMALLEST);
    let decided = some_refund(None).decided(true, LATER);
    let body = utf_8(event::refund_changed(OrderEvent::RefundSucceeded, &decided, &order));
    let brief = text(&OrderBody::brief(&order));
    let amounts = r#""Currency":"USD","AuthorizedAmount":29.90,"CapturedAmount":0.00,"RefundedAmount":0.00"#;
    let order = format!(r#"{},{amounts},"CreatedAt":"2026-11-18T11:06:40.000000Z"}}"#, brief.trim_end_matches('}'));
    let refund = lines(REFUND).replace("IN_PROGRESS", "SUCCEEDED");
    assert_eq!(body, format!(r#"{{"EventType":"REFUND_SUCCEEDED","Refund":{refund},"Order":{order}}}"#));
}

#[test]
fn refund_requests_have_a_reference() {
    let parse = |body: &str| OrderRefundRequest::parse(body.as_bytes());
    let all = parse(r#"{"RefundReference":" r-1 ","Amount":5.00,"Description":"broken"}"#).unwrap();
    assert_eq!((all.reference.as_str(), all.amount.unwrap().to_string()), ("r-1", "5.00".to_owned()));
    assert_eq!(all.description.unwrap().as_str(), "broken");
    let least = parse(r#"{"RefundReference":"r-1","Amount":null}"#).unwrap();
    assert!(least.amount.is_none() && least.description.is_none());
    let refused = |body: &str| fields(parse(body).unwrap_err());
    assert_eq!(refused("{}"), ["RefundReference FIELD_MISSING"]);
    assert_eq!(
        refused(r#"{"RefundReference":7,"Amount":"5","Description":[]}"#),
        ["Amount FIELD_INVALID", "Description FIELD_INVALID", "RefundReference FIELD_INVALID"]
    );
    assert_eq!(
        refused(r#"{"RefundReference":" ","Description":"a\u0000b"}"#),
        ["Description FIELD_INVALID", "RefundReference FIELD_MISSING"]
    );
}

#[test]
fn an_order_with_its_life() {
    let (_, order) = completed(SMALLEST);
    let life = [
        HistoryEntry { at: NOW, actor: "SHOPPER", user: None, what: "START", before: None, after: "PROCESSING" },
        HistoryEntry {
            at: LATER,
            actor: "MERCHANT",
            user: Some("ana"),
            what: "CAPTURED",
            before: Some("A"),
            after: "B",
        },
    ];
    let body = text(&OrderBody::with_history(&order, &[some_refund(None)], life));
    let full = text(&OrderBody::full(&order));
    let (refund, history) = (
        lines(REFUND),
        r#"[{"At":"2026-11-18T11:06:40.000000Z","Actor":"SHOPPER","What":"START","After":"PROCESSING"},
        {"At":"2026-11-19T11:06:40.000000Z","Actor":"MERCHANT","User":"ana","What":"CAPTURED","Before":"A","After":"B"}]"#,
    );
    let full = full.trim_end_matches('}');
    assert_eq!(body, format!(r#"{full},"Refunds":[{refund}],"History":{}}}"#, lines(history)));
    assert!(text(&OrderBody::with_history(&order, &[], [])).ends_with(r#""Refunds":[],"History":[]}"#));
}

#[test]
fn a_cancel_that_is_done_that_is_not_yet_and_that_came_too_late() {
    let (_, order) = completed(SMALLEST);
    assert_eq!(utf_8(cancelled(&order, false)), text(&OrderBody::full(&order)));
    let pending = utf_8(cancelled(&order, true));
    assert!(pending.ends_with(r#","Reason":{"Code":"PendingNotification","Retryable":false}}"#), "{pending}");
    let order = order.edited(|parts| parts.state = OrderState::Processed).unwrap();
    let refused = utf_8(cancel_refused(&order));
    assert!(refused.starts_with(r#"{"Code":"INVALID_ORDER_STATE","Message":"#) && refused.contains("PROCESSED"));
}

fn by_transfer() -> (Session, Order) {
    let session = session(SMALLEST);
    let order = started(Some(&session), "BANKTRANSFER");
    let order = order.transfer_awaited(bank_details(), LATER, NOW).unwrap().change.next;
    let state = SessionState::Completed { order: order.id, attempt: id::<AttemptId>(4) };
    (in_state(session, state), order)
}

#[test]
fn bank_details_stand_in_session_answers_and_nowhere_else() {
    let (session, order) = by_transfer();
    let shown = text(&SessionBody::new(&session, Some(&order)));
    let details = r#""UnderReview":false,"BankDetails":{"AccountHolder":"Ana's mugs","Iban":"DE02120300000000202051","PaymentReference":"order-1"}}"#;
    assert!(shown.contains(details) && shown.contains(r#""PaymentMethod":"BANKTRANSFER""#), "{shown}");
    for body in [
        utf_8(event::session_completed(&session, &order)),
        utf_8(event::order_changed(OrderEvent::Processing, &order)),
        utf_8(event::refund_changed(OrderEvent::RefundFailed, &some_refund(None), &order)),
        utf_8(cancelled(&order, true)),
        text(&OrderBody::with_history(&order, &[], [])),
    ] {
        assert!(!body.contains("BankDetails") && !body.contains("DE0212"), "{body}");
    }
}

#[test]
fn a_session_shows_its_page_while_redirected() {
    let session = session(SMALLEST);
    let order = started(Some(&session), "PAYPAL");
    let order = order.redirected("https://wallet.example/pay".to_owned(), LATER, NOW).unwrap().change.next;
    let attempt = id::<AttemptId>(4);
    let shown = |state| text(&SessionBody::new(&in_state(session.clone(), state), Some(&order)));
    let redirected = shown(SessionState::Redirected { order: order.id, attempt });
    assert!(
        redirected.contains(r#""ViaAgent":false,"RedirectUrl":"https://wallet.example/pay","CreatedAt""#),
        "{redirected}"
    );
    assert!(!redirected.contains("\"Order\"") && !redirected.contains("PaymentMethod"), "{redirected}");
    let processing = shown(SessionState::Processing { order: order.id, attempt });
    assert!(!processing.contains("RedirectUrl"), "{processing}");
}
