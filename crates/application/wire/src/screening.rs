use dropin_risk::{Reason, ScaExemption, Screening};
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema;

/// What screening made of a payment: for its merchant, never for the shopper's browser (docs/SPECIFICATION.md#screening).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Screening, description = "What screening made of a payment.")]
pub(crate) struct ScreeningBody {
    #[schema(value_type = schema::ScreeningDecision)]
    decision: &'static str,
    /// How suspicious it is, 0 to 100.
    #[schema(value_type = schema::ScreeningScore)]
    score: u8,
    /// Why: lists and exact rules first, then the most points.
    #[schema(value_type = Vec<ScreeningReasonBody>)]
    reasons: Vec<ScreeningReasonBody>,
    /// Why the processor was asked to do without an authentication; absent when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ExemptionName>)]
    exemption: Option<&'static str>,
}

/// A reason of screening.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ScreeningReason)]
struct ScreeningReasonBody {
    /// Its name: a factor, a limit on counts, `RULE_…`, `BLOCK_…` or `ALLOW_…`. More may follow.
    #[schema(value_type = String)]
    code: String,
    /// What it adds to Score: 0 for a rule or a list, negative for what speaks for the shopper.
    points: i16,
}

impl From<&Screening> for ScreeningBody {
    fn from(screening: &Screening) -> Self {
        Self {
            decision: screening.decision().as_str(),
            score: screening.score().value(),
            reasons: screening.reasons().iter().map(ScreeningReasonBody::from).collect(),
            exemption: screening.exemption().map(ScaExemption::as_str),
        }
    }
}

impl From<&Reason> for ScreeningReasonBody {
    fn from(reason: &Reason) -> Self {
        Self { code: reason.code.to_string(), points: reason.points }
    }
}
