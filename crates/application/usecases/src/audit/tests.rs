//! Lives as the domain makes them are clean; every sort of disagreement is seeded and seen.

mod lives;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dropin_kernel::{OpId, Revision};
use dropin_money::{Amount, Currency};
use dropin_order::{Account, OpKind, OpState, OrderState, RefundState, VoidCause};
use dropin_ports::{AuditedOrder, JournalEntry, JournalUnavailable, ProcessorJournal};

use self::lives::{At, Books, Life, NOW, fresh, id, usd};
use super::{Audit, AuditError, Disagreement, Report};

async fn report(books: Books, with_journal: bool, after: Duration) -> Report {
    let books = Arc::new(books);
    let journal = with_journal.then(|| books.clone() as Arc<dyn ProcessorJournal>);
    Audit { store: books, journal, clock: Arc::new(At(NOW.plus(after))) }.verify().await.unwrap()
}

/// What is found of one life, with and without the processor's journal.
async fn found(life: &Life, with_journal: bool) -> Vec<Disagreement> {
    let report = report(Books::of(std::slice::from_ref(life)), with_journal, Duration::ZERO).await;
    assert_eq!(report.found as usize, report.findings.len());
    report.findings.iter().map(|finding| finding.what).collect()
}

/// Both see exactly that.
async fn assert_found(life: &Life, what: &str, expected: &[Disagreement]) {
    for with_journal in [false, true] {
        assert_eq!(found(life, with_journal).await, expected, "{what}, journal: {with_journal}");
    }
}

/// Only the journal shows that.
async fn assert_journal_shows(life: &Life, what: &str, expected: &[Disagreement]) {
    assert_eq!(found(life, false).await, [], "{what}");
    assert_eq!(found(life, true).await, expected, "{what}");
}

fn sound_lives() -> Vec<(&'static str, Life)> {
    let declined = {
        let mut life = Life::start();
        life.step(life.order.refused(NOW).unwrap());
        life.last(OpKind::Authorize).state = OpState::Declined;
        life
    };
    let capture_refused = {
        let mut life = Life::capturing(3_000);
        life.last(OpKind::Capture).state = OpState::Declined;
        life.step(life.order.capture_refused(&usd(3_000), false, id(), NOW).unwrap());
        life
    };
    let refund_failed = {
        let mut life = Life::captured(3_000).refunding(500);
        life.last(OpKind::Refund).state = OpState::Declined;
        life.refunds[0] = life.refunds[0].decided(false, NOW);
        life.step(life.order.refund_failed(&usd(500), NOW).unwrap());
        life
    };
    let late = {
        let mut life = Life::late();
        let void = life.operations[0].void(OpId::new(fresh()), NOW, NOW);
        life.operations.push(void);
        life
    };
    let less_accepted = {
        let mut life = Life::authorized(usd(2_000));
        life.step(life.order.approve_review(NOW).unwrap());
        life
    };
    let less_taken = {
        let mut life = Life::capturing(3_000);
        life.approve(OpKind::Capture, Some(usd(2_900)));
        life.step(life.order.captured(&usd(3_000), &usd(2_900), (id(), id()), NOW).unwrap());
        life
    };
    let provider = {
        let mut life = Life::start();
        life.step(life.order.taken_into_review(NOW).unwrap());
        let waiting = life.clone();
        life.approve(OpKind::Authorize, Some(usd(3_000)));
        life.step(life.order.provider_approved(&usd(3_000), id(), NOW).unwrap());
        (waiting, life)
    };
    vec![
        ("started", Life::start()),
        ("declined", declined),
        ("authorized", Life::authorized(usd(3_000))),
        ("less authorized", Life::authorized(usd(2_000))),
        ("less accepted by a reviewer", less_accepted),
        ("capturing", Life::capturing(3_000)),
        ("captured", Life::captured(3_000)),
        ("captured in part", Life::captured(1)),
        ("less taken, accepted by a reviewer", less_taken),
        ("capture refused for good", capture_refused),
        ("refunding", Life::captured(3_000).refunding(500)),
        ("refunded twice", Life::captured(3_000).refunded(500).refunded(2_500)),
        ("refund failed", refund_failed),
        ("voiding", Life::authorized(usd(3_000)).voiding()),
        ("voided", Life::authorized(usd(3_000)).voided()),
        ("paid", Life::paid()),
        ("paid and refunded", Life::paid().refunded(3_000)),
        ("approved late, and being voided", late),
        ("in the provider's review", provider.0),
        ("approved by the provider", provider.1),
    ]
}

