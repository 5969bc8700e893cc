//! What an object of Stripe's says of an operation of ours. What is not understood whole is neither a yes nor a no.

use dropin_card::Scheme;
use dropin_contract::{CardSummary, CredentialDecline};
use dropin_kernel::OpId;
use dropin_money::{Amount, Currency};
use dropin_order::DeclineReason;
use dropin_ports::{CredentialApproval, IssuerChecks, ProcessorReply, Waiting};
use url::Url;

use crate::amount::from_units;
use crate::decline::meaning;
use crate::names::{CAPTURE, CURRENCY, CancellationReason, OPERATION, PAYS_STORED, STORES};
use crate::object::{CardObject, ErrorObject, Expandable, Intent, Refund};

/// What an intent says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// What became of the operation.
    Reply(ProcessorReply),
    /// Nothing was done under it so far.
    Nothing,
    /// It makes no sense.
    Senseless(&'static str),
}

impl From<ProcessorReply> for Known {
    fn from(reply: ProcessorReply) -> Self {
        Self::Reply(reply)
    }
}

pub(crate) fn declined(reason: DeclineReason) -> ProcessorReply {
    ProcessorReply::Declined { reason, retryable: false, credential: None }
}

pub(crate) fn unknown(why: impl Into<String>) -> ProcessorReply {
    ProcessorReply::Unknown { why: why.into() }
}

fn done(amount: Option<Amount>) -> ProcessorReply {
    ProcessorReply::Approved {
        amount,
        captured: false,
        under_review: false,
        credential: None,
        checks: IssuerChecks::default(),
    }
}

/// A no of the issuer's or of the processor's.
pub(crate) fn refused(error: &ErrorObject, pays_stored: bool) -> ProcessorReply {
    let row = meaning(error.decline_code(), error.code());
    let credential = pays_stored.then(|| CredentialDecline::from(row.category));
    ProcessorReply::Declined { reason: row.reason, retryable: row.retryable, credential }
}

fn is_about(intent: &Intent, key: OpId) -> bool {
    intent.metadata.get(OPERATION).and_then(|text| text.parse().ok()) == Some(key)
}

/// What became of the authorization that an intent is.
pub(crate) fn of_authorization(intent: &Intent, key: OpId) -> Known {
    if !is_about(intent, key) {
        return Known::Senseless("the intent is another operation's");
    }
    match intent.status.as_str() {
        "requires_payment_method" => match &intent.last_payment_error {
            Some(error) => refused(error, intent.metadata.contains_key(PAYS_STORED)).into(),
            None => Known::Nothing,
        },
        "requires_confirmation" => Known::Nothing,
        "requires_action" => match page(intent) {
            Some(page) => ProcessorReply::Pending(Waiting::Shopper { page, until: None }).into(),
            // Nobody can act, and nothing is reserved before somebody does.
            None => Known::Nothing,
        },
        "processing" => ProcessorReply::Pending(Waiting::Processor).into(),
        "requires_capture" | "succeeded" => approved(intent).map_or_else(Known::Senseless, Known::Reply),
        "canceled" => cancelled(intent).into(),
        _ => Known::Senseless("a status that is not known here"),
    }
}

fn page(intent: &Intent) -> Option<String> {
    let page = intent.next_action.as_ref()?.redirect_to_url.as_ref()?.url.as_ref()?;
    let url = Url::parse(page).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

/// Why nothing can be paid any more.
fn cancelled(intent: &Intent) -> ProcessorReply {
    let was_asked = intent.payment_method.is_some();
    // Cancelled because it had been declined.
    if let Some(error) = &intent.last_payment_error {
        return refused(error, intent.metadata.contains_key(PAYS_STORED));
    }
    match intent.cancellation_reason.as_deref().and_then(CancellationReason::of) {
        Some(CancellationReason::Abandoned) if was_asked => declined(DeclineReason::PageClosed),
        Some(CancellationReason::Abandoned) => ProcessorReply::Abandoned,
        Some(CancellationReason::Voided) => declined(DeclineReason::Voided),
        None => declined(DeclineReason::Expired),
    }
}

fn approved(intent: &Intent) -> Result<ProcessorReply, &'static str> {
    let amount = amount_of(intent, intent.amount).ok_or("approved, but the amount makes no sense")?;
    let card = card(intent);
    let summary = card.map(summary).transpose().map_err(|Senseless| "approved, but its card makes no sense");
    let (stores, pays_stored) = (intent.metadata.contains_key(STORES), intent.metadata.contains_key(PAYS_STORED));
    let credential = match (stores, pays_stored) {
        (false, false) => None,
        _ => {
            let stored = stores.then(|| stored(intent)).transpose();
            let stored = stored.map_err(|Senseless| "approved, but what it stored makes no sense")?;
            let card = summary?;
            // Without its card a contract cannot be shown, and it does not know when it ends.
            if stored.is_some() && card.is_none() {
                return Err("approved and stored, but it does not say which card");
            }
            // Stripe links the payments of a customer by itself.
            Some(Box::new(CredentialApproval { stored, card, network_transaction_id: None }))
        }
    };
    Ok(ProcessorReply::Approved {
        amount: Some(amount),
        captured: intent.capture_method.as_deref() == Some("automatic"),
        under_review: false,
        credential,
        checks: card.map(checks).unwrap_or_default(),
    })
}

/// An amount of an intent's; zero of one that sets up.
fn amount_of(intent: &Intent, units: Option<i64>) -> Option<Amount> {
    match (units, intent.currency.as_deref()) {
        (Some(units), Some(currency)) => from_units(currency, units),
        (None, None) => intent.metadata.get(CURRENCY)?.parse::<Currency>().ok().map(Amount::zero),
        _ => None,
    }
}

struct Senseless;

