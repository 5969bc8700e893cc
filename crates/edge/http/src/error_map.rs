//! The one map from what goes wrong inside to what a caller is told. Every match names every case.

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use dropin_contract::ChargeRefused;
use dropin_kernel::{Violation, ViolationCode};
use dropin_money::{Amount, Currency};
use dropin_ports::{KeyringError, StoreError};
use dropin_session::SessionStateKind;
use dropin_usecases::access::{AuthenticateError, NotPermitted};
use dropin_usecases::catalogue::MethodsError;
use dropin_usecases::contracts::ContractError;
use dropin_usecases::disputes::DisputeError;
use dropin_usecases::idempotency::RepeatError;
use dropin_usecases::payments::{
    CancelError, CaptureError, CheckoutError, OrderError, RefundError, RemoveCardError, ShopperError, SubmitError,
};
use dropin_usecases::rates::RatesError;
use dropin_usecases::sessions::{CancelSessionError, CreateSessionError, GetSessionError, ReplaceSessionError};
use dropin_usecases::stash::StashError;
use dropin_usecases::wallet::WalletSessionError;
use dropin_wire::{ErrorCode, FieldError, RequestError};

use crate::ApiError;
use crate::caller;
use crate::flows::FlowError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) => Self::unavailable(error),
            StoreError::OutcomeUnknown => Self::new(
                ErrorCode::OutcomeUnknown,
                "It could not be learned in time whether this was done. It is safe to send the same request again.",
            )
            .retry_soon()
            .with_detail(error),
            StoreError::Corrupt { .. } | StoreError::Refused(_) => Self::internal(error),
        }
    }
}

impl From<FlowError> for ApiError {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Stopping => Self::unavailable(error),
            FlowError::Panicked => Self::internal(error),
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Malformed(why) => Self::new(ErrorCode::InvalidRequest, why),
            RequestError::Fields(violations) => fields(violations),
        }
    }
}

impl From<AuthenticateError> for ApiError {
    fn from(error: AuthenticateError) -> Self {
        match error {
            AuthenticateError::Invalid => caller::invalid(),
            AuthenticateError::Throttled { retry_after } => Self::new(
                ErrorCode::RateLimited,
                "Too many wrong passwords for this user name from this address. Check the password: the right one is not refused for this. \
                 The header Retry-After says when a wrong one is answered 401 again.",
            )
            .retry_after(retry_after),
            AuthenticateError::OtherMode { sandbox: true } => Self::new(
                ErrorCode::NotAuthorized,
                "This is a sandbox account and this deployment moves real money; use an account that was made here.",
            ),
            AuthenticateError::OtherMode { sandbox: false } => Self::new(
                ErrorCode::NotAuthorized,
                "This is a production account and this deployment is a sandbox; use an account that was made here.",
            ),
            AuthenticateError::Store(error) => error.into(),
        }
    }
}

impl From<NotPermitted> for ApiError {
    fn from(error: NotPermitted) -> Self {
        let message = format!("This user lacks the permission {}; use one that has it, or have it granted.", error.0);
        Self::new(ErrorCode::NotAuthorized, message)
    }
}

impl From<OrderError> for ApiError {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::NotFound => order_not_found(),
            OrderError::NoRefund => Self::new(
                ErrorCode::RefundNotFound,
                "There is no refund with this RefundId; the Order's refunds are listed at its address, with /refund behind it.",
            ),
            OrderError::Store(error) => error.into(),
        }
    }
}

impl From<DisputeError> for ApiError {
    fn from(error: DisputeError) -> Self {
        match error {
            DisputeError::NoOrder => order_not_found(),
            DisputeError::NotFound => Self::new(
                ErrorCode::DisputeNotFound,
                "There is no dispute with this DisputeId; the Order's disputes are listed at its address, with /dispute behind it.",
            ),
            DisputeError::WrongState(found) => Self::new(
                ErrorCode::InvalidDisputeState,
                format!(
                    "The dispute is {}: only one that is NEEDS_RESPONSE takes an answer, and until its DueAt.",
                    found.as_str()
                ),
            ),
            DisputeError::AnswerPending => Self::new(
                ErrorCode::DuplicateRequest,
                "An answer to the dispute is on its way to the processor. Look at the dispute in a while; it shows when this is over.",
            ),
            DisputeError::Refused(why) => Self::new(
                ErrorCode::DisputeAnswerRefused,
                "The processor does not take this answer; the dispute stands as before. Answer otherwise, or at the processor.",
            )
            .with_detail(why),
            DisputeError::Keyring(error) => Self::unavailable(error),
            DisputeError::Store(error) => error.into(),
        }
    }
}

