//! Counts that say what the case wants, and remember what they were told; and a key ring whose hashes can be read.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use dropin_kernel::{MerchantId, OrderId, Timestamp};
use dropin_ports::{
    CardAuthentication, CardFacts, CountableOutcome, CountedPaymentTry, HashedVelocityKey, KeyringError, NewEvent,
    NewPaymentTry, PaymentTryOutcome, ScreenedPaymentTry, ScreeningStore, StoreError, TryScreening, VelocityHash,
    VelocityKeyring,
};
use dropin_risk::{
    ExemptedPayments, Screening, ScreeningLabel, Velocity, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow,
};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing can be counted or kept.
    Away,
    /// Nothing ever comes back.
    Silent,
    /// So many things to be kept are not; what follows is.
    KeepFails(u8),
    /// What was kept is of a newer program.
    KeptIsUnreadable,
    /// The program dies once the try is counted, and kept what was decided.
    DiesAfterScreening,
}

#[derive(Default)]
pub(crate) struct Counts {
    says: Mutex<CountedPaymentTry>,
    trouble: Mutex<Option<Trouble>>,
    tries: Mutex<Vec<NewPaymentTry>>,
    kept: Mutex<HashMap<OrderId, Screening>>,
    counted: Mutex<Vec<CountableOutcome>>,
    alarms: Mutex<Vec<NewEvent>>,
}

impl Counts {
    /// What the next tries hear of.
    pub(crate) fn say(&self, name: &str, number: u32) {
        let (key, window) = match name {
            "DEVICE_CARDS_TEN_MINUTES" => (VelocityKey::Device, VelocityWindow::TenMinutes),
            "DEVICE_CARDS_HOUR" => (VelocityKey::Device, VelocityWindow::Hour),
            other => panic!("{other}"),
        };
        let mut velocity = Velocity::default();
        velocity.set(key, window, VelocitySum { cards: number, ..VelocitySum::default() });
        self.says.lock().unwrap().velocity = velocity;
    }

    /// So many of the merchant's tries were declined in the last ten minutes.
    pub(crate) fn say_declined(&self, declines: u32) {
        let counts = VelocityCounts { tries: declines, declines, ..VelocityCounts::default() };
        let mut says = self.says.lock().unwrap();
        says.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum { counts, cards: 0 });
    }

    /// Whoever pays has paid before.
    pub(crate) fn know_since(&self, at: Timestamp) {
        self.says.lock().unwrap().known_since = Some(at);
    }

    /// The card of the next tries was paid with under an exemption so often, since its shopper authenticated.
    pub(crate) fn say_exempted(&self, payments: u32) {
        let exempted = ExemptedPayments { payments, amount_cents: u64::from(payments) };
        self.says.lock().unwrap().exempted = Some(exempted);
        let mut says = self.says.lock().unwrap();
        says.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum::default());
    }

    /// What was told of the card of the next tries.
    pub(crate) fn say_card(&self, card: CardFacts) {
        let mut says = self.says.lock().unwrap();
        says.card = card;
        says.velocity.set(VelocityKey::Card, VelocityWindow::Day, VelocitySum::default());
    }

    /// Of each outcome, what it told of the card.
    pub(crate) fn told_cards(&self) -> Vec<CardFacts> {
        self.counted.lock().unwrap().iter().map(|counted| counted.card).collect()
    }

    pub(crate) fn be_in(&self, trouble: Option<Trouble>) {
        *self.trouble.lock().unwrap() = trouble;
    }

    pub(crate) fn tries(&self) -> Vec<NewPaymentTry> {
        self.tries.lock().unwrap().clone()
    }

    pub(crate) fn outcomes(&self) -> Vec<PaymentTryOutcome> {
        self.counted.lock().unwrap().iter().map(|counted| counted.outcome).collect()
    }

    /// Of each outcome, whether it was in an alarm.
    pub(crate) fn in_alarm(&self) -> Vec<bool> {
        self.counted.lock().unwrap().iter().map(|counted| counted.in_alarm).collect()
    }

    /// Of each outcome, what it said of the card's exemptions.
    pub(crate) fn authentications(&self) -> Vec<CardAuthentication> {
        self.counted.lock().unwrap().iter().map(|counted| counted.authentication).collect()
    }

    /// The alarms that were noted.
    pub(crate) fn alarms(&self) -> Vec<NewEvent> {
        self.alarms.lock().unwrap().clone()
    }

    pub(crate) fn kept(&self, order: OrderId) -> Option<Screening> {
        self.kept.lock().unwrap().get(&order).cloned()
    }

    async fn pass(&self) -> Result<(), StoreError> {
        let trouble = *self.trouble.lock().unwrap();
        match trouble {
            Some(Trouble::Away) => Err(StoreError::Unavailable("away".to_owned())),
            Some(Trouble::Silent) => std::future::pending().await,
            Some(Trouble::KeepFails(_) | Trouble::KeptIsUnreadable | Trouble::DiesAfterScreening) | None => Ok(()),
        }
    }

    /// Whether what is to be kept now is not.
    fn fails_to_keep(&self) -> bool {
        let mut trouble = self.trouble.lock().unwrap();
        match *trouble {
            Some(Trouble::KeepFails(left)) => {
                *trouble = (1 < left).then(|| Trouble::KeepFails(left - 1));
                true
            }
            _ => false,
        }
    }

    fn die_of(&self, trouble: Trouble) {
        let dies = self.trouble.lock().unwrap().is_some_and(|this| this == trouble);
        assert!(!dies, "the program dies");
    }
}

