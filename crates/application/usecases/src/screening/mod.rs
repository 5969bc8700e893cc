//! Screening of payments for fraud and card testing (docs/SCREENING.md).

mod retention;
mod rules;

pub use retention::ScreeningRetention;
pub use rules::ScreeningRules;