impl From<CaptureError> for ApiError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::NotFound => order_not_found(),
            CaptureError::WrongState(found) => order_state(
                found.as_str(),
                "there is nothing to capture, or it was captured or is to be captured with another amount",
            ),
            CaptureError::Amount(violation) => fields(vec![violation]),
            CaptureError::Changed => order_changed(),
            CaptureError::Store(error) => error.into(),
        }
    }
}

impl From<CancelError> for ApiError {
    fn from(error: CancelError) -> Self {
        match error {
            CancelError::NotFound => order_not_found(),
            CancelError::WrongState(found) => order_state(
                found.as_str(),
                "it is being paid or captured right now, or over; what was captured can be refunded",
            ),
            CancelError::Changed => order_changed(),
            CancelError::Store(error) => error.into(),
        }
    }
}

impl From<RefundError> for ApiError {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::NotFound => order_not_found(),
            RefundError::WrongState(found) => {
                order_state(found.as_str(), "nothing was captured that could be refunded")
            }
            RefundError::Amount(violation) => fields(vec![violation]),
            RefundError::Exceeds(left) => exceeds(&left),
            RefundError::DuplicateReference => Self::new(
                ErrorCode::DuplicateRefundReference,
                "The Order has a refund of another amount with this RefundReference; every refund needs one of its own.",
            ),
            RefundError::Store(error) => error.into(),
        }
    }
}

impl From<CheckoutError> for ApiError {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::Currency(currency) => currency_not_enabled(currency),
            CheckoutError::Stash(violation) | CheckoutError::Method(violation) => fields(vec![violation]),
            CheckoutError::DuplicateReference => Self::new(
                ErrorCode::DuplicateMerchantReferenceId,
                "This ReferenceId was used before, by a checkout or as a MerchantReference; every payment needs one of its own.",
            ),
            CheckoutError::NoContract => no_contract(),
            CheckoutError::Charge(refused) => not_chargeable(refused),
            CheckoutError::Keyring(_) | CheckoutError::ProcessorUnusable => Self::unavailable(error),
            CheckoutError::Store(error) => error.into(),
        }
    }
}

/// A ContractId in a body that names none of the merchant's contracts (docs/SPECIFICATION.md#contract-read).
fn no_contract() -> ApiError {
    let why = "is none of your contracts: GET /v1/contract lists those of a BillingProfileReference";
    fields(vec![Violation::new("ContractId", ViolationCode::NotFound, why)])
}

/// Why a contract is not charged (docs/SPECIFICATION.md#contract-checkout).
fn not_chargeable(refused: ChargeRefused) -> ApiError {
    let why = refused.to_string();
    match refused {
        ChargeRefused::Kind => fields(vec![Violation::new("ContractId", ViolationCode::NotAllowed, why)]),
        ChargeRefused::Currency { .. } => {
            fields(vec![Violation::new("ConsumerCurrency", ViolationCode::Conflict, why)])
        }
        ChargeRefused::Zero => fields(vec![Violation::new("Items", ViolationCode::OutOfRange, why)]),
        ChargeRefused::ShopperRequired => ApiError::new(
            ErrorCode::ShopperAuthenticationRequired,
            "The issuer wants the shopper to authenticate, and was not asked again. Bring the shopper back with a Session that carries this ContractId.",
        ),
        // State, card, scheme: the same charge would fare no better now.
        _ => ApiError::new(ErrorCode::InvalidContractState, format!("{why}. Nothing was charged.")),
    }
}

impl From<ContractError> for ApiError {
    /// For a contract that the path names.
    fn from(error: ContractError) -> Self {
        match error {
            ContractError::NotFound => Self::new(
                ErrorCode::ContractNotFound,
                "There is no such contract; GET /v1/contract lists those of a BillingProfileReference.",
            ),
            ContractError::WrongState(state) => Self::new(
                ErrorCode::InvalidContractState,
                format!("The contract is {}, which does not allow this.", state.as_str()),
            ),
            ContractError::Store(error) => error.into(),
        }
    }
}

impl ApiError {
    /// The same for a contract that a body names.
    pub fn of_named_contract(error: ContractError) -> Self {
        match error {
            ContractError::NotFound => no_contract(),
            error @ (ContractError::WrongState(_) | ContractError::Store(_)) => error.into(),
        }
    }
}

impl From<ShopperError> for ApiError {
    fn from(error: ShopperError) -> Self {
        match error {
            ShopperError::NotFound => session_not_found(),
            ShopperError::Store(error) => error.into(),
        }
    }
}

