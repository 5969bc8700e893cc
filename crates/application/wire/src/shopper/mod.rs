//! What the drop-in in the shopper's browser sees and sends: nothing of billing, nothing of the merchant's credentials.

mod progress;
mod submit;

use dropin_catalogue::Offered;
use dropin_contract::{Contract, ContractKind};
use dropin_kernel::{AttemptId, Timestamp};
use dropin_order::ShopperCode;
use dropin_session::Session;
use dropin_validation::{Country, Postcode};
use serde::Serialize;
use utoipa::ToSchema;

pub use progress::ProgressBody;
pub use submit::{PayAnotherWayRequest, SubmitMeans, SubmitRequest};

use crate::number::ExactNumber;
use crate::schema;
use crate::session::{DiscountBody, ItemBody};
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
    /// The contract that a payment by a new card opens, or whose card it replaces.
    pub opens_contract: Option<ContractKind>,
    /// The contract that a payment by a new card opens where the shopper wants it.
    pub allows_contract: Option<ContractKind>,
    /// The stored cards that it may be paid with.
    pub saved_cards: &'a [SavedCardBody],
    /// The country whose postcode the shopper is asked for, who pays by a new card.
    pub asked_postcode: Option<Country>,
    /// {stash_url}: where the card goes.
    pub stash_url: &'a str,
    /// Whether the deployment is a sandbox.
    pub sandbox: bool,
    /// The attempt that failed last, while another may follow.
    pub failed_attempt: Option<FailedAttemptSource>,
    /// What the server's clock says.
    pub now: Timestamp,
}

/// What is told of a failed attempt.
#[derive(Debug, Clone, Copy)]
pub struct FailedAttemptSource {
    /// As the browser named it.
    pub attempt: AttemptId,
    /// Never the exact reason.
    pub code: ShopperCode,
    /// How many more may be made.
    pub attempts_left: u32,
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
    payment_methods: Vec<MethodBody<'a>>,
    /// The Kind of the contract that a payment by a new card opens, or whose card it replaces: the shopper is shown what that means, and submit
    /// carries Consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::ContractKindName)]
    opens_contract: Option<&'static str>,
    /// The Kind of the contract that a payment by a new card opens when submit carries Consent: the shopper may choose to save the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::ContractKindName)]
    allows_contract: Option<&'static str>,
    /// Stored cards that submit may name by ContractId, those used last first; often empty.
    saved_cards: &'a [SavedCardBody],
    /// What the shopper is asked of the billing address who pays by a new card, in the order of the country; left out where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    address_fields: Vec<AddressFieldBody>,
    /// Wallets, for whose button the page itself has to be asked; empty when there is none.
    token_methods: &'a [TokenMethodBody],
    /// {stash_url}: where the card goes.
    stash_url: &'a str,
    /// Whether no money moves.
    sandbox: bool,
    /// When it will be CANCELLED unless somebody pays.
    #[schema(value_type = schema::Moment)]
    expires_at: String,
    /// What the server's clock says; ExpiresAt is by that clock.
    #[schema(value_type = schema::Moment)]
    server_time: String,
    /// How many attempts to pay may still be made.
    attempts_left: u32,
    /// While CREATED: the attempt that failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = FailedAttemptBody)]
    attempt: Option<FailedAttemptBody>,
}

/// A field of the billing address that the shopper is asked for, because the Session has none and the issuer compares it
/// (docs/SPECIFICATION.md#address-check).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = AddressField)]
struct AddressFieldBody {
    /// The member of BillingAddress in the submit: Postcode.
    #[schema(value_type = String)]
    name: &'static str,
    /// A regular expression that the whole value has to match, spaces around it left out.
    pattern: String,
    /// A value, to show what is meant.
    #[schema(value_type = String)]
    example: &'static str,
}

impl AddressFieldBody {
    /// The postcode of a country whose form is known.
    fn postcode(country: Country) -> Option<Self> {
        let (pattern, example) = Postcode::pattern(country).zip(Postcode::example(country))?;
        Some(Self { name: "Postcode", pattern, example })
    }
}

/// An attempt to pay that failed, while another may follow.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = FailedAttempt)]
struct FailedAttemptBody {
    /// As the drop-in named it.
    #[schema(value_type = schema::Id)]
    attempt_id: String,
    /// What the shopper may know of the reason.
    #[schema(value_type = schema::ShopperErrorCode)]
    error_code: &'static str,
    /// How many attempts may still be made.
    attempts_left: u32,
}

impl From<FailedAttemptSource> for FailedAttemptBody {
    fn from(source: FailedAttemptSource) -> Self {
        let FailedAttemptSource { attempt, code, attempts_left } = source;
        Self { attempt_id: attempt.to_string(), error_code: code.as_str(), attempts_left }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = PaymentMethod)]
struct MethodBody<'a> {
    id: &'a str,
    name: &'a str,
    class: &'static str,
}

impl<'a> ShopperViewBody<'a> {
    /// The part of the Session that its shopper may see.
    pub fn new(source: &ViewSource<'a>) -> Self {
        let session = source.session;
        let terms = &session.terms;
        let method =
            |method: &'a Offered| MethodBody { id: method.id(), name: method.name(), class: method.class().as_str() };
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
            payment_methods: source.methods.iter().filter(|method| !method.is_token()).map(method).collect(),
            opens_contract: source.opens_contract.map(ContractKind::as_str),
            allows_contract: source.allows_contract.map(ContractKind::as_str),
            saved_cards: source.saved_cards,
            address_fields: source.asked_postcode.and_then(AddressFieldBody::postcode).into_iter().collect(),
            token_methods: source.token_methods,
            stash_url: source.stash_url,
            sandbox: source.sandbox,
            expires_at: session.expires_at.to_string(),
            server_time: source.now.to_string(),
            attempts_left: session.attempts.left(),
            attempt: source.failed_attempt.map(FailedAttemptBody::from),
        }
    }
}

/// A stored card, as its shopper may see it (docs/SPECIFICATION.md#one-click).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = SavedCard)]
pub struct SavedCardBody {
    /// Names it in submit.
    #[schema(value_type = schema::Id)]
    contract_id: String,
    #[schema(value_type = schema::MethodId)]
    payment_method: String,
    #[schema(value_type = schema::CardSchemeName)]
    scheme: &'static str,
    /// The last four digits of its number.
    #[schema(pattern = "^[0-9]{4}$")]
    last4: String,
    /// The last month that it is good for, `yyyy-MM`.
    #[schema(pattern = "^20[0-9]{2}-(0[1-9]|1[0-2])$")]
    expiry: String,
    /// Whether the shopper may have it forgotten.
    removable: bool,
}

impl SavedCardBody {
    /// The card of a contract; `None` where it has none.
    pub fn of(contract: &Contract, removable: bool) -> Option<Self> {
        let card = contract.card?.summary;
        Some(Self {
            contract_id: contract.id.to_string(),
            payment_method: contract.payment_method.clone(),
            scheme: card.scheme.as_str(),
            last4: card.last_four.to_string(),
            expiry: card.expiry.to_string(),
            removable,
        })
    }
}

/// That a page may embed the drop-in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Embeddable)]
pub struct EmbeddableBody {
    /// Always true: a page that may not hears why in an Error object.
    allowed: bool,
}

impl EmbeddableBody {
    /// The page may embed it.
    pub const fn allowed() -> Self {
        Self { allowed: true }
    }
}
