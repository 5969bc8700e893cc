use std::sync::Arc;

use dropin_kernel::{Change, LedgerTransactionId};
use dropin_money::Currency;
use dropin_order::{Account, LedgerTransaction};
use dropin_ports::{Actor, Changed, OrderChanged, Settled, StoreError};
use dropin_session::Session;

use crate::Harness;
use crate::harness::{approval, capture, captured, changing, outcome};
use crate::values::{at, event, fresh, minor, new_merchant, of_session};

/// A change that moves nothing but the revision, and tells `events` of it.
fn touch(session: &Session) -> Change<Session> {
    Change { next: session.clone().at_revision(session.revision.next()), expected: session.revision }
}

pub async fn sequences_are_dense_and_in_the_order_of_the_changes(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    // Eight writers take turns on one Session, deciding again whenever another was faster.
    let writer = |_| {
        let (harness, id) = (harness.clone(), session.id);
        tokio::spawn(async move {
            let mut written = 0;
            while written < 6 {
                let current = harness.stored(id).await;
                let change = touch(&current);
                let mut told = event(&current, "TEST", at(7));
                told.body = format!("{{\"Revision\":{}}}", change.next.revision.number()).into_bytes();
                let history = of_session(&change.next, "TEST", at(7));
                if harness.sessions.change_session(changing(change, history, vec![told])).await.unwrap()
                    == Changed::Done
                {
                    written += 1;
                }
            }
        })
    };
    for racer in (0..8).map(writer).collect::<Vec<_>>() {
        racer.await.unwrap();
    }
    let mut seen = vec![];
    let mut leased = harness.claim(at(100)).await;
    while let Some(delivery) = leased.pop() {
        seen.push((delivery.key.sequence, String::from_utf8(delivery.body.clone()).unwrap()));
        leased = harness.finish(delivery.key, dropin_ports::DeliveryResult::Acknowledged, at(101)).await;
    }
    let expected: Vec<_> =
        (1..=48).map(|number| (number, format!("{{\"Sequence\":{number},\"Revision\":{}}}", number + 1))).collect();
    assert_eq!(seen, expected, "number n tells of revision n + 1");
}

pub async fn events_exist_without_an_endpoint(harness: Arc<Harness>) {
    let new = new_merchant(false);
    harness.access.insert_merchant(new.clone()).await.unwrap();
    let payment = harness.authorized(new.merchant.id).await;
    let id = payment.session.unwrap().id;
    assert_eq!(harness.count("outbox_event", &format!("payment_id = '{id}'")), 2);
    assert_eq!(harness.count("outbox_stream", "1 = 1"), 0);
    assert_eq!(harness.claim(at(999)).await, vec![]);
}

pub async fn an_event_that_exists_undoes_its_change(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let (first, second) = (harness.session(merchant.id).await, harness.session(merchant.id).await);
    let told = event(&first, "TEST", at(7));
    let change = touch(&first);
    let history = of_session(&change.next, "TEST", at(7));
    assert_eq!(
        harness.sessions.change_session(changing(change, history.clone(), vec![told.clone()])).await,
        Ok(Changed::Done)
    );
    let twice = vec![event(&second, "TEST", at(8)), told];
    let refused = harness.sessions.change_session(changing(touch(&second), history, twice)).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.stored(second.id).await, second);
    assert_eq!(harness.count("outbox_event", "1 = 1"), 1);
}

pub async fn history_tells_every_step(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let session = harness.session(merchant.id).await;
    for actor in
        [Actor::Merchant("Zoë 🔑".to_owned()), Actor::Shopper, Actor::Operator("Bob".to_owned()), Actor::System]
    {
        let current = harness.stored(session.id).await;
        let change = touch(&current);
        let mut history = of_session(&change.next, "TEST", at(7));
        (history.actor, history.before) = (actor, Some("CREATED"));
        assert_eq!(harness.sessions.change_session(changing(change, history, vec![])).await, Ok(Changed::Done));
    }
    let told = harness.raw.values(&format!(
        "SELECT subject_kind || ' ' || actor_kind || ' ' || coalesce(actor_name, '-') || ' ' || what || ' ' \
         || coalesce(state_before, '-') || ' ' || state_after AS value FROM history WHERE subject_id = '{}' ORDER BY position",
        session.id
    ));
    assert_eq!(
        told,
        [
            "SESSION MERCHANT user-1 CREATE - CREATED",
            "SESSION MERCHANT Zoë 🔑 TEST CREATED CREATED",
            "SESSION SHOPPER - TEST CREATED CREATED",
            "SESSION OPERATOR Bob TEST CREATED CREATED",
            "SESSION SYSTEM - TEST CREATED CREATED",
        ]
    );
}