impl From<SubmitError> for ApiError {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::NotFound => session_not_found(),
            SubmitError::Request(error) => error.into(),
            SubmitError::Changed => Self::new(
                ErrorCode::SessionChanged,
                "The Session changed after it was shown. Load it again, show it, and ask the shopper again.",
            ),
            SubmitError::WrongState(state) => Self::new(
                ErrorCode::InvalidSessionState,
                format!(
                    "The Session is {}: it cannot be paid now. Its progress call tells how it stands.",
                    state.as_str()
                ),
            ),
            SubmitError::RateExpired => Self::new(
                ErrorCode::RateOfferExpired,
                "The exchange rate of this payment was guaranteed for a while that is over. The shop has to price it anew: go back to it.",
            ),
            SubmitError::Card(violation)
            | SubmitError::Method(violation)
            | SubmitError::Consent(violation)
            | SubmitError::Address(violation)
            | SubmitError::SavedCard(violation) => fields(vec![violation]),
            SubmitError::Keyring(_) | SubmitError::ProcessorUnusable => Self::unavailable(error),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<RemoveCardError> for ApiError {
    fn from(error: RemoveCardError) -> Self {
        match error {
            RemoveCardError::NotFound => session_not_found(),
            RemoveCardError::WrongState(state) => Self::new(
                ErrorCode::InvalidSessionState,
                format!(
                    "The Session is {}: a saved card can be removed while it is CREATED. Remove the card in another Session.",
                    state.as_str()
                ),
            ),
            RemoveCardError::NoCard => Self::new(
                ErrorCode::ContractNotFound,
                "The Session shows no saved card with this id that its shopper may remove. Load the Session again: the card may be gone already.",
            ),
            RemoveCardError::Store(error) => error.into(),
        }
    }
}

impl From<WalletSessionError> for ApiError {
    fn from(error: WalletSessionError) -> Self {
        match error {
            WalletSessionError::MerchantNotFound => {
                Self::new(ErrorCode::MerchantNotFound, "There is no merchant with this MerchantId.")
            }
            WalletSessionError::NoWallet => Self::new(
                ErrorCode::NotFound,
                "This merchant has no wallet certificate that counts, so its pages cannot show the button; getPaymentMethods lists who has.",
            ),
            WalletSessionError::Origin => Self::new(
                ErrorCode::NotAuthorized,
                "Pages of this origin may not ask for this merchant; register the origin with the merchant's account.",
            ),
            WalletSessionError::Domain => Self::new(
                ErrorCode::NotAuthorized,
                "This domain is not registered for the merchant's wallet, or its association file was not found there yet; register and check it.",
            ),
            WalletSessionError::Invalid(violations) => fields(violations),
            WalletSessionError::Busy => Self::new(
                ErrorCode::RateLimited,
                "Too many payment sessions are being asked for. Wait as many seconds as the header Retry-After says.",
            )
            .retry_soon(),
            WalletSessionError::Provider(why) => Self::new(
                ErrorCode::WalletProviderFailed,
                "The wallet's provider gave no payment session. The shopper may try again, or pay otherwise.",
            )
            .with_detail(why),
            WalletSessionError::Keyring(error) => error.into(),
            WalletSessionError::Store(error) => error.into(),
        }
    }
}

impl From<KeyringError> for ApiError {
    fn from(error: KeyringError) -> Self {
        match error {
            KeyringError::Unavailable(_) => Self::unavailable(error),
            KeyringError::CannotOpen => Self::internal(error),
        }
    }
}

impl From<CreateSessionError> for ApiError {
    fn from(error: CreateSessionError) -> Self {
        match error {
            CreateSessionError::Request(error) => error.into(),
            CreateSessionError::CurrencyNotEnabled(currency) => currency_not_enabled(currency),
            CreateSessionError::DuplicateReference => duplicate_reference(),
            CreateSessionError::Store(error) => error.into(),
        }
    }
}

impl From<GetSessionError> for ApiError {
    fn from(error: GetSessionError) -> Self {
        match error {
            GetSessionError::NotFound => session_not_found(),
            GetSessionError::Store(error) => error.into(),
        }
    }
}

impl From<ReplaceSessionError> for ApiError {
    fn from(error: ReplaceSessionError) -> Self {
        match error {
            ReplaceSessionError::Request(error) => error.into(),
            ReplaceSessionError::NotFound => session_not_found(),
            ReplaceSessionError::WrongState(found) => session_state(found),
            ReplaceSessionError::Unexpected => precondition_failed(),
            ReplaceSessionError::Overtaken => Self::new(
                ErrorCode::DuplicateRequest,
                "Another request replaced the Session at the same time; retrieve it and decide again.",
            ),
            ReplaceSessionError::CurrencyNotEnabled(currency) => currency_not_enabled(currency),
            ReplaceSessionError::DuplicateReference => duplicate_reference(),
            ReplaceSessionError::Store(error) => error.into(),
        }
    }
}

impl From<CancelSessionError> for ApiError {
    fn from(error: CancelSessionError) -> Self {
        match error {
            CancelSessionError::NotFound => session_not_found(),
            CancelSessionError::WrongState(found) => session_state(found),
            CancelSessionError::Unexpected => precondition_failed(),
            CancelSessionError::Store(error) => error.into(),
        }
    }
}

impl From<RepeatError> for ApiError {
    fn from(error: RepeatError) -> Self {
        match error {
            RepeatError::KeyReused => Self::new(
                ErrorCode::IdempotencyKeyReused,
                "This Idempotency-Key came with another body or If-Match before; use a new key for every new request.",
            ),
            RepeatError::InProgress => Self::new(
                ErrorCode::DuplicateRequest,
                "The first request with this Idempotency-Key still waits for the processor; send this one again in a moment.",
            )
            .retry_soon(),
            RepeatError::Store(error) => error.into(),
        }
    }
}

impl From<MethodsError> for ApiError {
    fn from(error: MethodsError) -> Self {
        match error {
            MethodsError::MerchantNotFound => {
                Self::new(ErrorCode::MerchantNotFound, "There is no merchant with this id; use your MerchantId.")
            }
            MethodsError::Store(error) => error.into(),
        }
    }
}

impl From<StashError> for ApiError {
    fn from(error: StashError) -> Self {
        match error {
            StashError::MerchantNotFound => {
                Self::new(ErrorCode::MerchantNotFound, "There is no merchant with this id; use your MerchantId.")
            }
            StashError::NoWallet => {
                let why = "this merchant does not take the wallet: it has not set it up, or its certificate has ended";
                RequestError::from(Violation::new("token_data", ViolationCode::NotAllowed, why)).into()
            }
            StashError::Full => {
                let message = "Too many cards and tokens wait in this merchant's stash. Each leaves it when it is paid with or expires; try again in a minute.";
                Self::new(ErrorCode::RateLimited, message).with_header(RETRY_AFTER, HeaderValue::from_static("60"))
            }
            StashError::ClientFull => {
                let message = "Your address has left too many cards and tokens in the stash within half an hour or so; try again in a few minutes.";
                Self::new(ErrorCode::RateLimited, message).with_header(RETRY_AFTER, HeaderValue::from_static("300"))
            }
            StashError::Keyring(error) => error.into(),
            StashError::Store(error) => error.into(),
        }
    }
}

impl From<RatesError> for ApiError {
    fn from(error: RatesError) -> Self {
        match error {
            RatesError::MerchantNotFound => {
                Self::new(ErrorCode::MerchantNotFound, "There is no merchant with this id; use your MerchantId.")
            }
            RatesError::Stale { retry_after } => Self::new(
                ErrorCode::RatesStale,
                "The exchange rates are too old to guarantee any. Show prices in your own currency, and ask again when Retry-After says.",
            )
            .retry_after(retry_after),
            RatesError::Store(error) => error.into(),
        }
    }
}

fn session_not_found() -> ApiError {
    ApiError::new(ErrorCode::SessionNotFound, "There is no Session with this SessionId.")
}

fn order_not_found() -> ApiError {
    ApiError::new(ErrorCode::OrderNotFound, "There is no Order with this OrderId or reference.")
}

/// Of callers that name the Order as they saw it.
fn order_changed() -> ApiError {
    ApiError::new(ErrorCode::InvalidOrderState, "The Order changed meanwhile; look at it as it stands now.")
}

fn order_state(found: &str, why: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidOrderState, format!("The Order is {found}: {why}."))
}

