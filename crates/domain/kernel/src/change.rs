/// How often a stored aggregate has changed; every change names the revision it was decided on (compare-and-set).
///
/// ```
/// use dropin_kernel::Revision;
///
/// assert_eq!(Revision::FIRST.next().number(), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Revision(i64);

impl Revision {
    /// The revision of an aggregate that was just inserted.
    pub const FIRST: Self = Self(1);

    /// From its stored number.
    ///
    /// ```
    /// # use dropin_kernel::Revision;
    /// assert_eq!(Revision::new(1), Revision::FIRST);
    /// ```
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The stored number.
    ///
    /// ```
    /// # use dropin_kernel::Revision;
    /// assert_eq!(Revision::FIRST.number(), 1);
    /// ```
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The revision after this one. The last of 2⁶³ − 1 has none: it stays, and what compares revisions refuses the change.
    ///
    /// ```
    /// # use dropin_kernel::Revision;
    /// assert!(Revision::FIRST < Revision::FIRST.next());
    /// ```
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A decision about an aggregate: what it shall be, and the revision it was decided on.
///
/// A store writes `next` only where the stored revision still is `expected`; otherwise somebody else was faster and the
/// caller loads and decides again.
///
/// ```
/// use dropin_kernel::{Change, Revision};
///
/// let renamed = Change { next: "Ada", expected: Revision::FIRST };
/// assert_eq!(renamed.expected.next().number(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<T> {
    /// The aggregate after the change; its own revision is `expected.next()`.
    pub next: T,
    /// The revision the decision was made on.
    pub expected: Revision,
}
