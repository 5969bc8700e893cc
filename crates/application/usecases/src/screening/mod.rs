//! Screening of payments for fraud and card testing (docs/SCREENING.md).

mod dry_run;
mod rules;

pub use dry_run::{MAX_DRY_RUN, dry_run_screening};
pub use rules::ScreeningRules;
