//! Screens a payment before the processor is asked, and again by what the issuer said.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dropin_access::Merchant;
use dropin_kernel::{EventId, MerchantId, OrderId, PaymentId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_order::Order;
use dropin_ports::{
    Clock, CountableOutcome, CountedPaymentTry, HashedVelocityKey, IdSource, IpCountries, NewEvent, NewPaymentTry,
    OutsideScorer, RateStore, ScreenedPaymentTry, ScreeningStore, StoreError, TryScreening, VelocityKeyring,
};
use dropin_rates::Table;
use dropin_risk::{Decision, Facts, IssuerChecks, OutsideScore, Rules, ScaExemption, Screening};
use dropin_wire::event;
use tokio::time::{timeout, timeout_at};

use super::metrics::ScreeningPart;
use super::subject::{InstrumentFacts, ScreeningSubject};
use super::{ScreeningMetrics, ScreeningRules};
use crate::access::KnownMerchants;
use crate::store_cache::{Cached, StoreCache};

/// Longest that screening may keep a payment waiting before the processor is asked, and again before its outcome is written.
pub const SCREENING_DEADLINE: Duration = Duration::from_millis(1_900);
/// How much of it counting may take: what was decided then still has time to be kept.
const COUNTING_DEADLINE: Duration = Duration::from_millis(900);
/// Longest that a service outside is waited for.
const OUTSIDE_DEADLINE: Duration = Duration::from_millis(300);
/// Longest that a blocked payment waits, as one does that the processor is asked about.
const LONGEST_BLOCK: Duration = Duration::from_secs(3);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Screens payments. Clones share what they count.
#[derive(Clone)]
pub struct PaymentScreening {
    store: Arc<dyn ScreeningStore>,
    rates: Arc<dyn RateStore>,
    merchants: KnownMerchants,
    clock: Arc<dyn Clock>,
    rules: Option<ScreeningRules>,
    keyring: Option<Arc<dyn VelocityKeyring>>,
    ip_countries: Option<Arc<dyn IpCountries>>,
    outside: Option<Arc<dyn OutsideScorer>>,
    metrics: Arc<ScreeningMetrics>,
    table: Arc<StoreCache<(), Arc<Table>>>,
    /// Microseconds that the processor took for the last answer about a card.
    processor_took: Arc<AtomicU64>,
}

/// A payment that was screened, until its outcome is written.
#[derive(Debug, Clone)]
pub(crate) struct ScreenedPayment {
    /// `None` where it was kept and cannot be read: a person has to look at the payment.
    pub(super) screening: Option<Screening>,
    /// The rules that decided, where this process knows them.
    rules: Option<Arc<Rules>>,
    /// Whether it is in the store.
    is_kept: bool,
}

impl PaymentScreening {
    /// Of the merchants in `merchants`. It screens nothing before it has rules, and tells what others have kept.
    pub fn new(
        store: Arc<dyn ScreeningStore>,
        rates: Arc<dyn RateStore>,
        merchants: KnownMerchants,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let metrics = Arc::new(ScreeningMetrics::new(clock.clone()));
        Self {
            store,
            rates,
            merchants,
            clock,
            rules: None,
            keyring: None,
            ip_countries: None,
            outside: None,
            metrics,
            table: Arc::default(),
            processor_took: Arc::default(),
        }
    }

    /// Screens by these rules: in a program that begins or ends authorizations.
    #[must_use]
    pub fn with_rules(self, rules: ScreeningRules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Counts by the hashes of this ring: in the program that opens cards.
    #[must_use]
    pub fn with_keyring(self, keyring: Arc<dyn VelocityKeyring>) -> Self {
        Self { keyring: Some(keyring), ..self }
    }

    /// Knows the countries of IP addresses, where the operator has a file of them.
    #[must_use]
    pub fn with_ip_countries(self, countries: Arc<dyn IpCountries>) -> Self {
        Self { ip_countries: Some(countries), ..self }
    }

    /// Asks a service outside for a score, where the rules give that a weight.
    #[must_use]
    pub fn with_outside_score(self, outside: Arc<dyn OutsideScorer>) -> Self {
        Self { outside: Some(outside), ..self }
    }

    /// The rules that the merchant's payments are screened by; `None` where they are not.
    pub(crate) async fn rules(&self, merchant: &Merchant) -> Option<Arc<Rules>> {
        self.rules.as_ref()?.of(merchant).await
    }

    /// What it counts, for `/metrics`.
    pub fn metrics(&self) -> Arc<ScreeningMetrics> {
        self.metrics.clone()
    }

    /// What screening made of an Order of the merchant's; `None` when it was not screened, or what was kept cannot be read: the Order is shown without it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked now.
    pub async fn find(&self, merchant: MerchantId, order: OrderId) -> Result<Option<Screening>, StoreError> {
        match self.store.find_screening(merchant, order).await {
            Err(StoreError::Corrupt { .. }) => Ok(None),
            found => found,
        }
    }

    /// Counts the try, decides and keeps that in one step, and raises an alarm. Whatever fails is left out.
    pub(crate) async fn screen(
        &self,
        ids: &dyn IdSource,
        order: &Order,
        subject: &ScreeningSubject,
        instrument: &InstrumentFacts,
    ) -> ScreenedPayment {
        let (begun, now) = (tokio::time::Instant::now(), self.clock.now());
        let (counting, deadline) = (begun + COUNTING_DEADLINE, begun + SCREENING_DEADLINE);
        let amount_cents = self.within(counting, ScreeningPart::Rates, self.euro_cents(&order.total)).await.flatten();
        let ip_country = self.ip_countries.as_ref().zip(instrument.address);
        let ip_country = ip_country.and_then(|(countries, address)| countries.country_of(address));
        // What no rule asks for stands in no facts: a program that does not know it could not read them.
        let is_stored = subject.rules.ask_exemptions() && instrument.is_stored;
        let facts = Facts { amount_cents, ip_country, is_stored, ..subject.facts(instrument) };
        let keys = self.hash_keys(order, subject, instrument);
        let counted = match keys {
            Some(keys) => {
                let merchant_id = order.merchant_id;
                let cents = amount_cents.unwrap_or(0);
                let new = NewPaymentTry { order_id: order.id, merchant_id, at: now, keys, amount_cents: cents };
                let decision = decision(facts.clone(), subject.rules.clone(), now);
                self.within(counting, ScreeningPart::Count, self.store.screen_try(new, decision)).await
            }
            None => None,
        };
        let (mut screening, mut is_kept) = match counted {
            Some(ScreenedPaymentTry { screening, is_kept, .. }) => (screening, is_kept),
            None => (subject.rules.screen(facts), false),
        };
        if let Some(score) = self.outside_score(order, &subject.rules, screening.facts()).await {
            let facts = Facts { outside: Some(score), ..screening.facts().clone() };
            (screening, is_kept) = (subject.rules.screen(facts), false);
        }
        let is_alarm_due = self.metrics.decided(order.merchant_id, &screening, now);
        if !is_kept {
            is_kept = self.keep(order, &screening, deadline).await;
        }
        if is_alarm_due {
            let event = alarm_event(ids, order.merchant_id, &screening, now);
            self.within(deadline, ScreeningPart::Alarm, self.store.note_alarm(event)).await;
        }
        ScreenedPayment { screening: Some(screening), rules: Some(subject.rules.clone()), is_kept }
    }

    /// What a service outside says of it, in time; `None` where none is asked.
    async fn outside_score(&self, order: &Order, rules: &Rules, facts: &Facts) -> Option<OutsideScore> {
        let outside = self.outside.as_ref().filter(|_| rules.ask_outside())?;
        let why = match timeout(OUTSIDE_DEADLINE, outside.score_payment(order.id, order.merchant_id, facts)).await {
            Ok(Ok(score)) => return Some(score),
            Ok(Err(unavailable)) => unavailable.to_string(),
            Err(_elapsed) => "it did not answer within 300 ms".to_owned(),
        };
        self.metrics.failed(ScreeningPart::Score, &why);
        Some(OutsideScore::default())
    }

    /// What it is counted by; `None` where it is not.
    fn hash_keys(
        &self,
        order: &Order,
        subject: &ScreeningSubject,
        instrument: &InstrumentFacts,
    ) -> Option<Vec<HashedVelocityKey>> {
        let keyring = self.keyring.as_ref()?;
        let keys = subject.hash_keys(keyring.as_ref(), order.merchant_id, instrument);
        keys.inspect_err(|error| self.metrics.failed(ScreeningPart::Keys, &error.to_string())).ok()
    }

    /// Whether it is in the store now.
    async fn keep(&self, order: &Order, screening: &Screening, deadline: tokio::time::Instant) -> bool {
        let put = self.store.put_screening(order.id, order.merchant_id, screening.clone());
        self.within(deadline, ScreeningPart::Keep, put).await.is_some()
    }

    /// What came of it before the deadline.
    async fn within<T>(
        &self,
        deadline: tokio::time::Instant,
        part: ScreeningPart,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Option<T> {
        let why = match timeout_at(deadline, work).await {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) => "the database is too slow".to_owned(),
        };
        self.metrics.failed(part, &why);
        None
    }

    /// The amount in the common currency, at the newest rate; `None` without one.
    async fn euro_cents(&self, amount: &Amount) -> Result<Option<u64>, StoreError> {
        let cents = |euros: Amount| u64::try_from(euros.minor()).ok();
        if amount.currency() == Currency::Eur {
            return Ok(cents(*amount));
        }
        let asked = Instant::now();
        let table = match self.table.recall(&(), asked) {
            Cached::Known(table) => table,
            Cached::Due | Cached::Unknown => {
                let table = Arc::new(self.rates.find_rates().await?.map(|rates| rates.current()).unwrap_or_default());
                self.table.keep((), table.clone(), asked);
                table
            }
        };
        let rate = table.cross(Currency::Eur, amount.currency());
        Ok(rate.and_then(|rate| rate.to_base(amount).ok()).and_then(cents))
    }

    /// What was kept of an Order's screening when its authorization began, perhaps by another process.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be asked now. What it cannot read, perhaps of a newer program, counts as a REVIEW: a payment is never stuck
    /// for that, and none is let through.
    pub(crate) async fn find_screened(&self, order: &Order) -> Result<Option<ScreenedPayment>, StoreError> {
        match self.store.find_screening(order.merchant_id, order.id).await {
            Ok(found) => Ok(found.map(|screening| ScreenedPayment::of_kept(Some(screening)))),
            Err(error @ (StoreError::Unavailable(_) | StoreError::OutcomeUnknown)) => Err(error),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Refused(_))) => {
                let order = order.id.to_string();
                log::error!(order = order.as_str(), error:% = error; "what screening made of an Order cannot be read: an approval of it is held for a person to look at");
                Ok(Some(ScreenedPayment::of_kept(None)))
            }
        }
    }

    /// Screens it again by what the issuer said. The stricter of both decisions stands.
    pub(crate) async fn screen_again(
        &self,
        order: &Order,
        screened: ScreenedPayment,
        issuer: IssuerChecks,
    ) -> ScreenedPayment {
        let deadline = tokio::time::Instant::now() + SCREENING_DEADLINE;
        let mut screened = screened;
        let Some(before) = screened.screening.clone() else { return screened };
        if issuer != IssuerChecks::default() && screened.rules.is_none() {
            let merchant = self.within(deadline, ScreeningPart::Rules, self.merchants.find(order.merchant_id)).await;
            screened.rules = match merchant.flatten() {
                Some(merchant) => {
                    let rules = async { Ok(self.rules(&merchant).await) };
                    self.within(deadline, ScreeningPart::Rules, rules).await.flatten()
                }
                None => None,
            };
        }
        let rules = screened.rules.as_ref().filter(|_| issuer != IssuerChecks::default());
        let again = rules.map(|rules| rules.screen(Facts { issuer, ..before.facts().clone() }));
        if let Some(again) = again.filter(|again| before.decision() < again.decision()) {
            (screened.screening, screened.is_kept) = (Some(again), false);
        }
        self.kept(order, screened).await
    }

    /// Keeps what could not be kept before the processor was asked: whichever program ends the payment has to know of it.
    pub(crate) async fn kept(&self, order: &Order, mut screened: ScreenedPayment) -> ScreenedPayment {
        if let Some(screening) = screened.screening.as_ref().filter(|_| !screened.is_kept) {
            let deadline = tokio::time::Instant::now() + SCREENING_DEADLINE;
            screened.is_kept = self.keep(order, screening, deadline).await;
        }
        screened
    }

    /// Counts that a card was approved though its shopper was to authenticate, and nobody says that it happened.
    pub(crate) fn unchallenged(&self) {
        self.metrics.unchallenged();
    }

    /// Counts what became of a payment, once that is written.
    pub(crate) async fn count_outcome(&self, order: OrderId, counted: CountableOutcome) {
        let deadline = tokio::time::Instant::now() + SCREENING_DEADLINE;
        self.within(deadline, ScreeningPart::Outcome, self.store.count_outcome(order, counted)).await;
    }

    /// Notes how long the processor took to answer about a card.
    pub(crate) fn answered_after(&self, took: Duration) {
        self.processor_took.store(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Waits as long as the processor took last: a block that is quicker than the issuer's no would tell the browser which of them it is.
    pub(crate) async fn wait_as_for_processor(&self) {
        let took = Duration::from_micros(self.processor_took.load(Ordering::Relaxed));
        tokio::time::sleep(took.min(LONGEST_BLOCK)).await;
    }
}

impl ScreenedPayment {
    /// As it was kept.
    pub(super) const fn of_kept(screening: Option<Screening>) -> Self {
        Self { screening, rules: None, is_kept: true }
    }

    pub(crate) fn decision(&self) -> Decision {
        self.screening.as_ref().map_or(Decision::Review, Screening::decision)
    }

    /// What the processor is asked for instead of an authentication.
    pub(crate) fn exemption(&self) -> Option<ScaExemption> {
        self.screening.as_ref().and_then(Screening::exemption)
    }
}

/// Of a merchant's alarm, in a stream of the merchant's own: it belongs to no payment.
pub fn alarm_event(ids: &dyn IdSource, merchant: MerchantId, screening: &Screening, at: Timestamp) -> NewEvent {
    NewEvent {
        id: EventId::new(ids.ordered()),
        merchant_id: merchant,
        payment_id: PaymentId::new(merchant.uuid()),
        event_type: event::SCREENING_ALARM_RAISED,
        body: event::screening_alarm_raised(merchant, screening, at),
        at,
    }
}

/// Decides by what was counted for a payment with these facts.
fn decision(facts: Facts, rules: Arc<Rules>, now: Timestamp) -> TryScreening {
    Arc::new(move |counted: &CountedPaymentTry| {
        let mut facts = facts.clone();
        facts.velocity = counted.velocity.clone();
        (facts.card_country, facts.funding) = (counted.card.country, counted.card.funding);
        facts.exempted = counted.exempted.filter(|_| rules.ask_exemptions());
        facts.known_days = counted.known_since.map(|since| days(now.since(since)));
        rules.screen(facts)
    })
}

fn days(span: Duration) -> u32 {
    u32::try_from(span.as_secs() / DAY.as_secs()).unwrap_or(u32::MAX)
}