#[tokio::test]
async fn lives_as_the_domain_makes_them_are_clean() {
    for (what, life) in sound_lives() {
        assert_found(&life, what, &[]).await;
    }
    let lives: Vec<_> = sound_lives().into_iter().map(|(_, life)| life).collect();
    let report = report(Books::of(&lives), true, Duration::ZERO).await;
    assert_eq!(report.findings, vec![]);
    let operations = || lives.iter().flat_map(|life| &life.operations);
    let open = operations().filter(|operation| operation.state.is_open()).count();
    let entries = lives.iter().map(|life| life.journal.len()).sum::<usize>();
    let counted = [report.orders, report.operations, report.open, report.journal_entries.unwrap()];
    assert_eq!(counted, [lives.len(), operations().count(), open, entries].map(|count| count as u64));
    assert_eq!(open, 6, "started, capturing, refunding, voiding, voiding late, reviewed");
}

#[tokio::test]
async fn a_ledger_that_says_something_else_is_seen() {
    for (from, to, accounts) in [
        (Account::Shopper, Account::Authorized, 2),
        (Account::Captured, Account::Refunded, 2),
        (Account::Authorized, Account::Captured, 2),
    ] {
        let mut life = Life::captured(3_000);
        life.post(from, to, &usd(1));
        assert_found(&life, "an entry too many", &vec![Disagreement::Ledger; accounts]).await;
    }
    let mut life = Life::authorized(usd(3_000));
    life.ledger.clear();
    assert_found(&life, "nothing posted", &[Disagreement::Ledger; 2]).await;
    let mut life = Life::authorized(usd(3_000));
    life.post(Account::Shopper, Account::Captured, &Amount::from_minor(Currency::Eur, 5).unwrap());
    assert_found(&life, "another currency", &[Disagreement::Ledger; 2]).await;
    let mut life = Life::captured(3_000);
    life.unbalanced.push(id());
    assert_found(&life, "unbalanced", &[Disagreement::UnbalancedTransaction]).await;
    // Released at the end of its life, and not before.
    let mut life = Life::authorized(usd(3_000)).voided();
    life.ledger.pop();
    assert_found(&life, "not released", &[Disagreement::Ledger; 2]).await;
}

#[tokio::test]
async fn amounts_that_do_not_fit_the_state_are_seen() {
    use Disagreement::{Ledger, Operations, State, UnexplainedMoney};
    let with = |mut life: Life, state| {
        life.order.state = state;
        life
    };
    let authorized = || Life::authorized(usd(3_000));
    let nothing = with(authorized(), OrderState::Processed);
    assert_found(&nothing, "PROCESSED with nothing captured", &[Ledger, Ledger, State]).await;
    let waiting = with(authorized(), OrderState::Processing);
    assert_found(&waiting, "PROCESSING with money", &[State, UnexplainedMoney]).await;
    let unpaid = with(Life::start(), OrderState::PaymentAuthorized);
    assert_found(&unpaid, "PAYMENT_AUTHORIZED with nothing", &[State]).await;
    let taken = with(Life::captured(3_000), OrderState::Cancelled);
    assert_found(&taken, "CANCELLED with captured money", &[State, UnexplainedMoney]).await;
    let mut more = authorized();
    more.order.total = usd(2_999);
    more.operations[0].amount = usd(2_999);
    assert_eq!(found(&more, false).await, [State, Operations], "more than the total");
    let mut held = authorized();
    held.order.voiding = Some(VoidCause::Expired);
    assert_found(&held, "a void that nobody carries out", &[State]).await;
    assert_eq!(held.order.revision, Revision::new(2));
}