#[async_trait]
impl ScreeningStore for Counts {
    async fn screen_try(
        &self,
        payment_try: NewPaymentTry,
        decision: TryScreening,
    ) -> Result<ScreenedPaymentTry, StoreError> {
        self.pass().await?;
        let order = payment_try.order_id;
        self.tries.lock().unwrap().push(payment_try);
        let counted = self.says.lock().unwrap().clone();
        let screening = decision(&counted);
        let is_kept = !self.fails_to_keep();
        if is_kept {
            self.kept.lock().unwrap().insert(order, screening.clone());
        }
        self.die_of(Trouble::DiesAfterScreening);
        Ok(ScreenedPaymentTry { counted, screening, is_kept })
    }

    async fn count_outcome(&self, _: OrderId, counted: CountableOutcome) -> Result<(), StoreError> {
        self.pass().await?;
        self.counted.lock().unwrap().push(counted);
        Ok(())
    }

    async fn note_alarm(&self, event: NewEvent) -> Result<bool, StoreError> {
        self.pass().await?;
        self.alarms.lock().unwrap().push(event);
        Ok(true)
    }

    async fn put_screening(&self, order: OrderId, _: MerchantId, screening: Screening) -> Result<(), StoreError> {
        self.pass().await?;
        if self.fails_to_keep() {
            return Err(StoreError::Unavailable("busy".to_owned()));
        }
        self.kept.lock().unwrap().insert(order, screening);
        Ok(())
    }

    async fn find_screening(&self, _: MerchantId, order: OrderId) -> Result<Option<Screening>, StoreError> {
        self.pass().await?;
        if *self.trouble.lock().unwrap() == Some(Trouble::KeptIsUnreadable) {
            return Err(StoreError::Corrupt { table: "screening", what: "an unknown member".to_owned() });
        }
        Ok(self.kept(order))
    }

    async fn list_screenings(
        &self,
        _: MerchantId,
        _: Timestamp,
        _: u32,
    ) -> Result<Vec<(OrderId, Screening)>, StoreError> {
        Ok(self.kept.lock().unwrap().iter().map(|(order, screening)| (*order, screening.clone())).collect())
    }

    async fn list_labelled_screenings(
        &self,
        _: MerchantId,
        _: Timestamp,
        _: u32,
    ) -> Result<Vec<(Screening, ScreeningLabel)>, StoreError> {
        Ok(Vec::new())
    }

    async fn purge_screening(&self, _: Timestamp, _: Timestamp, _: u32) -> Result<u32, StoreError> {
        Ok(0)
    }
}

/// Hashes that are the beginning of what they are of.
#[derive(Default)]
pub(crate) struct ReadableHashes {
    pub(crate) is_away: AtomicBool,
}

impl VelocityKeyring for ReadableHashes {
    fn hash_velocity_key(
        &self,
        _: MerchantId,
        key: VelocityKey,
        value: &[u8],
    ) -> Result<HashedVelocityKey, KeyringError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(KeyringError::Unavailable("its folder is gone".to_owned()));
        }
        let mut hash = [0; 32];
        let length = value.len().min(32);
        hash[..length].copy_from_slice(&value[..length]);
        Ok(HashedVelocityKey { key, hash: VelocityHash(hash), former: Vec::new() })
    }
}
