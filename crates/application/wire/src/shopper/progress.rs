//! How an attempt to pay stands.

use dropin_kernel::{AttemptId, OrderId};
use dropin_order::{BankDetails, OrderState};
use dropin_session::SessionStateKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailedAttemptBody, FailedAttemptSource};
use crate::bank::BankDetailsBody;
use crate::schema;

/// How an attempt to pay stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Progress)]
pub struct ProgressBody<'a> {
    #[schema(value_type = schema::SessionState)]
    state: &'static str,
    /// Why the Session ended without an Order; for onFailure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error_code: Option<&'static str>,
    /// While REDIRECTED: the page that the shopper has to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    redirect_url: Option<&'a str>,
    /// While REDIRECTED: the attempt that waits there, which pay-another-way names. A browser that did not begin it knows it from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    attempt_id: Option<String>,
    /// Whether that page is the 3-D Secure of a card, which may be framed; the top page goes to any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    challenge: Option<bool>,
    /// Once COMPLETED, when it is paid by bank transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = BankDetailsBody)]
    bank_details: Option<BankDetailsBody<'a>>,
    /// While the outcome of the attempt is being asked for: nothing may be paid meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    checking: Option<bool>,
    /// While CREATED: the attempt that failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = FailedAttemptBody)]
    attempt: Option<FailedAttemptBody>,
    /// Once COMPLETED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Id)]
    order_id: Option<String>,
    /// Once COMPLETED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::OrderStateName)]
    order_state: Option<&'static str>,
    /// Once COMPLETED.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::MethodId)]
    payment_method: Option<&'a str>,
}

impl<'a> ProgressBody<'a> {
    /// `error_code` says why the Session ended without an Order; the drop-in hands it to onFailure, with words of its own.
    pub fn new(state: SessionStateKind, error_code: Option<&'static str>) -> Self {
        Self {
            state: state.as_str(),
            error_code,
            redirect_url: None,
            attempt_id: None,
            challenge: None,
            bank_details: None,
            checking: None,
            attempt: None,
            order_id: None,
            order_state: None,
            payment_method: None,
        }
    }

    /// With whether the outcome of the attempt is being asked for.
    #[must_use]
    pub fn checking(self, checking: bool) -> Self {
        Self { checking: checking.then_some(true), ..self }
    }

    /// With the attempt that failed last.
    #[must_use]
    pub fn with_failed_attempt(self, source: FailedAttemptSource) -> Self {
        Self { attempt: Some(source.into()), ..self }
    }

    /// With the Order that completed the Session.
    #[must_use]
    pub fn with_order(self, id: OrderId, state: OrderState, payment_method: &'a str) -> Self {
        let (order_id, order_state) = (Some(id.to_string()), Some(state.as_str()));
        Self { order_id, order_state, payment_method: Some(payment_method), ..self }
    }

    /// With the page on which the shopper has to go on with `attempt`; `challenge` when it is the 3-D Secure of a card.
    #[must_use]
    pub fn with_page(self, url: &'a str, challenge: bool, attempt: AttemptId) -> Self {
        let attempt_id = Some(attempt.to_string());
        Self { redirect_url: Some(url), challenge: challenge.then_some(true), attempt_id, ..self }
    }

    /// With where the shopper transfers the money to.
    #[must_use]
    pub fn with_bank_details(self, details: &'a BankDetails) -> Self {
        Self { bank_details: Some(details.into()), ..self }
    }
}
