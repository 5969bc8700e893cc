//! What the drop-in in the shopper's browser sees and sends: nothing of billing, nothing of the merchant's credentials.

use dropin_catalogue::Method;
use dropin_kernel::{AttemptId, Revision, Violation, ViolationCode, Violations};
use dropin_money::Decimal;
use dropin_session::{Session, SessionStateKind};
use dropin_validation::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::gate::read_object;
use crate::member::Member;
use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;
use crate::session::{DiscountBody, ItemBody};
use crate::stash::is_stash_id;

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
    pub methods: &'a [Method],
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
        let method = |method: &Method| MethodBody { id: method.id, name: method.name, class: method.class.as_str() };
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
            payment_methods: source.methods.iter().map(method).collect(),
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
    /// Where the card waits.
    pub stash_id: String,
    /// Of the browser that stashed the card.
    pub fingerprint: String,
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
    #[schema(value_type = schema::StashId)]
    stash_id: Member<String>,
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
        let stash_id = dto.stash_id.required("", "StashId", &mut all);
        let fingerprint = dto.device_fingerprint.required("", "DeviceFingerprint", &mut all);
        let (Some(version), Some(attempt), Some(stash_id), Some(fingerprint)) =
            (version, attempt, stash_id, fingerprint)
        else {
            return Err(all.into());
        };
        let invalid = |field, why| Violation::new(field, ViolationCode::Invalid, why);
        let version = version.to_whole_u32().map(|number| Revision::new(number.into()));
        let version = all.check(version.ok_or_else(|| invalid("Version", "must be the Version that the view gave")));
        let attempt = all.check(attempt.parse().map_err(|_invalid| invalid("AttemptId", "must be a UUID")));
        if !is_stash_id(&stash_id) {
            all.push("StashId", ViolationCode::Invalid, "must be 1 to 128 of A-Z a-z 0-9 . _ ~ -");
        }
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &fingerprint));
        let whole = match (version, attempt, fingerprint) {
            (Some(version), Some(attempt), Some(fingerprint)) => {
                Some(Self { version, attempt, stash_id, fingerprint: fingerprint.as_str().to_owned() })
            }
            _ => None,
        };
        Ok(all.into_result(whole)?)
    }
}

/// How an attempt to pay stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Progress)]
pub struct ProgressBody {
    #[schema(value_type = schema::SessionState)]
    state: &'static str,
    /// Why the Session ended without an Order; for onFailure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String)]
    error_message: Option<&'static str>,
}

impl ProgressBody {
    /// `error_code` says why the Session ended without an Order; the drop-in hands it and its message to onFailure.
    pub fn new(state: SessionStateKind, error_code: Option<&'static str>) -> Self {
        Self { state: state.as_str(), error_code, error_message: error_code.map(message) }
    }
}

/// For the merchant's developer, who finds it in onFailure; the drop-in shows the shopper its own words by the code.
fn message(error_code: &str) -> &'static str {
    match error_code {
        "PAYMENT_DECLINED" => "The payment was declined. Create a new Session to try again, with another card.",
        "INSUFFICIENT_FUNDS" => "The card was declined for lack of funds. Create a new Session to try another card.",
        "INVALID_CARD" => "The card's number, expiry or code is not valid. Create a new Session to try again.",
        "PROCESSOR_UNAVAILABLE" => {
            "The payment could not be made and nothing was charged. Create a new Session to try again."
        }
        "SESSION_CANCELLED" => "The Session was cancelled. Create a new one to pay.",
        "SESSION_EXPIRED" => "The Session has expired. Create a new one to pay.",
        _ => "The payment was not made. Create a new Session to try again.",
    }
}
