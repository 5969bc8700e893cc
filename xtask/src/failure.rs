//! The one error of this tool: a message that tells the person at the terminal what to do.

use std::fmt;

/// Why a task stopped. The text is shown as it is, so it names the thing that failed and the next step.
#[derive(Debug)]
pub(crate) struct Failure(String);

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Adds what was being done to an error of the standard library.
pub(crate) trait Context<T> {
    /// `doing` completes the sentence "cannot …".
    fn context(self, doing: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|error| Failure::new(format!("cannot {}: {error}", doing())))
    }
}