#[tokio::test]
async fn operations_that_the_amounts_do_not_tell_of_are_seen() {
    use Disagreement::{Ledger, Operations, State, UnexplainedMoney};
    let mut life = Life::capturing(3_000);
    life.amounts(|minor| minor[3] = 2_000);
    assert_found(&life, "less reserved than asked for", &[Operations]).await;
    let mut life = Life::capturing(3_000);
    life.operations.pop();
    assert_found(&life, "reserved for nothing", &[Operations]).await;
    let mut life = Life::captured(2_000);
    life.amounts(|minor| minor[1] = 2_001);
    assert_found(&life, "more captured than asked for", &[Ledger, Ledger, Operations]).await;
    let mut life = Life::capturing(3_000);
    life.approve(OpKind::Capture, Some(usd(3_000)));
    assert_found(&life, "a capture that is not written down", &[Operations, Operations]).await;
    let mut life = Life::captured(2_000);
    life.amounts(|minor| minor[1] = 1_999);
    life.ledger.clear();
    life.post(Account::Shopper, Account::Captured, &usd(1_999));
    assert_journal_shows(&life, "less than the processor took", &[Operations]).await;
    let mut life = Life::captured(1_000);
    let again = life.operations[0].capture(OpId::new(fresh()), usd(1_000), NOW, NOW);
    life.operations.push(again);
    life.approve(OpKind::Capture, Some(usd(1_000)));
    assert_eq!(found(&life, true).await, [Operations, Operations], "captured twice");
    let mut life = Life::authorized(usd(3_000));
    life.operations[0].state = OpState::Declined;
    life.journal.clear();
    assert_found(&life, "authorized by nobody", &[Operations]).await;
    let mut life = Life::authorized(usd(3_000)).voiding();
    life.approve(OpKind::Void, None);
    assert_found(&life, "voided and alive", &[State, Operations]).await;
    let life = Life::late();
    assert_found(&life, "authorized too late and not voided", &[UnexplainedMoney]).await;
    let mut life = Life::late();
    life.journal[0].captured = true;
    let void = life.operations[0].void(OpId::new(fresh()), NOW, NOW);
    life.operations.push(void);
    assert_journal_shows(&life, "paid too late", &[UnexplainedMoney]).await;
    let mut life = Life::late();
    life.operations[0].state = OpState::Unknown;
    assert_eq!(found(&life, true).await, [], "authorized too late, and about to be voided");
    life.journal[0].captured = true;
    assert_journal_shows(&life, "paid too late, and nobody has given it back", &[UnexplainedMoney]).await;
}

#[tokio::test]
async fn refunds_that_do_not_add_up_are_seen() {
    use Disagreement::{Ledger, Operations, Refunds};
    let mut life = Life::captured(3_000).refunded(500);
    life.refunds[0].amount = usd(400);
    assert_found(&life, "another amount in the refund", &[Refunds]).await;
    let mut life = Life::captured(3_000).refunded(500);
    life.refunds.clear();
    assert_found(&life, "no refund", &[Refunds, Refunds]).await;
    let mut life = Life::captured(3_000).refunding(500);
    life.refunds[0].state = RefundState::Failed;
    assert_found(&life, "failed, and still asked for", &[Refunds, Refunds]).await;
    let mut life = Life::captured(3_000).refunding(500);
    life.last(OpKind::Refund).state = OpState::Declined;
    assert_found(&life, "in progress, and asked of nobody", &[Operations, Refunds]).await;
    let mut life = Life::captured(3_000).refunded(500);
    life.amounts(|minor| minor[2] = 600);
    assert_found(&life, "more refunded", &[Ledger, Ledger, Refunds, Operations]).await;
    let mut life = Life::captured(3_000).refunded(500);
    life.last(OpKind::Refund).state = OpState::Abandoned;
    life.journal.pop();
    assert_found(&life, "given back by nobody", &[Refunds, Operations]).await;
}

#[tokio::test]
async fn what_only_one_side_knows_of_is_seen() {
    use Disagreement::{NotAtProcessor, NotHere, Operations, Otherwise, Twice};
    let mut life = Life::captured(3_000);
    life.journal.pop();
    assert_eq!(found(&life, true).await, [NotAtProcessor], "a capture that was never made");
    assert_eq!(found(&life, false).await, [], "nobody asked");
    let mut life = Life::captured(3_000);
    let mut strange = life.journal[1].clone();
    strange.key = OpId::new(fresh());
    life.journal.push(strange);
    assert_journal_shows(&life, "a key that nobody here knows", &[NotHere]).await;
    let mut life = Life::captured(3_000);
    let twice = life.journal[1].clone();
    life.journal.push(twice);
    assert_journal_shows(&life, "twice", &[Twice]).await;
    let mut life = Life::captured(3_000);
    life.journal[1].kind = "REFUND".to_owned();
    assert_journal_shows(&life, "another kind", &[Otherwise]).await;
    let mut life = Life::captured(3_000);
    life.journal[1].authorization = Some(OpId::new(fresh()));
    assert_journal_shows(&life, "another authorization", &[Otherwise]).await;
    let mut life = Life::captured(3_000);
    life.journal[1].amount = Some(usd(2_000));
    assert_journal_shows(&life, "another amount", &[Operations]).await;
    let mut life = Life::authorized(usd(3_000));
    life.journal[0].amount = Some(usd(4_000));
    assert_journal_shows(&life, "more authorized", &[Otherwise]).await;
    let mut life = Life::authorized(usd(3_000));
    life.journal[0].amount = Some(usd(2_000));
    assert_journal_shows(&life, "less authorized than counts", &[Operations]).await;
    let mut life = Life::authorized(Amount::from_minor(Currency::Eur, 3_000).unwrap());
    assert_journal_shows(&life, "another currency", &[Otherwise]).await;
    life = Life::capturing(3_000);
    life.approve(OpKind::Capture, Some(usd(3_000)));
    life.last(OpKind::Capture).state = OpState::Declined;
    life.step(life.order.capture_refused(&usd(3_000), true, id(), NOW).unwrap());
    assert_journal_shows(&life, "approved there, declined here", &[NotHere]).await;
    let mut life = Life::capturing(3_000);
    life.approve(OpKind::Capture, Some(usd(2_000)));
    life.last(OpKind::Capture).state = OpState::Unknown;
    assert_journal_shows(&life, "another amount, waiting for a reviewer", &[Otherwise]).await;
}