/// The customer and the payment method that charge the card again.
fn stored(intent: &Intent) -> Result<dropin_ports::StoredCredential, Senseless> {
    let customer = match intent.customer.as_ref().ok_or(Senseless)? {
        Expandable::Id(id) => id,
        Expandable::Object(customer) => &customer.id,
    };
    let method = match intent.payment_method.as_ref().ok_or(Senseless)? {
        Expandable::Id(id) => id,
        Expandable::Object(method) => &method.id,
    };
    format!("{customer}/{method}").parse().map_err(|_too_long| Senseless)
}

/// The card, as it was charged or as it was set up.
fn card(intent: &Intent) -> Option<&CardObject> {
    let charge = intent.latest_charge.as_ref().and_then(Expandable::object);
    let charged = charge.and_then(|charge| charge.payment_method_details.as_ref()?.card.as_ref());
    charged.or_else(|| intent.payment_method.as_ref().and_then(Expandable::object)?.card.as_ref())
}

fn summary(card: &CardObject) -> Result<CardSummary, Senseless> {
    let scheme = match card.brand.as_deref() {
        Some("visa") => Scheme::Visa,
        Some("mastercard") => Scheme::Mastercard,
        Some("amex") => Scheme::AmericanExpress,
        Some("discover") => Scheme::Discover,
        Some("jcb") => Scheme::Jcb,
        Some("diners") => Scheme::Diners,
        Some("cartes_bancaires") => Scheme::CartesBancaires,
        _ => return Err(Senseless),
    };
    let (year, month) = card.exp_year.zip(card.exp_month).ok_or(Senseless)?;
    Ok(CardSummary {
        scheme,
        last_four: card.last4.as_deref().and_then(|digits| digits.parse().ok()).ok_or(Senseless)?,
        expiry: format!("{year:04}-{month:02}").parse().map_err(|_no_month| Senseless)?,
    })
}

fn checks(card: &CardObject) -> IssuerChecks {
    let passes = |check: Option<&String>| match check.map(String::as_str) {
        Some("pass") => Some(true),
        Some("fail") => Some(false),
        _ => None,
    };
    let of_card = card.checks.as_ref();
    let line = passes(of_card.and_then(|checks| checks.address_line1_check.as_ref()));
    let code = passes(of_card.and_then(|checks| checks.address_postal_code_check.as_ref()));
    let address_matches = match (line, code) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (line, code) => line.or(code),
    };
    let authenticated = match card.three_d_secure.as_ref() {
        None => Some(false),
        Some(said) => said.result.as_deref().map(|result| result == "authenticated"),
    };
    IssuerChecks {
        address_matches,
        code_matches: passes(of_card.and_then(|checks| checks.cvc_check.as_ref())),
        authenticated,
        card_country: card.country.as_deref().and_then(|code| code.parse().ok()),
        // What is `unknown` there is not known here.
        funding: card.funding.as_deref().and_then(|code| code.to_ascii_uppercase().parse().ok()),
    }
}

/// What became of the capture under this key.
pub(crate) fn of_capture(intent: &Intent, authorization: OpId, key: OpId) -> Known {
    if !is_about(intent, authorization) {
        return Known::Senseless("the intent is another operation's");
    }
    match intent.status.as_str() {
        "requires_capture" => Known::Nothing,
        "succeeded" => match intent.metadata.get(CAPTURE).and_then(|text| text.parse::<OpId>().ok()) {
            Some(captured) if captured == key => match amount_of(intent, intent.amount_received) {
                Some(amount) => done(Some(amount)).into(),
                None => Known::Senseless("captured, but the amount makes no sense"),
            },
            Some(_other) => declined(DeclineReason::AlreadyCaptured).into(),
            // By hand, or with its authorization.
            None => declined(DeclineReason::Generic).into(),
        },
        "processing" => ProcessorReply::Pending(Waiting::Processor).into(),
        "canceled" => match cancelled(intent) {
            ProcessorReply::Abandoned => declined(DeclineReason::Voided),
            reply => reply,
        }
        .into(),
        // There is nothing to capture.
        _ => declined(DeclineReason::Generic).into(),
    }
}

/// What became of a void: whoever cancelled it, nothing is reserved.
pub(crate) fn of_void(intent: &Intent, authorization: OpId) -> Known {
    if !is_about(intent, authorization) {
        return Known::Senseless("the intent is another operation's");
    }
    match intent.status.as_str() {
        "canceled" => done(None).into(),
        "succeeded" => declined(DeclineReason::Generic).into(),
        "processing" => ProcessorReply::Pending(Waiting::Processor).into(),
        _ => Known::Nothing,
    }
}

/// Whether a refund is the one under this key.
pub(crate) fn is_refund(refund: &Refund, key: OpId) -> bool {
    refund.metadata.get(OPERATION).and_then(|text| text.parse().ok()) == Some(key)
}

/// What became of the refund under this key.
pub(crate) fn of_refund(refund: &Refund, reference: &str, key: OpId) -> Known {
    let of_intent = match &refund.payment_intent {
        Some(Expandable::Id(id)) => id == reference,
        Some(Expandable::Object(intent)) => intent.id == reference,
        None => false,
    };
    if !of_intent || !is_refund(refund, key) {
        return Known::Senseless("the refund is another operation's");
    }
    match refund.status.as_deref() {
        Some("succeeded") => match from_units(&refund.currency, refund.amount) {
            Some(amount) => done(Some(amount)).into(),
            None => Known::Senseless("refunded, but the amount makes no sense"),
        },
        Some("pending" | "requires_action") => ProcessorReply::Pending(Waiting::Processor).into(),
        Some("failed" | "canceled") => declined(DeclineReason::Generic).into(),
        _ => Known::Senseless("a status of a refund that is not known here"),
    }
}
