//! What the drop-in in the shopper's browser sees and sends: nothing of billing, nothing of the merchant's credentials.

use dropin_catalogue::{Class, Offered, find_method};
use dropin_kernel::{AttemptId, Revision, Violation, ViolationCode, Violations};
use dropin_money::Decimal;
use dropin_order::BankDetails;
use dropin_session::{Session, SessionStateKind};
use dropin_validation::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::bank::BankDetailsBody;
use crate::gate::read_object;
use crate::member::Member;
use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;
use crate::session::{DiscountBody, ItemBody};
use crate::stash::{STASH_ID_FORM, is_stash_id};
use crate::wallet::TokenMethodBody;

/// What the shopper's view of a Session is made of.
#[derive(Debug, Clone, Copy)]
pub struct ViewSource<'a> {
    /// The Session.
    pub session: &'a Session,
    /// Name of the merchant, shown to the shopper.
    pub merchant_name: &'a str,
    /// Origins whose pages may embed the drop-in for it.
    pub origins: &'a [String],
    /// What it may be paid with.
    pub methods: &'a [Offered],
    /// The wallets that it may be paid with.
    pub token_methods: &'a [TokenMethodBody],
    /// {stash_url}: where the card goes.
    pub stash_url: &'a str,
    /// Whether the deployment is a sandbox.
    pub sandbox: bool,
}

/// The shopper's view of a Session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ShopperView)]
pub struct ShopperViewBody<'a> {
    #[schema(value_type = schema::Id)]
    session_id: String,
    #[schema(value_type = schema::SessionState)]
    state: &'static str,
    /// Send it with the submit, so that nobody pays another total than the one shown.
    #[schema(value_type = schema::Version)]
    version: i64,
    #[schema(value_type = schema::Id)]
    merchant_id: String,
    merchant_name: &'a str,
    /// Origins whose pages may embed the drop-in.
    merchant_origins: &'a [String],
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// Decimals to show.
    minor_units: u8,
    #[schema(value_type = schema::Amount)]
    total_amount: ExactNumber,
    items: Vec<ItemBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    tax_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    shipping_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Amount)]
    duty_amount: Option<ExactNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<DiscountBody>)]
    discounts: Option<Vec<DiscountBody<'a>>>,
    payment_methods: Vec<MethodBody>,
    /// Wallets, for whose button the page itself has to be asked; empty when there is none.
    token_methods: &'a [TokenMethodBody],
    /// {stash_url}: where the card goes.
    stash_url: &'a str,
    /// Whether no money moves.
    sandbox: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = PaymentMethod)]
struct MethodBody {
    id: &'static str,
    name: &'static str,
    class: &'static str,
}

impl<'a> ShopperViewBody<'a> {
    /// The part of the Session that its shopper may see.
    pub fn new(source: &ViewSource<'a>) -> Self {
        let session = source.session;
        let terms = &session.terms;
        let method = |method: &Offered| MethodBody { id: method.id, name: method.name, class: method.class.as_str() };
        Self {
            session_id: session.id.to_string(),
            state: session.state.kind().as_str(),
            version: session.revision.number(),
            merchant_id: session.merchant_id.to_string(),
            merchant_name: source.merchant_name,
            merchant_origins: source.origins,
            currency: terms.currency.code(),
            minor_units: terms.currency.exponent(),
            total_amount: (&terms.total).into(),
            items: terms.items.iter().map(ItemBody::from).collect(),
            tax_amount: terms.tax.as_ref().map(ExactNumber::from),
            shipping_amount: terms.shipping.as_ref().map(|shipping| (&shipping.shipping_amount).into()),
            duty_amount: terms.shipping.as_ref().map(|shipping| (&shipping.duty_amount).into()),
            discounts: terms.discounts.as_ref().map(|discounts| discounts.iter().map(DiscountBody::from).collect()),
            payment_methods: source.methods.iter().filter(|method| !method.token).map(method).collect(),
            token_methods: source.token_methods,
            stash_url: source.stash_url,
            sandbox: source.sandbox,
        }
    }
}

/// What the drop-in sends to pay. It names no amount: the total is the one of the version that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitRequest {
    /// The version of the Session on the shopper's screen.
    pub version: Revision,
    /// Made by the browser before sending, so that a repeat is recognised.
    pub attempt: AttemptId,
    /// What it is paid with.
    pub means: SubmitMeans,
    /// Of the browser, and of the one that stashed the card.
    pub fingerprint: String,
}

/// What the shopper pays with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitMeans {
    /// The card that waits under this StashId.
    Stash(String),
    /// A method of the catalogue without a card, by its id; whether it may be used for this Session is not known yet.
    Method(String),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = SubmitRequest)]
struct SubmitDto {
    #[schema(value_type = schema::Version)]
    version: Member<Decimal>,
    /// Made by the browser before sending, so that a repeat is recognised.
    #[schema(value_type = schema::Id)]
    attempt_id: Member<String>,
    /// Where the card waits.
    #[schema(value_type = Option<schema::StashId>)]
    stash_id: Member<String>,
    /// In place of StashId for a method without a card. Beside it the card's scheme may stand, and need not.
    #[schema(value_type = Option<schema::MethodId>)]
    payment_method: Member<String>,
    /// The one that the card was stashed with.
    #[schema(value_type = schema::Text)]
    device_fingerprint: Member<String>,
}

schema::sent_as! { SubmitRequest => SubmitDto; }

