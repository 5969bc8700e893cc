use std::borrow::Cow;

use async_trait::async_trait;

/// One number, with what tells it from the others of its sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Names and values of labels; never anything that a caller wrote.
    pub labels: Vec<(&'static str, Cow<'static, str>)>,
    /// The number.
    pub value: u64,
}

/// Numbers of one sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The name that alerts are written with, for example `dropin_operations_open`.
    pub name: &'static str,
    /// What they say, in one sentence.
    pub help: &'static str,
    /// Whether they only count up, from the start of the program; else they say how things stand now.
    pub counts_up: bool,
    /// The numbers; those that are zero too, so that an alert has something to look at.
    pub readings: Vec<Reading>,
}

impl Measure {
    /// A single number that says how things stand.
    pub fn now(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, counts_up: false, readings: vec![Reading { labels: Vec::new(), value }] }
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
