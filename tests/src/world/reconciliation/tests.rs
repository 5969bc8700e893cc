//! Every rule can fail: two sides that agree, and the same with one thing wrong.

use serde_json::{Value, json};

use super::{Journal, Reconciliation, ShownOrder, ShownSession, thousandths};

/// One Order of 29.90 that was captured whole, and of which 10.00 went back.
struct Case {
    journal: Vec<Value>,
    order: Value,
    sessions: Value,
}

fn line(key: &str, kind: &str, outcome: &str, amount: f64) -> Value {
    let mut line = json!({"Number": 0, "Key": key, "Kind": kind, "Outcome": outcome, "Amount": amount, "Currency": "USD", "OrderId": "order"});
    if kind != "AUTHORIZE" {
        line["AuthorizationKey"] = json!("a");
    }
    line
}

fn order(state: &str, [authorized, captured, refunded]: [f64; 3]) -> Value {
    json!({
        "OrderId": "order", "State": state, "SessionId": "session", "MerchantReference": "1", "Currency": "USD",
        "AuthorizedAmount": authorized, "CapturedAmount": captured, "RefundedAmount": refunded,
    })
}

impl Case {
    fn of(state: &str, amounts: [f64; 3], journal: Vec<Value>) -> Self {
        let sessions =
            json!([{"SessionId": "session", "State": "COMPLETED", "Order": {"OrderId": "order", "State": state}}]);
        Self { journal, order: order(state, amounts), sessions }
    }

    fn paid() -> Self {
        let journal = vec![
            line("a", "AUTHORIZE", "APPROVED", 29.9),
            line("c", "CAPTURE", "PENDING", 29.9),
            line("c", "CAPTURE", "APPROVED", 29.9),
            line("r", "REFUND", "APPROVED", 10.0),
        ];
        Self::of("PROCESSED", [29.9, 29.9, 10.0], journal)
    }

    fn hidden(journal: Vec<Value>) -> Self {
        let sessions = json!([{"SessionId": "session", "State": "FAILED"}]);
        Self { journal, order: Value::Null, sessions }
    }

    fn discrepancies(&self) -> Vec<String> {
        // Through text, as in life: amounts are read as they were written.
        let journal = Value::from(self.journal.clone()).to_string();
        let shown: Option<ShownOrder> = serde_json::from_str(&self.order.to_string()).unwrap();
        let sessions: Vec<ShownSession> = serde_json::from_str(&self.sessions.to_string()).unwrap();
        let mut reconciliation = Reconciliation {
            journal: Journal { entries: serde_json::from_str(&journal).unwrap() },
            ..Reconciliation::default()
        };
        reconciliation.orders.extend(shown.map(|order| (order.order_id.clone(), vec![order])));
        reconciliation.sessions.extend(sessions.into_iter().map(|session| (session.session_id.clone(), session)));
        reconciliation.discrepancies()
    }
}