impl SubmitRequest {
    /// Reads the body of the submit call.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let dto: SubmitDto = read_object(body)?;
        let mut all = Violations::new();
        let version = dto.version.required("", "Version", &mut all);
        let attempt = dto.attempt_id.required("", "AttemptId", &mut all);
        if !dto.stash_id.is_there() && !dto.payment_method.is_there() {
            all.push("StashId", ViolationCode::Missing, "is required, or PaymentMethod in its place");
        }
        let stash_id = dto.stash_id.optional("", "StashId", &mut all);
        let method = dto.payment_method.optional("", "PaymentMethod", &mut all);
        let fingerprint = dto.device_fingerprint.required("", "DeviceFingerprint", &mut all);
        let shape = version.zip(attempt).zip(fingerprint);
        let ((version, attempt), fingerprint) = all.into_result(shape)?;
        let mut all = Violations::new();
        let invalid = |field, why| Violation::new(field, ViolationCode::Invalid, why);
        let version = version.to_whole_u32().map(|number| Revision::new(number.into()));
        let version = all.check(version.ok_or_else(|| invalid("Version", "must be the Version that the view gave")));
        let attempt = all.check(attempt.parse().map_err(|_invalid| invalid("AttemptId", "must be a UUID")));
        let means = means(stash_id, method, &mut all);
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &fingerprint));
        let whole = match (version, attempt, means, fingerprint) {
            (Some(version), Some(attempt), Some(means), Some(fingerprint)) => {
                Some(Self { version, attempt, means, fingerprint: fingerprint.into_string() })
            }
            _ => None,
        };
        Ok(all.into_result(whole)?)
    }
}

/// A card by its stash, or a method without a card by its id; never both.
fn means(stash_id: Option<String>, method: Option<String>, all: &mut Violations) -> Option<SubmitMeans> {
    if stash_id.as_deref().is_some_and(|id| !is_stash_id(id)) {
        all.push("StashId", ViolationCode::Invalid, STASH_ID_FORM);
    }
    let class = method.as_deref().and_then(|id| match find_method(id) {
        Some(method) => Some(method.class),
        None => {
            all.push("PaymentMethod", ViolationCode::NotAllowed, "must be one of the methods that the view lists");
            None
        }
    });
    match (stash_id, method) {
        (Some(_), Some(_)) if class.is_some_and(|class| class != Class::Card) => {
            for name in ["StashId", "PaymentMethod"] {
                all.push(name, ViolationCode::Conflict, "a method without a card takes no StashId: send one of them");
            }
            None
        }
        (Some(stash_id), _) => Some(SubmitMeans::Stash(stash_id)),
        (None, _) if class == Some(Class::Card) => {
            all.push("StashId", ViolationCode::Missing, "is required for a card");
            None
        }
        (None, method) => method.map(SubmitMeans::Method),
    }
}

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
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error_message: Option<&'static str>,
    /// While REDIRECTED: the page that the shopper has to visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    redirect_url: Option<&'a str>,
    /// Whether that page is the 3-D Secure of a card, which may be framed; the top page goes to any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool)]
    challenge: Option<bool>,
    /// Once COMPLETED, when it is paid by bank transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = BankDetailsBody)]
    bank_details: Option<BankDetailsBody<'a>>,
}

impl<'a> ProgressBody<'a> {
    /// `error_code` says why the Session ended without an Order; the drop-in hands it and its message to onFailure.
    pub fn new(state: SessionStateKind, error_code: Option<&'static str>) -> Self {
        Self {
            state: state.as_str(),
            error_code,
            error_message: error_code.map(message),
            redirect_url: None,
            challenge: None,
            bank_details: None,
        }
    }

    /// With the page that the shopper has to visit; `challenge` when it is the 3-D Secure of a card.
    #[must_use]
    pub fn with_page(self, url: &'a str, challenge: bool) -> Self {
        Self { redirect_url: Some(url), challenge: challenge.then_some(true), ..self }
    }

    /// With where the shopper transfers the money to.
    #[must_use]
    pub fn with_bank_details(self, details: &'a BankDetails) -> Self {
        Self { bank_details: Some(details.into()), ..self }
    }
}

/// For the merchant's developer, who finds it in onFailure; the drop-in shows the shopper its own words by the code.
fn message(error_code: &str) -> &'static str {
    match error_code {
        "PAYMENT_DECLINED" => "The payment was declined. Create a new Session to try again, with another card.",
        "INSUFFICIENT_FUNDS" => "The card was declined for lack of funds. Create a new Session to try another card.",
        "INVALID_CARD" => "The card's number, expiry or code is not valid. Create a new Session to try again.",
        "CANCELLED_BY_SHOPPER" => {
            "The shopper cancelled on the page of the bank or provider. Create a new Session to try again."
        }
        "AUTHENTICATION_FAILED" => {
            "The bank could not confirm that it is the card's owner who pays. Create a new Session to try again, with another card."
        }
        "PAYMENT_EXPIRED" => {
            "The shopper did not finish on the page of the bank or provider in time. Create a new Session to try again."
        }
        "PROCESSOR_UNAVAILABLE" => {
            "The payment could not be made and nothing was charged. Create a new Session to try again."
        }
        "SESSION_CANCELLED" => "The Session was cancelled. Create a new one to pay.",
        "SESSION_EXPIRED" => "The Session has expired. Create a new one to pay.",
        _ => "The payment was not made. Create a new Session to try again.",
    }
}
