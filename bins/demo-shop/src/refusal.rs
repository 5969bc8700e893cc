//! Every answer of the shop to its own page that is no success.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;

use super::api::ApiError;

/// Why the shop did not do what was asked. The text is for the person in front of the page.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The request makes no sense to the shop.
    #[error("{0}")]
    Invalid(String),
    /// A page of another site, or a name that only pretends to be this shop.
    #[error("{0}")]
    Foreign(String),
    /// Nothing here.
    #[error("There is nothing under this address. The shop is at /.")]
    NoSuchPage,
    /// No payment with this id.
    #[error("The shop knows no such payment. Start again from the basket.")]
    NoSuchPayment,
    /// The service gives no rate for the currency.
    #[error("There is no exchange rate for this currency at the moment. Choose another currency, or try again later.")]
    NoRate,
    /// There is no Order yet.
    #[error("There is nothing to ship yet: the payment has not been authorized.")]
    NothingToShip,
    /// The payment opened no contract.
    #[error("This payment is of no subscription that could be charged or ended.")]
    NoSubscription,
    /// The page shows an older state of the subscription.
    #[error("Another charge was made meanwhile, so that nothing was charged now. Reload the page to see it.")]
    OutdatedCharge,
    /// What was asked of a subscription was refused; the second text says what to do.
    #[error("{0} {1}")]
    Subscription(ApiError, &'static str),
    /// No answer, or none that says what became of it.
    #[error(
        "The answer to the charge was lost, so it may have been made. See whether it is listed; if it is not, charge again."
    )]
    UnknownCharge,
    /// The payment service did not do it.
    #[error(transparent)]
    Api(#[from] ApiError),
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Body<'a> {
    code: &'a str,
    message: String,
}

impl Refusal {
    fn code(&self) -> &str {
        match self {
            Self::Invalid(_) => "INVALID_REQUEST",
            Self::Foreign(_) => "FOREIGN_ORIGIN",
            Self::NoSuchPage => "NOT_FOUND",
            Self::NoSuchPayment => "PAYMENT_NOT_FOUND",
            Self::NoRate => "NO_RATE",
            Self::NothingToShip => "NOTHING_TO_SHIP",
            Self::NoSubscription => "NO_SUBSCRIPTION",
            Self::OutdatedCharge => "CHARGE_OUTDATED",
            Self::UnknownCharge => "CHARGE_UNKNOWN",
            Self::Api(error) | Self::Subscription(error, _) => error.code(),
        }
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Foreign(_) => StatusCode::FORBIDDEN,
            Self::NoSuchPage | Self::NoSuchPayment => StatusCode::NOT_FOUND,
            Self::NoRate | Self::NothingToShip | Self::NoSubscription | Self::OutdatedCharge => StatusCode::CONFLICT,
            Self::UnknownCharge => StatusCode::BAD_GATEWAY,
            Self::Api(error) | Self::Subscription(error, _) => error.status(),
        }
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::build(self.status_code()).json(Body { code: self.code(), message: self.to_string() })
    }
}