pub async fn what_is_written_stays_as_it_is(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    harness.authorized(merchant.id).await;
    for statement in [
        "UPDATE history SET what = 'NOTHING'",
        "DELETE FROM history",
        "UPDATE ledger_posting SET currency = 'EUR'",
        "DELETE FROM ledger_posting",
        "UPDATE outbox_event SET event_type = 'OTHER'",
        "UPDATE outbox_event SET sequence = sequence + 10",
    ] {
        let refused = harness.raw.execute(statement);
        let why = refused.expect_err(statement);
        assert!(why.contains("append"), "{statement}: {why}");
    }
    for table in ["history", "ledger_posting", "outbox_event"] {
        harness.cannot_be_replaced(table);
    }
    let kept = ["history", "ledger_posting", "outbox_event"].map(|table| harness.count(table, "1 = 1"));
    assert_eq!(kept, [5, 1, 2]);
}

pub async fn the_ledger_sums_to_zero(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let taken = capture(&payment, Some(&minor(Currency::Usd, 1_000)), at(30));
    assert_eq!(harness.ask(&taken).await, Ok(OrderChanged::Done));
    let (change, ledger) = captured(&taken.order.next, &taken.operation, at(31));
    assert_eq!(ledger.len(), 2, "taken, and the rest released");
    let mut settlement = outcome(taken.operation.id, dropin_order::OpState::Approved, at(31));
    (settlement.order, settlement.ledger) = (Some(change), ledger);
    assert_eq!(harness.payments.settle(settlement).await, Ok(Settled::Done));
    let balances = harness.ledger_balances();
    assert_eq!(balances, ["AUTHORIZED 0", "CAPTURED 1000", "SHOPPER -1000"]);
}

pub async fn unbalanced_entries_are_refused(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let payment = harness.authorized(merchant.id).await;
    let posted = harness.raw.values("SELECT CAST(id AS TEXT) AS value FROM ledger_posting");
    for account in Account::ALL {
        let column = format!("{}_minor", account.as_str().to_lowercase());
        let more =
            "shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor, charged_back_minor";
        let moved = more.replace(&column, &format!("{column} + 5"));
        let copy = format!(
            "INSERT INTO ledger_posting (id, order_id, currency, {more}, posted_at) \
             SELECT order_id, order_id, currency, {moved}, posted_at FROM ledger_posting"
        );
        let why = harness.raw.execute(&copy).expect_err("one account more than the others lost");
        assert!(why.contains("ledger_posting_balanced"), "{column}: {why}");
    }
    // A transaction that fails undoes its whole settlement: the same posting twice.
    let again = harness.submitted(merchant.id).await;
    let mut settlement = approval(&again);
    let id = LedgerTransactionId::new(posted[0].parse().unwrap());
    let total = &payment.order.total;
    let twice = LedgerTransaction::transfer(id, again.order.id, Account::Shopper, Account::Authorized, total, at(9));
    settlement.ledger = vec![twice];
    let refused = harness.payments.settle(settlement).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    assert_eq!(harness.payments.find_payment(again.operation.id).await, Ok(Some(again)));
}

pub async fn the_database_guards_the_amounts(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let order = harness.authorized(merchant.id).await.order;
    for (columns, rule) in [
        ("captured_minor = 2991", "captured_within_authorized"),
        ("capture_pending_minor = 2991", "captured_within_authorized"),
        ("captured_minor = 2000, capture_pending_minor = 991", "captured_within_authorized"),
        ("authorized_minor = 2991", "authorized_within_total"),
        ("refunded_minor = 1", "refunded_within_captured"),
        ("captured_minor = 100, refunded_minor = 60, refund_pending_minor = 41", "refunded_within_captured"),
        ("captured_minor = -1", "captured_not_negative"),
        ("captured_minor = 9, capture_pending_minor = -1", "capture_pending_not_negative"),
        ("authorized_minor = -1, captured_minor = -2", "not_negative"),
        ("captured_minor = 9, refunded_minor = -1", "refunded_not_negative"),
        ("captured_minor = 9, refunded_minor = 5, refund_pending_minor = -1", "refund_pending_not_negative"),
        ("total_minor = -1, authorized_minor = -1", "not_negative"),
    ] {
        let why = harness.raw.execute(&format!("UPDATE purchase_order SET {columns}")).expect_err(columns);
        assert!(why.contains(rule), "{columns}: {why}");
    }
    assert_eq!(harness.find_order(merchant.id, order.id).await, Ok(Some(order)));
    harness.raw.execute("UPDATE purchase_order SET captured_minor = 2000, capture_pending_minor = 990").unwrap();
}

/// A step like each that is there, with that kind of subject, and that kind and name of who did it.
fn of_history(who: &str) -> String {
    format!(
        "INSERT INTO history (merchant_id, subject_id, what, state_after, happened_at, subject_kind, actor_kind, actor_name) \
         SELECT merchant_id, subject_id, what, state_after, happened_at, {who} FROM history"
    )
}

