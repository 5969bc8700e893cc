//! Lives as the domain makes them are clean; every sort of disagreement is seeded and seen.

mod credentials;
mod lifecycles;
mod records;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{OpId, Revision};
use dropin_money::{Amount, Currency};
use dropin_order::{Account, FailureReason, OpKind, OpState, OrderState, RefundState, VoidCause};
use dropin_ports::{AuditedOrder, JournalEntry, JournalUnavailable, ProcessorJournal};

use self::lifecycles::{At, AuditFixture, NOW, OrderLifecycle, fresh, id, usd};
use super::{Audit, AuditError, Disagreement, Report};

async fn report(fixture: AuditFixture, with_journal: bool, after: Duration) -> Report {
    let fixture = Arc::new(fixture);
    let journal = with_journal.then(|| fixture.clone() as Arc<dyn ProcessorJournal>);
    Audit { store: fixture, journal, credentials: None, clock: Arc::new(At(NOW.plus(after))) }.verify().await.unwrap()
}

/// What is found of one lifecycle, with and without the processor's journal.
async fn found(lifecycle: &OrderLifecycle, with_journal: bool) -> Vec<Disagreement> {
    let report = report(AuditFixture::of(std::slice::from_ref(lifecycle)), with_journal, Duration::ZERO).await;
    assert_eq!(report.found as usize, report.findings.len());
    report.findings.iter().map(|finding| finding.what).collect()
}

/// Both see exactly that.
async fn assert_found(lifecycle: &OrderLifecycle, what: &str, expected: &[Disagreement]) {
    for with_journal in [false, true] {
        assert_eq!(found(lifecycle, with_journal).await, expected, "{what}, journal: {with_journal}");
    }
}

/// Only the journal shows that.
async fn assert_journal_shows(lifecycle: &OrderLifecycle, what: &str, expected: &[Disagreement]) {
    assert_eq!(found(lifecycle, false).await, [], "{what}");
    assert_eq!(found(lifecycle, true).await, expected, "{what}");
}

fn sound_lifecycles() -> Vec<(&'static str, OrderLifecycle)> {
    let declined = {
        let mut lifecycle = OrderLifecycle::start();
        lifecycle.step(lifecycle.order.refused(FailureReason::Declined, NOW).unwrap());
        lifecycle.last(OpKind::Authorize).state = OpState::Declined;
        lifecycle
    };
    let capture_refused = {
        let mut lifecycle = OrderLifecycle::capturing(3_000);
        lifecycle.last(OpKind::Capture).state = OpState::Declined;
        lifecycle.step(lifecycle.order.capture_refused(&usd(3_000), false, id(), NOW).unwrap());
        lifecycle
    };
    let refund_failed = {
        let mut lifecycle = OrderLifecycle::captured(3_000).refunding(500);
        lifecycle.last(OpKind::Refund).state = OpState::Declined;
        lifecycle.refunds[0] = lifecycle.refunds[0].decided(false, NOW);
        lifecycle.step(lifecycle.order.refund_failed(&usd(500), NOW).unwrap());
        lifecycle
    };
    let late = {
        let mut lifecycle = OrderLifecycle::late();
        let void = lifecycle.operations[0].void(OpId::new(fresh()), NOW, NOW);
        lifecycle.operations.push(void);
        lifecycle
    };
    let less_accepted = {
        let mut lifecycle = OrderLifecycle::authorized(usd(2_000));
        lifecycle.step(lifecycle.order.approve_review(NOW).unwrap());
        lifecycle
    };
    let less_taken = {
        let mut lifecycle = OrderLifecycle::capturing(3_000);
        lifecycle.approve(OpKind::Capture, Some(usd(2_900)));
        lifecycle.step(lifecycle.order.captured(&usd(3_000), &usd(2_900), id(), id(), NOW).unwrap());
        lifecycle
    };
    let provider = {
        let mut lifecycle = OrderLifecycle::start();
        lifecycle.step(lifecycle.order.taken_into_review(NOW).unwrap());
        let waiting = lifecycle.clone();
        lifecycle.approve(OpKind::Authorize, Some(usd(3_000)));
        lifecycle.step(lifecycle.order.provider_approved(&usd(3_000), NOW, id(), NOW).unwrap());
        (waiting, lifecycle)
    };
    vec![
        ("started", OrderLifecycle::start()),
        ("declined", declined),
        ("authorized", OrderLifecycle::authorized(usd(3_000))),
        ("less authorized", OrderLifecycle::authorized(usd(2_000))),
        ("less accepted by a reviewer", less_accepted),
        ("capturing", OrderLifecycle::capturing(3_000)),
        ("captured", OrderLifecycle::captured(3_000)),
        ("captured in part", OrderLifecycle::captured(1)),
        ("less taken, accepted by a reviewer", less_taken),
        ("capture refused for good", capture_refused),
        ("refunding", OrderLifecycle::captured(3_000).refunding(500)),
        ("refunded twice", OrderLifecycle::captured(3_000).refunded(500).refunded(2_500)),
        ("refund failed", refund_failed),
        ("voiding", OrderLifecycle::authorized(usd(3_000)).voiding()),
        ("voided", OrderLifecycle::authorized(usd(3_000)).voided()),
        ("paid", OrderLifecycle::paid()),
        ("paid and refunded", OrderLifecycle::paid().refunded(3_000)),
        ("approved late, and being voided", late),
        ("in the provider's review", provider.0),
        ("approved by the provider", provider.1),
    ]
}

