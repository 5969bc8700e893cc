use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;

/// One number, with what tells it from the others of its sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Names and values of labels; never anything that a caller wrote.
    pub labels: Vec<(&'static str, Cow<'static, str>)>,
    /// The number.
    pub value: u64,
}

/// How long many things of one sort took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// How many took no longer than that, shortest time first. Whoever stands at one stands at all longer ones too.
    pub at_most: Vec<(Duration, u64)>,
    /// How many there were, the longest included.
    pub count: u64,
    /// How long all of them took, added up.
    pub sum: Duration,
}

/// The numbers of a [`Measure`], by what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// How things stand now.
    Now(Vec<Reading>),
    /// They only count up, from the start of the program. Their name ends in `_total`.
    Counted(Vec<Reading>),
    /// Times, counted from the start of the program. Their name ends in `_seconds`.
    Spread(Spread),
}

/// Numbers of one sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The name that alerts are written with, for example `dropin_operations_open`.
    pub name: &'static str,
    /// What they say, in one sentence.
    pub help: &'static str,
    /// The numbers; those that are zero too, so that an alert has something to look at.
    pub values: Values,
}

impl Measure {
    /// A single number that says how things stand.
    pub fn now(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::stands(name, help, vec![Reading { labels: Vec::new(), value }])
    }

    /// Numbers that say how things stand.
    pub fn stands(name: &'static str, help: &'static str, readings: Vec<Reading>) -> Self {
        Self { name, help, values: Values::Now(readings) }
    }

    /// A single number that counts up.
    pub fn total(name: &'static str, help: &'static str, value: u64) -> Self {
        Self::counted(name, help, vec![Reading { labels: Vec::new(), value }])
    }

    /// Numbers that count up.
    pub fn counted(name: &'static str, help: &'static str, readings: Vec<Reading>) -> Self {
        Self { name, help, values: Values::Counted(readings) }
    }

    /// Times.
    pub fn spread(name: &'static str, help: &'static str, spread: Spread) -> Self {
        Self { name, help, values: Values::Spread(spread) }
    }

    /// Its numbers with their labels; none for times.
    pub fn readings(&self) -> &[Reading] {
        match &self.values {
            Values::Now(readings) | Values::Counted(readings) => readings,
            Values::Spread(_) => &[],
        }
    }
}

/// A part of a program that knows numbers for whoever watches.
#[async_trait]
pub trait Measured: Send + Sync {
    /// How things stand.
    ///
    /// # Errors
    /// Why that cannot be told now, for the log.
    async fn measure(&self) -> Result<Vec<Measure>, String>;
}
