//! What the doctor found.

use serde_json::{Value, json};

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    /// Works, and wants somebody's attention.
    Warning,
    /// Does not work, or is not safe.
    Fault,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Fault => "FAULT",
        }
    }
}

/// What was looked at, and how it stands. The text of a warning or fault says what to do.
#[derive(Debug)]
struct Finding {
    check: &'static str,
    state: State,
    text: String,
}

/// All findings so far.
#[derive(Debug, Default)]
pub(super) struct Report(Vec<Finding>);

impl Report {
    pub(super) fn add(&mut self, check: &'static str, state: State, text: impl Into<String>) {
        self.0.push(Finding { check, state, text: text.into() });
    }

    /// Adds what is right, or why it is not.
    pub(super) fn judge(&mut self, check: &'static str, outcome: Result<impl Into<String>, impl ToString>) {
        match outcome {
            Ok(text) => self.add(check, State::Ok, text),
            Err(error) => self.add(check, State::Fault, error.to_string()),
        }
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.0.iter().all(|finding| finding.state != State::Fault)
    }

    pub(super) fn json(&self) -> Value {
        let one = |finding: &Finding| json!({"Check": finding.check, "State": finding.state.word().to_uppercase(), "Finding": finding.text});
        json!({"Healthy": self.is_healthy(), "Checks": self.0.iter().map(one).collect::<Vec<_>>()})
    }

    pub(super) fn lines(&self) -> String {
        let line = |finding: &Finding| format!("{:<8} {:<13} {}", finding.state.word(), finding.check, finding.text);
        let end = if self.is_healthy() { "Nothing is wrong." } else { "Mend what is marked FAULT." };
        let lines: Vec<_> = self.0.iter().map(line).chain([end.to_owned()]).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fault_makes_it_ill() {
        let mut report = Report::default();
        report.judge("one", Ok::<_, String>("right"));
        report.add("two", State::Warning, "soon");
        assert!(report.is_healthy() && report.lines().ends_with("Nothing is wrong."));
        report.judge("three", Err::<String, _>("broken: mend it"));
        assert!(!report.is_healthy());
        assert!(report.lines().contains("FAULT    three         broken: mend it"), "{}", report.lines());
        let shown = report.json();
        assert_eq!((&shown["Healthy"], &shown["Checks"][1]["State"]), (&json!(false), &json!("WARNING")));
    }
}