#[tokio::test]
async fn lifecycles_as_the_domain_makes_them_are_clean() {
    for (what, lifecycle) in sound_lifecycles() {
        assert_found(&lifecycle, what, &[]).await;
    }
    let lifecycles: Vec<_> = sound_lifecycles().into_iter().map(|(_, lifecycle)| lifecycle).collect();
    let report = report(AuditFixture::of(&lifecycles), true, Duration::ZERO).await;
    assert_eq!(report.findings, vec![]);
    let operations = || lifecycles.iter().flat_map(|lifecycle| &lifecycle.operations);
    let open = operations().filter(|operation| operation.state.is_open()).count();
    let entries = lifecycles.iter().map(|lifecycle| lifecycle.journal.len()).sum::<usize>();
    let counted = [report.orders, report.operations, report.open, report.journal_entries.unwrap()];
    assert_eq!(counted, [lifecycles.len(), operations().count(), open, entries].map(|count| count as u64));
    assert_eq!(open, 6, "started, capturing, refunding, voiding, voiding late, reviewed");
}

#[tokio::test]
async fn a_ledger_that_says_something_else_is_seen() {
    for (from, to, accounts) in [
        (Account::Shopper, Account::Authorized, 2),
        (Account::Captured, Account::Refunded, 2),
        (Account::Authorized, Account::Captured, 2),
    ] {
        let mut lifecycle = OrderLifecycle::captured(3_000);
        lifecycle.post(from, to, &usd(1));
        assert_found(&lifecycle, "an entry too many", &vec![Disagreement::Ledger; accounts]).await;
    }
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000));
    lifecycle.ledger.clear();
    assert_found(&lifecycle, "nothing posted", &[Disagreement::Ledger; 2]).await;
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000));
    lifecycle.post(Account::Shopper, Account::Captured, &Amount::from_minor(Currency::Eur, 5).unwrap());
    assert_found(&lifecycle, "another currency", &[Disagreement::Ledger; 2]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000);
    lifecycle.unbalanced.push(id());
    assert_found(&lifecycle, "unbalanced", &[Disagreement::UnbalancedTransaction]).await;
    // Released at the end of its lifecycle, and not before.
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000)).voided();
    lifecycle.ledger.pop();
    assert_found(&lifecycle, "not released", &[Disagreement::Ledger; 2]).await;
}