#[test]
fn sides_that_agree_have_no_discrepancy() {
    let approved = || line("a", "AUTHORIZE", "APPROVED", 29.9);
    let mut paid_at_once = approved();
    paid_at_once["Captured"] = json!(true);
    let mut tombstone = json!({"Number": 0, "Key": "t", "Kind": "AUTHORIZE", "Outcome": "ABANDONED"});
    for (name, case) in [
        ("captured and refunded", Case::paid()),
        ("waits", Case::of("PAYMENT_AUTHORIZED", [29.9, 0.0, 0.0], vec![approved()])),
        ("voided", Case::of("CANCELLED", [29.9, 0.0, 0.0], vec![approved(), line("v", "VOID", "APPROVED", 29.9)])),
        (
            "paid at once",
            Case::of("PROCESSED", [29.9, 29.9, 0.0], vec![line("a", "AUTHORIZE", "PENDING", 29.9), paid_at_once]),
        ),
        ("verified", Case::of("PROCESSED", [0.0; 3], vec![line("a", "AUTHORIZE", "APPROVED", 0.0)])),
        ("awaited", Case::of("PROCESSING", [0.0; 3], vec![line("a", "AUTHORIZE", "PENDING", 29.9)])),
        (
            "stopped",
            Case::of(
                "CANCELLED",
                [0.0; 3],
                vec![
                    line("a", "AUTHORIZE", "PENDING", 29.9),
                    line("v", "VOID", "APPROVED", 29.9),
                    line("a", "AUTHORIZE", "DECLINED", 29.9),
                ],
            ),
        ),
        (
            "capture refused",
            Case::of("PROCESSING_FAILED", [29.9, 0.0, 0.0], vec![approved(), line("c", "CAPTURE", "DECLINED", 29.9)]),
        ),
        ("declined", Case::hidden(vec![line("a", "AUTHORIZE", "DECLINED", 29.9)])),
        ("given up", Case::hidden(vec![approved(), line("v", "VOID", "APPROVED", 29.9)])),
        ("nothing", Case::hidden(vec![tombstone.take()])),
    ] {
        assert_eq!(case.discrepancies(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn everything_wrong_is_noticed() {
    type Wrong = (&'static str, fn(&mut Case));
    let wrongs: &[Wrong] = &[
        ("was authorized 2 times", |case| case.journal.push(line("b", "AUTHORIZE", "APPROVED", 29.9))),
        ("captured by 2", |case| case.journal.push(line("d", "CAPTURE", "APPROVED", 29.9))),
        ("captured by 2", |case| case.journal.push(line("d", "CAPTURE", "PENDING", 1.0))),
        ("1 voids", |case| case.journal.push(line("v", "VOID", "APPROVED", 29.9))),
        ("39900 refunded", |case| case.journal.push(line("s", "REFUND", "APPROVED", 29.9))),
        ("the processor did [29900, 29900, 10001]", |case| {
            case.journal.push(line("s", "REFUND", "APPROVED", 0.001));
        }),
        ("the processor did [29900, 0, 0]", |case| case.journal.truncate(1)),
        ("the merchant is told [29900, 29800, 10000]", |case| case.order["CapturedAmount"] = json!(29.8)),
        ("the merchant is told", |case| case.order["Currency"] = json!("EUR")),
        ("Order order is PAYMENT_AUTHORIZED", |case| case.order["State"] = json!("PAYMENT_AUTHORIZED")),
        ("Order order is CANCELLED", |case| case.order["State"] = json!("CANCELLED")),
        ("Order order is PROCESSING_FAILED", |case| case.order["State"] = json!("PROCESSING_FAILED")),
        ("Order order is DECLINED", |case| case.order["State"] = json!("DECLINED")),
        ("Order order is PROCESSING,", |case| case.order["State"] = json!("PROCESSING")),
        ("Order order is COMMIT_ACCEPTED", |case| case.order["State"] = json!("COMMIT_ACCEPTED")),
        ("Order order is shown to nobody", |case| case.order = Value::Null),
        ("of whom there is no such Order", |case| case.order = Value::Null),
        ("of Session session, which is FAILED", |case| case.sessions[0]["State"] = json!("FAILED")),
        ("of Session session, which is unknown", |case| case.sessions = json!([])),
        ("of Session session, which is COMPLETED", |case| case.sessions[0]["Order"]["State"] = json!("CANCELLED")),
        ("of Session session, which is COMPLETED", |case| case.sessions[0]["Order"]["OrderId"] = json!("other")),
        ("Session later is COMPLETED", |case| {
            let later = json!({"SessionId": "later", "State": "COMPLETED"});
            case.sessions.as_array_mut().unwrap().push(later);
        }),
        ("key c ended more than once", |case| case.journal.push(line("c", "CAPTURE", "APPROVED", 29.9))),
        ("key c changed what it is about", |case| case.journal[1]["Amount"] = json!(1)),
        ("CAPTURE c is APPROVED of None", |case| case.journal[2]["AuthorizationKey"] = json!("nobody's")),
        ("REFUND r is APPROVED of Some", |case| case.journal[3]["OrderId"] = json!("other")),
        ("is APPROVED of Some", |case| case.journal[0]["Outcome"] = json!("DECLINED")),
        ("authorization b is APPROVED for no Order", |case| {
            case.journal.push(json!({"Number": 0, "Key": "b", "Kind": "AUTHORIZE", "Outcome": "APPROVED"}));
        }),
    ];
    for (words, make_wrong) in wrongs {
        let mut case = Case::paid();
        make_wrong(&mut case);
        let discrepancies = case.discrepancies();
        assert!(discrepancies.iter().any(|one| one.contains(words)), "{words}: {discrepancies:#?}");
    }
}

#[test]
fn money_for_nobody_is_noticed() {
    for kept in [
        vec![line("a", "AUTHORIZE", "APPROVED", 29.9)],
        vec![line("a", "AUTHORIZE", "APPROVED", 29.9), line("v", "VOID", "DECLINED", 29.9)],
        vec![line("a", "AUTHORIZE", "APPROVED", 29.9), line("c", "CAPTURE", "APPROVED", 29.9)],
    ] {
        let discrepancies = Case::hidden(kept).discrepancies();
        assert!(discrepancies.iter().any(|one| one.contains("is shown to nobody")), "{discrepancies:?}");
    }
}

#[test]
fn decimals_are_exact() {
    for (token, exact) in [("29.90", 29_900), ("30", 30_000), ("0.001", 1), ("999999999999.999", 999_999_999_999_999)] {
        assert_eq!(thousandths(token), exact);
    }
    for wrong in ["1e3", "0.0001", "", "-"] {
        assert!(std::panic::catch_unwind(|| thousandths(wrong)).is_err(), "{wrong}");
    }
}
