//! How often something was seen lately: keys, measures, windows, and the arithmetic of their buckets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dropin_kernel::{Timestamp, UnknownCode, coded_enum};

coded_enum! {
    /// What tries are counted by.
    ///
    /// ```
    /// use dropin_risk::VelocityKey;
    ///
    /// assert_eq!("DEVICE".parse(), Ok(VelocityKey::Device));
    /// ```
    #[non_exhaustive]
    pub enum VelocityKey: "key of velocity" {
        /// The card, by a keyed hash of its number.
        Card = "CARD",
        /// The browser, by its fingerprint.
        Device = "DEVICE",
        /// The IP address that the card was posted from; of IPv6 its /64, which one household or server has.
        Ip = "IP",
        /// The /24 or /48 around that address.
        Network = "NETWORK",
        /// The e-mail address, without the tag behind a `+`.
        Email = "EMAIL",
        /// The merchant's name for the shopper, BillingProfileReference.
        Profile = "PROFILE",
        /// The Session.
        Session = "SESSION",
        /// The merchant: everybody who pays there.
        Merchant = "MERCHANT",
    }
}

impl VelocityKey {
    /// Whether strangers share it, as they share an office or a mobile network. It never decides alone.
    ///
    /// ```
    /// # use dropin_risk::VelocityKey;
    /// let shared: Vec<_> = VelocityKey::ALL.into_iter().filter(|key| key.is_of_address()).collect();
    /// assert_eq!(shared, [VelocityKey::Ip, VelocityKey::Network]);
    /// ```
    pub const fn is_of_address(self) -> bool {
        matches!(self, Self::Ip | Self::Network)
    }
}

coded_enum! {
    /// What is counted.
    ///
    /// ```
    /// use dropin_risk::VelocityMeasure;
    ///
    /// assert_eq!(VelocityMeasure::Cards.as_str(), "CARDS");
    /// ```
    #[non_exhaustive]
    pub enum VelocityMeasure: "measure of velocity" {
        /// Tries to pay, also those that were stopped.
        Tries = "TRIES",
        /// Tries that the issuer or the authentication refused, and challenges that nobody has passed yet.
        Declines = "DECLINES",
        /// Tries that screening blocked.
        Blocks = "BLOCKS",
        /// Different cards.
        Cards = "CARDS",
        /// The amount of all tries, in whole euros.
        Amount = "AMOUNT",
    }
}

coded_enum! {
    /// How far back is counted.
    ///
    /// Tries are counted in buckets, so that the rows of a busy key stay few. A window counts the bucket that began its span ago and all since: a try counts
    /// for the whole span, and for one bucket more at most.
    ///
    /// ```
    /// use dropin_risk::VelocityWindow;
    ///
    /// let lengths = VelocityWindow::ALL.map(|window| (window.span().as_secs() / 60, window.bucket().as_secs() / 60));
    /// assert_eq!(lengths, [(10, 1), (60, 5), (1_440, 60)], "minutes");
    /// ```
    #[non_exhaustive]
    pub enum VelocityWindow: "window of velocity" {
        /// Ten minutes, in buckets of one minute.
        TenMinutes = "TEN_MINUTES",
        /// An hour, in buckets of five minutes.
        Hour = "HOUR",
        /// 24 hours, in buckets of one hour.
        Day = "DAY",
    }
}

impl VelocityWindow {
    /// How long a try counts at least.
    pub const fn span(self) -> Duration {
        Duration::from_secs(match self {
            Self::TenMinutes => 600,
            Self::Hour => 3_600,
            Self::Day => 86_400,
        })
    }

    /// The length of one bucket.
    pub const fn bucket(self) -> Duration {
        Duration::from_secs(match self {
            Self::TenMinutes => 60,
            Self::Hour => 300,
            Self::Day => 3_600,
        })
    }

    /// The beginning of the bucket that `at` lies in.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    /// use dropin_risk::VelocityWindow;
    ///
    /// let at: Timestamp = "2026-11-26T10:44:59.999999Z".parse()?;
    /// assert_eq!(VelocityWindow::Hour.bucket_start(at), "2026-11-26T10:40:00.000000Z".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bucket_start(self, at: Timestamp) -> Timestamp {
        let bucket = i64::try_from(self.bucket().as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(at.micros() - at.micros().rem_euclid(bucket))
    }