#[tokio::test]
async fn amounts_that_do_not_fit_the_state_are_seen() {
    use Disagreement::{Ledger, Operations, State, UnexplainedMoney};
    let with = |mut lifecycle: OrderLifecycle, state| {
        lifecycle.edit(|order| order.state = state);
        lifecycle
    };
    let authorized = || OrderLifecycle::authorized(usd(3_000));
    let nothing = with(authorized(), OrderState::Processed);
    assert_found(&nothing, "PROCESSED with nothing captured", &[Ledger, Ledger, State]).await;
    let waiting = with(authorized(), OrderState::Processing);
    assert_found(&waiting, "PROCESSING with money", &[State, UnexplainedMoney]).await;
    let unpaid = with(OrderLifecycle::start(), OrderState::PaymentAuthorized);
    assert_found(&unpaid, "PAYMENT_AUTHORIZED with nothing", &[State]).await;
    let taken = with(OrderLifecycle::captured(3_000), OrderState::Cancelled);
    assert_found(&taken, "CANCELLED with captured money", &[State, UnexplainedMoney]).await;
    let mut more = authorized();
    more.edit(|order| order.total = usd(2_999));
    more.operations[0].amount = usd(2_999);
    assert_eq!(found(&more, false).await, [State, Operations], "more than the total");
    let mut held = authorized();
    held.edit(|order| order.voiding = Some(VoidCause::Expired));
    assert_found(&held, "a void that nobody carries out", &[State]).await;
    assert_eq!(held.order.revision, Revision::new(2));
}

#[tokio::test]
async fn operations_that_the_amounts_do_not_tell_of_are_seen() {
    use Disagreement::{Ledger, Operations, State, UnexplainedMoney};
    let mut lifecycle = OrderLifecycle::capturing(3_000);
    lifecycle.amounts(|minor| minor[3] = 2_000);
    assert_found(&lifecycle, "less reserved than asked for", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::capturing(3_000);
    lifecycle.operations.pop();
    assert_found(&lifecycle, "reserved for nothing", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::captured(2_000);
    lifecycle.amounts(|minor| minor[1] = 2_001);
    assert_found(&lifecycle, "more captured than asked for", &[Ledger, Ledger, Operations]).await;
    let mut lifecycle = OrderLifecycle::capturing(3_000);
    lifecycle.approve(OpKind::Capture, Some(usd(3_000)));
    assert_found(&lifecycle, "a capture that is not written down", &[Operations, Operations]).await;
    let mut lifecycle = OrderLifecycle::captured(2_000);
    lifecycle.amounts(|minor| minor[1] = 1_999);
    lifecycle.ledger.clear();
    lifecycle.post(Account::Shopper, Account::Captured, &usd(1_999));
    assert_journal_shows(&lifecycle, "less than the processor took", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::captured(1_000);
    let again = lifecycle.operations[0].capture(OpId::new(fresh()), usd(1_000), NOW, NOW);
    lifecycle.operations.push(again);
    lifecycle.approve(OpKind::Capture, Some(usd(1_000)));
    assert_eq!(found(&lifecycle, true).await, [Operations, Operations], "captured twice");
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000));
    lifecycle.operations[0].state = OpState::Declined;
    lifecycle.journal.clear();
    assert_found(&lifecycle, "authorized by nobody", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000)).voiding();
    lifecycle.approve(OpKind::Void, None);
    assert_found(&lifecycle, "voided and alive", &[State, Operations]).await;
    let lifecycle = OrderLifecycle::late();
    assert_found(&lifecycle, "authorized too late and not voided", &[UnexplainedMoney]).await;
    let mut lifecycle = OrderLifecycle::late();
    lifecycle.journal[0].captured = true;
    let void = lifecycle.operations[0].void(OpId::new(fresh()), NOW, NOW);
    lifecycle.operations.push(void);
    assert_journal_shows(&lifecycle, "paid too late", &[UnexplainedMoney]).await;
    let mut lifecycle = OrderLifecycle::late();
    lifecycle.operations[0].state = OpState::Unknown;
    assert_eq!(found(&lifecycle, true).await, [], "authorized too late, and about to be voided");
    lifecycle.journal[0].captured = true;
    assert_journal_shows(&lifecycle, "paid too late, and nobody has given it back", &[UnexplainedMoney]).await;
}

