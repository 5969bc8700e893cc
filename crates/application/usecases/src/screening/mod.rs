//! Screening of payments for fraud and card testing (docs/SCREENING.md): facts and counts are collected before the processor is asked, and what became of
//! a payment is counted afterwards. Nothing of it makes a payment fail: where counting is impossible, the payment is screened without counts.

mod dry_run;
mod metrics;
mod outcome;
mod payment_screening;
mod report;
mod retention;
mod rules;
mod subject;

pub use dry_run::{MAX_DRY_RUN, dry_run_screening};
pub use metrics::ScreeningMetrics;
pub(crate) use payment_screening::ScreenedPayment;
pub use payment_screening::{PaymentScreening, SCREENING_DEADLINE, alarm_event};
pub use report::{MAX_REPORTED, report_screening};
pub use retention::ScreeningRetention;
pub use rules::ScreeningRules;
pub(crate) use subject::{InstrumentFacts, ScreeningSubject};