    /// The oldest bucket that counts at `now`.
    pub fn oldest_bucket(self, now: Timestamp) -> Timestamp {
        self.bucket_start(now.minus(self.span()))
    }

    /// From when on the bucket that begins at `start` counts no more and may be swept.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    /// use dropin_risk::VelocityWindow;
    ///
    /// let start: Timestamp = "2026-11-26T10:40:00.000000Z".parse()?;
    /// assert_eq!(VelocityWindow::Hour.ends_at(start), "2026-11-26T11:45:00.000000Z".parse()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ends_at(self, start: Timestamp) -> Timestamp {
        start.plus(self.bucket()).plus(self.span())
    }

    /// What the buckets that still count hold together. A bucket that another program's clock began ahead of `now` counts too.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    /// use dropin_risk::{VelocityCounts, VelocityWindow};
    ///
    /// let at = |text: &str| text.parse::<Timestamp>().unwrap();
    /// let one = VelocityCounts { tries: 1, declines: 1, ..VelocityCounts::default() };
    /// let buckets = [(at("2026-11-26T09:40:00.000000Z"), one), (at("2026-11-26T10:40:00.000000Z"), one)];
    /// assert_eq!(VelocityWindow::Hour.sum(at("2026-11-26T10:44:00.000000Z"), buckets).tries, 2);
    /// assert_eq!(VelocityWindow::Hour.sum(at("2026-11-26T10:45:00.000000Z"), buckets).tries, 1);
    /// ```
    pub fn sum(self, now: Timestamp, buckets: impl IntoIterator<Item = (Timestamp, VelocityCounts)>) -> VelocityCounts {
        let oldest = self.oldest_bucket(now);
        let counting = buckets.into_iter().filter(|(start, _)| oldest <= *start);
        counting.fold(VelocityCounts::default(), |sum, (_, counts)| sum.plus(counts))
    }

    /// How many different things stand in the buckets that still count: cards, by whatever tells them apart.
    ///
    /// ```
    /// use dropin_kernel::Timestamp;
    /// use dropin_risk::VelocityWindow;
    ///
    /// let now: Timestamp = "2026-11-26T10:44:00.000000Z".parse().unwrap();
    /// assert_eq!(VelocityWindow::Day.distinct(now, [(now, "a"), (now, "b"), (now, "a")]), 2);
    /// ```
    pub fn distinct<T: Ord>(self, now: Timestamp, seen: impl IntoIterator<Item = (Timestamp, T)>) -> u32 {
        let oldest = self.oldest_bucket(now);
        let counting = seen.into_iter().filter(|(start, _)| oldest <= *start).map(|(_, thing)| thing);
        u32::try_from(counting.collect::<BTreeSet<_>>().len()).unwrap_or(u32::MAX)
    }
}

/// What one bucket holds, or several together.
///
/// ```
/// use dropin_risk::VelocityCounts;
///
/// let one = VelocityCounts { tries: 2, amount_cents: 10_00, ..VelocityCounts::default() };
/// assert_eq!(one.plus(one).amount_cents, 20_00);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VelocityCounts {
    /// Tries to pay, also those that were stopped.
    pub tries: u32,
    /// Tries that the issuer or the authentication refused, and challenges that nobody has passed yet.
    pub declines: u32,
    /// Tries that screening blocked.
    pub blocks: u32,
    /// Challenges of a merchant's shoppers during its alarm. They are no declines of the merchant's, so that an alarm does not keep itself alive.
    pub alarm_challenges: u32,
    /// Those of them that were passed, and paid.
    pub alarm_passes: u32,
    /// Those of them that were passed and nobody paid by: verified for nothing, or held for a person.
    pub alarm_verifications: u32,
    /// Euro cents of all tries.
    pub amount_cents: u64,
}

impl VelocityCounts {
    /// Both together; a sum that has no room stays at the largest number.
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tries: self.tries.saturating_add(other.tries),
            declines: self.declines.saturating_add(other.declines),
            blocks: self.blocks.saturating_add(other.blocks),
            alarm_challenges: self.alarm_challenges.saturating_add(other.alarm_challenges),
            alarm_passes: self.alarm_passes.saturating_add(other.alarm_passes),
            alarm_verifications: self.alarm_verifications.saturating_add(other.alarm_verifications),
            amount_cents: self.amount_cents.saturating_add(other.amount_cents),
        }
    }
}