#[tokio::test]
async fn refunds_that_do_not_add_up_are_seen() {
    use Disagreement::{Ledger, Operations, Refunds};
    let mut lifecycle = OrderLifecycle::captured(3_000).refunded(500);
    lifecycle.refunds[0].amount = usd(400);
    assert_found(&lifecycle, "another amount in the refund", &[Refunds]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000).refunded(500);
    lifecycle.refunds.clear();
    assert_found(&lifecycle, "no refund", &[Refunds, Refunds]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000).refunding(500);
    lifecycle.refunds[0].state = RefundState::Failed;
    assert_found(&lifecycle, "failed, and still asked for", &[Refunds, Refunds]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000).refunding(500);
    lifecycle.last(OpKind::Refund).state = OpState::Declined;
    assert_found(&lifecycle, "in progress, and asked of nobody", &[Operations, Refunds]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000).refunded(500);
    lifecycle.amounts(|minor| minor[2] = 600);
    assert_found(&lifecycle, "more refunded", &[Ledger, Ledger, Refunds, Operations]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000).refunded(500);
    lifecycle.last(OpKind::Refund).state = OpState::Abandoned;
    lifecycle.journal.pop();
    assert_found(&lifecycle, "given back by nobody", &[Refunds, Operations]).await;
}

#[tokio::test]
async fn what_only_one_side_knows_of_is_seen() {
    use Disagreement::{Duplicate, Mismatch, MissingLocally, NotAtProcessor, Operations};
    let mut lifecycle = OrderLifecycle::captured(3_000);
    lifecycle.journal.pop();
    assert_eq!(found(&lifecycle, true).await, [NotAtProcessor], "a capture that was never made");
    assert_eq!(found(&lifecycle, false).await, [], "nobody asked");
    let mut lifecycle = OrderLifecycle::captured(3_000);
    let mut strange = lifecycle.journal[1].clone();
    strange.key = OpId::new(fresh());
    lifecycle.journal.push(strange);
    assert_journal_shows(&lifecycle, "a key that nobody here knows", &[MissingLocally]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000);
    let twice = lifecycle.journal[1].clone();
    lifecycle.journal.push(twice);
    assert_journal_shows(&lifecycle, "twice", &[Duplicate]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000);
    lifecycle.journal[1].kind = "REFUND".to_owned();
    assert_journal_shows(&lifecycle, "another kind", &[Mismatch]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000);
    lifecycle.journal[1].authorization = Some(OpId::new(fresh()));
    assert_journal_shows(&lifecycle, "another authorization", &[Mismatch]).await;
    let mut lifecycle = OrderLifecycle::captured(3_000);
    lifecycle.journal[1].amount = Some(usd(2_000));
    assert_journal_shows(&lifecycle, "another amount", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000));
    lifecycle.journal[0].amount = Some(usd(4_000));
    assert_journal_shows(&lifecycle, "more authorized", &[Mismatch]).await;
    let mut lifecycle = OrderLifecycle::authorized(usd(3_000));
    lifecycle.journal[0].amount = Some(usd(2_000));
    assert_journal_shows(&lifecycle, "less authorized than counts", &[Operations]).await;
    let mut lifecycle = OrderLifecycle::authorized(Amount::from_minor(Currency::Eur, 3_000).unwrap());
    assert_journal_shows(&lifecycle, "another currency", &[Mismatch]).await;
    lifecycle = OrderLifecycle::capturing(3_000);
    lifecycle.approve(OpKind::Capture, Some(usd(3_000)));
    lifecycle.last(OpKind::Capture).state = OpState::Declined;
    lifecycle.step(lifecycle.order.capture_refused(&usd(3_000), true, id(), NOW).unwrap());
    assert_journal_shows(&lifecycle, "approved there, declined here", &[MissingLocally]).await;
    let mut lifecycle = OrderLifecycle::capturing(3_000);
    lifecycle.approve(OpKind::Capture, Some(usd(2_000)));
    lifecycle.last(OpKind::Capture).state = OpState::Unknown;
    assert_journal_shows(&lifecycle, "another amount, waiting for a reviewer", &[Mismatch]).await;
}

