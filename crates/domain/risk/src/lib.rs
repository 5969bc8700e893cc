#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

mod browser;
mod condition;
mod decision;
mod dry_run;
mod email;
mod exemption;
mod factor;
mod facts;
mod list;
mod mistake;
mod outside;
mod reader;
mod reason;
mod report;
mod rules;
mod rules_file;
mod screening;
#[cfg(feature = "serde")]
mod serialized;
mod velocity;

pub use browser::{language_country, time_zone_country};
pub use decision::{Decision, Score, ScoreTooHigh};
pub use dry_run::{DryRun, ScreeningChange, dry_run};
pub use exemption::{ExemptedPayments, ScaExemption};
pub use factor::Factor;
pub use facts::{CardFunding, FactText, Facts, IssuerChecks};
pub use list::ListKind;
pub use mistake::{Mistake, Mistakes, Position};
pub use outside::OutsideScore;
pub use reason::{InvalidRuleName, Reason, ReasonCode, RuleName, UnknownReason};
pub use report::{ReasonReport, ScreeningLabel, ScreeningReport};
pub use rules::{BUILT_IN_RULES, InvalidRulesFingerprint, Rules, RulesFingerprint};
pub use rules_file::RulesFile;
pub use screening::Screening;
pub use velocity::{Velocity, VelocityCounts, VelocityKey, VelocityMeasure, VelocityName, VelocitySum, VelocityWindow};