fn exceeds(left: &Amount) -> ApiError {
    let message =
        format!("Of what was captured {left} {} is left to be refunded; ask for that much or less.", left.currency());
    ApiError::new(ErrorCode::RefundExceedsCaptured, message)
}

fn session_state(found: SessionStateKind) -> ApiError {
    let message = format!("The Session is {}; only one that is CREATED can be replaced or cancelled.", found.as_str());
    ApiError::new(ErrorCode::InvalidSessionState, message)
}

fn precondition_failed() -> ApiError {
    let message = "The Session is another version than If-Match names; retrieve it and decide again.";
    ApiError::new(ErrorCode::PreconditionFailed, message)
}

fn currency_not_enabled(currency: Currency) -> ApiError {
    let message = format!("{currency} is not enabled for your account; use a currency that is, or have it enabled.");
    ApiError::new(ErrorCode::InvalidCurrency, message)
}

fn duplicate_reference() -> ApiError {
    ApiError::new(
        ErrorCode::DuplicateMerchantReferenceId,
        "This MerchantReference was used before, by a Session or as a ReferenceId; every Session needs one of its own.",
    )
}

/// 400 INVALID_REQUEST that names the fields.
fn fields(violations: Vec<Violation>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, "The request is not valid; FieldErrors names what to change.")
        .with_field_errors(violations.into_iter().map(FieldError::from).collect())
}