#[tokio::test]
async fn what_is_open_is_counted_until_it_is_stuck() {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let open = |state| {
        let mut lifecycle = OrderLifecycle::capturing(3_000);
        lifecycle.approve(OpKind::Capture, Some(usd(3_000)));
        lifecycle.last(OpKind::Capture).state = state;
        AuditFixture::of(&[lifecycle])
    };
    for state in [OpState::Prepared, OpState::Unknown, OpState::Pending] {
        let young = report(open(state), true, minutes(10)).await;
        assert_eq!((young.findings, young.open), (vec![], 1));
        let old = report(open(state), true, minutes(11)).await;
        assert_eq!((old.findings[0].what, old.found), (Disagreement::Stuck, 1));
        assert!(old.findings[0].words.contains("did 30.00 USD"), "{}", old.findings[0].words);
    }
    // A transfer is waited for for days, and looked for every minute.
    let mut waiting = OrderLifecycle::start();
    waiting.operations[0].state = OpState::Pending;
    waiting.operations[0].due_at = NOW.plus(minutes(1_000));
    assert!(report(AuditFixture::of(&[waiting.clone()]), true, minutes(1_001)).await.is_clean());
    assert_eq!(report(AuditFixture::of(&[waiting]), true, minutes(1_011)).await.found, 1);
}

#[tokio::test]
async fn what_is_approved_while_the_books_are_read_is_no_disagreement() {
    let fixture = AuditFixture::of(&[OrderLifecycle::captured(3_000), OrderLifecycle::authorized(usd(3_000))]);
    std::mem::swap(&mut *fixture.journal.lock().unwrap(), &mut *fixture.later.lock().unwrap());
    assert!(report(fixture, true, Duration::ZERO).await.is_clean());
    // The Orders of a second page are approved after the journal was read for the first.
    let lifecycles: Vec<_> = (0..201).map(|_| OrderLifecycle::captured(3_000)).collect();
    let fixture = AuditFixture::of(&lifecycles);
    *fixture.later.lock().unwrap() = fixture.journal.lock().unwrap().split_off(400);
    let read = report(fixture, true, Duration::ZERO).await;
    assert_eq!((read.journal_entries, read.findings), (Some(402), vec![]));
}

#[tokio::test]
async fn everything_is_read_in_pages() {
    let lifecycles: Vec<_> = (0..601).map(|_| OrderLifecycle::captured(3_000)).collect();
    let clean = report(AuditFixture::of(&lifecycles), true, Duration::ZERO).await;
    assert_eq!((clean.orders, clean.operations, clean.journal_entries), (601, 1_202, Some(1_202)));
    assert_eq!(clean.found, 0);
    let mut wrong = lifecycles;
    for lifecycle in &mut wrong {
        lifecycle.journal.clear();
    }
    let wrong = report(AuditFixture::of(&wrong), true, Duration::ZERO).await;
    assert_eq!((wrong.found, wrong.findings.len()), (1_202, super::MAX_FINDINGS));
}

#[tokio::test]
async fn a_row_that_makes_no_sense_is_a_finding_and_no_end() {
    let mut fixture = AuditFixture::of(&[OrderLifecycle::captured(3_000), OrderLifecycle::captured(2_000)]);
    let id = fixture.orders[0].id();
    fixture.orders[0] = AuditedOrder::Corrupt {
        id,
        table: "purchase_order",
        what: "more would be captured than was authorized".to_owned(),
    };
    let report = report(fixture, true, Duration::ZERO).await;
    assert_eq!((report.orders, report.found, report.findings[0].what), (2, 1, Disagreement::CorruptRow));
    assert!(report.findings[0].words.contains("more would be captured"), "{}", report.findings[0].words);
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_ends_it() {
    struct Away;
    #[async_trait]
    impl ProcessorJournal for Away {
        async fn journal(&self, _after: u64, _limit: u32) -> Result<Vec<JournalEntry>, JournalUnavailable> {
            Err(JournalUnavailable("nobody listens".to_owned()))
        }
    }
    let store = Arc::new(AuditFixture::of(&[OrderLifecycle::captured(3_000)]));
    let audit = Audit { store, journal: Some(Arc::new(Away)), credentials: None, clock: Arc::new(At(NOW)) };
    assert!(matches!(audit.verify().await, Err(AuditError::Journal(_))));
}

#[test]
fn spellings_are_unique() {
    let mut spellings = Disagreement::ALL.map(Disagreement::as_str).to_vec();
    spellings.sort_unstable();
    spellings.dedup();
    assert_eq!(spellings.len(), Disagreement::ALL.len());
}