pub async fn the_database_guards_the_states(harness: Arc<Harness>) {
    let (merchant, _) = harness.merchant().await;
    let created = harness.session(merchant.id).await;
    harness.submitted(merchant.id).await;
    let nobody = fresh();
    for (state, columns, rule) in [
        ("CREATED", "state = 'PAID'".to_owned(), "state_known"),
        ("CREATED", "state = 'PROCESSING'".to_owned(), "attempt_fits_state"),
        ("CREATED", "state = 'CANCELLED'".to_owned(), "reason_fits_state"),
        ("CREATED", "cancel_reason = 'EXPIRED'".to_owned(), "reason_fits_state"),
        ("CREATED", "state = 'CANCELLED', cancel_reason = 'BORED'".to_owned(), "cancel_reason_known"),
        ("PROCESSING", "state = 'CREATED'".to_owned(), "attempt_fits_state"),
        ("PROCESSING", "attempt_id = NULL".to_owned(), "attempt_fits_state"),
        ("PROCESSING", "state = 'FAILED'".to_owned(), "reason_fits_state"),
        ("PROCESSING", "state = 'FAILED', failure_reason = 'LUCK'".to_owned(), "failure_reason_known"),
        ("PROCESSING", "revision = 0".to_owned(), "revision_positive"),
        ("PROCESSING", "currency = 'usd'".to_owned(), "currency_code"),
        ("CREATED", "total_minor = -1".to_owned(), "session_total_not_negative"),
        ("CREATED", "attempts_allowed = 21".to_owned(), "attempts_allowed_bounded"),
        ("CREATED", "attempts_failed = 1".to_owned(), "last_attempt_told"),
        (
            "CREATED",
            format!("attempts_failed = 21, last_attempt_id = '{nobody}', last_failure = 'INVALID_CARD'"),
            "attempts_counted",
        ),
        (
            "CREATED",
            format!("attempts_failed = 1, last_attempt_id = '{nobody}', last_failure = 'LUCK'"),
            "last_failure_known",
        ),
        ("PROCESSING", format!("order_id = '{nobody}'"), ""),
    ] {
        let why = harness.raw.execute(&format!("UPDATE session SET {columns} WHERE state = '{state}'"));
        let why = why.expect_err(&columns);
        assert!(why.contains(rule), "{columns}: {why}");
    }
    for (statement, rule) in [
        ("UPDATE purchase_order SET state = 'PAID'", "state_known"),
        ("UPDATE processor_op SET state = 'LOST'", "state_known"),
        ("UPDATE processor_op SET kind = 'GIFT', authorization_id = id", "kind_known"),
        ("UPDATE processor_op SET kind = 'CAPTURE'", "authorization_fits_kind"),
        ("UPDATE purchase_order SET voiding = 'BORED'", "voiding_known"),
        ("UPDATE purchase_order SET capture_promised_minor = 0", "capture_promised_positive"),
        ("UPDATE purchase_order SET state = 'PROCESSED', page = 'https://bank.example/'", "page_fits_state"),
        ("UPDATE purchase_order SET bank_details = '{}'", "bank_details_shown"),
        ("UPDATE processor_op SET kind = 'REFUND', authorization_id = id", "refund_fits_kind"),
        ("UPDATE processor_op SET channel = 'PHONE'", "channel_known"),
        ("UPDATE processor_op SET amount_minor = -1", "processor_op_amount_not_negative"),
        ("UPDATE processor_op SET epoch = -1", "epoch_not_negative"),
        ("UPDATE processor_op SET tries = -1", "tries_not_negative"),
        ("UPDATE processor_op SET processor_id = ''", "processor_id_length"),
        ("UPDATE processor_op SET processor_reference = ''", "processor_reference_length"),
        ("UPDATE purchase_order SET failure = 'INVALID_CARD'", "failure_fits_state"),
        ("UPDATE purchase_order SET state = 'PROCESSING_FAILED', failure = 'LUCK'", "purchase_order_failure_known"),
        ("UPDATE purchase_order SET revision = 0", "purchase_order_revision_positive"),
        ("UPDATE purchase_order SET currency = 'usd'", "purchase_order_currency_code"),
        ("UPDATE purchase_order SET card_last_four = '42'", "card_last_four_digits"),
        ("UPDATE processor_op SET currency = 'usd'", "processor_op_currency_code"),
        (&of_history("'CARD', 'SYSTEM', NULL"), "history_subject_known"),
        (&of_history("'ORDER', 'NOBODY', NULL"), "history_actor_known"),
        (&of_history("'ORDER', 'SHOPPER', 'somebody'"), "history_actor_named"),
        ("DELETE FROM merchant", ""),
    ] {
        let why = harness.raw.execute(statement).expect_err(statement);
        assert!(why.contains(rule), "{statement}: {why}");
    }
    assert_eq!(harness.stored(created.id).await, created);
}