#[tokio::test]
async fn what_is_open_is_counted_until_it_is_stuck() {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let open = |state| {
        let mut life = Life::capturing(3_000);
        life.approve(OpKind::Capture, Some(usd(3_000)));
        life.last(OpKind::Capture).state = state;
        Books::of(&[life])
    };
    for state in [OpState::Prepared, OpState::Unknown, OpState::Pending] {
        let young = report(open(state), true, minutes(10)).await;
        assert_eq!((young.findings, young.open), (vec![], 1));
        let old = report(open(state), true, minutes(11)).await;
        assert_eq!((old.findings[0].what, old.found), (Disagreement::Stuck, 1));
        assert!(old.findings[0].words.contains("did 30.00 USD"), "{}", old.findings[0].words);
    }
    // A transfer is waited for for days, and looked for every minute.
    let mut waiting = Life::start();
    waiting.operations[0].state = OpState::Pending;
    waiting.operations[0].due_at = NOW.plus(minutes(1_000));
    assert!(report(Books::of(&[waiting.clone()]), true, minutes(1_001)).await.is_clean());
    assert_eq!(report(Books::of(&[waiting]), true, minutes(1_011)).await.found, 1);
}

#[tokio::test]
async fn what_is_approved_while_the_books_are_read_is_no_disagreement() {
    let books = Books::of(&[Life::captured(3_000), Life::authorized(usd(3_000))]);
    std::mem::swap(&mut *books.journal.lock().unwrap(), &mut *books.later.lock().unwrap());
    assert!(report(books, true, Duration::ZERO).await.is_clean());
    // The Orders of a second page are approved after the journal was read for the first.
    let lives: Vec<_> = (0..201).map(|_| Life::captured(3_000)).collect();
    let books = Books::of(&lives);
    *books.later.lock().unwrap() = books.journal.lock().unwrap().split_off(400);
    let read = report(books, true, Duration::ZERO).await;
    assert_eq!((read.journal_entries, read.findings), (Some(402), vec![]));
}

#[tokio::test]
async fn everything_is_read_in_pages() {
    let lives: Vec<_> = (0..601).map(|_| Life::captured(3_000)).collect();
    let clean = report(Books::of(&lives), true, Duration::ZERO).await;
    assert_eq!((clean.orders, clean.operations, clean.journal_entries), (601, 1_202, Some(1_202)));
    assert_eq!(clean.found, 0);
    let mut wrong = lives;
    for life in &mut wrong {
        life.journal.clear();
    }
    let wrong = report(Books::of(&wrong), true, Duration::ZERO).await;
    assert_eq!((wrong.found, wrong.findings.len()), (1_202, super::MOST_FINDINGS));
}

#[tokio::test]
async fn a_row_that_makes_no_sense_is_a_finding_and_no_end() {
    let mut books = Books::of(&[Life::captured(3_000), Life::captured(2_000)]);
    let id = books.orders[0].id();
    books.orders[0] = AuditedOrder::Corrupt {
        id,
        table: "purchase_order",
        what: "more would be captured than was authorized".to_owned(),
    };
    let report = report(books, true, Duration::ZERO).await;
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
    let store = Arc::new(Books::of(&[Life::captured(3_000)]));
    let audit = Audit { store, journal: Some(Arc::new(Away)), clock: Arc::new(At(NOW)) };
    assert!(matches!(audit.verify().await, Err(AuditError::Journal(_))));
}

#[test]
fn spellings_are_unique() {
    let mut spellings = Disagreement::ALL.map(Disagreement::as_str).to_vec();
    spellings.sort_unstable();
    spellings.dedup();
    assert_eq!(spellings.len(), 12);
}