/// What a key has in a window, this try included.
///
/// ```
/// use dropin_risk::{VelocityCounts, VelocityMeasure, VelocitySum};
///
/// let counts = VelocityCounts { tries: 3, amount_cents: 29_99, ..VelocityCounts::default() };
/// let sum = VelocitySum { counts, cards: 2 };
/// assert_eq!((sum.of(VelocityMeasure::Cards), sum.of(VelocityMeasure::Amount)), (2, 29));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "crate::serialized::StoredSum", into = "crate::serialized::StoredSum"))]
pub struct VelocitySum {
    /// What was counted.
    pub counts: VelocityCounts,
    /// Different cards; 0 by merchant.
    pub cards: u32,
}

impl VelocitySum {
    /// The number of `measure`.
    pub fn of(&self, measure: VelocityMeasure) -> u64 {
        match measure {
            VelocityMeasure::Tries => self.counts.tries.into(),
            VelocityMeasure::Declines => self.counts.declines.into(),
            VelocityMeasure::Blocks => self.counts.blocks.into(),
            VelocityMeasure::Cards => self.cards.into(),
            VelocityMeasure::Amount => self.counts.amount_cents / 100,
        }
    }
}

/// The name of one number: what is counted, by what, how far back. Its text is `DEVICE_CARDS_HOUR`. Different cards of a merchant are not counted: MERCHANT
/// has no CARDS.
///
/// ```
/// use dropin_risk::{VelocityKey, VelocityMeasure, VelocityName, VelocityWindow};
///
/// let name: VelocityName = "IP_DECLINES_TEN_MINUTES".parse().unwrap();
/// assert_eq!((name.key, name.measure), (VelocityKey::Ip, VelocityMeasure::Declines));
/// assert_eq!((name.window, name.to_string().as_str()), (VelocityWindow::TenMinutes, "IP_DECLINES_TEN_MINUTES"));
/// assert_eq!("DEVICE_CARDS".parse::<VelocityName>().unwrap_err().what(), "window of velocity");
/// assert_eq!("MERCHANT_CARDS_DAY".parse::<VelocityName>().unwrap_err().what(), "measure of velocity");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VelocityName {
    /// By what.
    pub key: VelocityKey,
    /// What.
    pub measure: VelocityMeasure,
    /// How far back.
    pub window: VelocityWindow,
}

impl fmt::Display for VelocityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}", self.key, self.measure, self.window)
    }
}

impl FromStr for VelocityName {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let (key, rest) = text.split_once('_').unwrap_or((text, ""));
        let (measure, window) = rest.split_once('_').unwrap_or((rest, ""));
        let name = Self { key: key.parse()?, measure: measure.parse()?, window: window.parse()? };
        if name.key == VelocityKey::Merchant && name.measure == VelocityMeasure::Cards {
            // No measure has such a name.
            text.parse::<VelocityMeasure>()?;
        }
        Ok(name)
    }
}

/// What was counted for a payment, by key and window. A key that the payment does not have is absent, and none of its limits applies.
///
/// ```
/// use dropin_risk::{Velocity, VelocityKey, VelocitySum, VelocityWindow};
///
/// let mut velocity = Velocity::default();
/// velocity.set(VelocityKey::Device, VelocityWindow::Hour, VelocitySum { cards: 5, ..VelocitySum::default() });
/// assert_eq!(velocity.number("DEVICE_CARDS_HOUR".parse().unwrap()), Some(5));
/// assert_eq!(velocity.number("CARD_TRIES_HOUR".parse().unwrap()), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Velocity(BTreeMap<VelocityKey, BTreeMap<VelocityWindow, VelocitySum>>);

impl Velocity {
    /// Notes what `key` has in `window`.
    pub fn set(&mut self, key: VelocityKey, window: VelocityWindow, sum: VelocitySum) {
        self.0.entry(key).or_default().insert(window, sum);
    }

    /// What `key` has in `window`.
    ///
    /// ```
    /// # use dropin_risk::{Velocity, VelocityKey, VelocitySum, VelocityWindow};
    /// assert_eq!(Velocity::default().sum(VelocityKey::Card, VelocityWindow::Day), None);
    /// ```
    pub fn sum(&self, key: VelocityKey, window: VelocityWindow) -> Option<VelocitySum> {
        self.0.get(&key)?.get(&window).copied()
    }

    /// The number with this name.
    pub fn number(&self, name: VelocityName) -> Option<u64> {
        self.sum(name.key, name.window).map(|sum| sum.of(name.measure))
    }
}
