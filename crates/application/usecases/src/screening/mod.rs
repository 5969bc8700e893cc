//! Screening of payments for fraud and card testing (docs/SCREENING.md).

mod rules;

pub use rules::ScreeningRules;
