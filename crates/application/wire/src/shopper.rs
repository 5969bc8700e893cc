//! What the drop-in in the shopper's browser sees and sends: nothing of billing, nothing of the merchant's credentials.

use dropin_catalogue::{Catalogue, Class, Offered};
use dropin_contract::{Contract, ContractKind};
use dropin_kernel::{AttemptId, ContractId, OrderId, Revision, Timestamp, Violation, ViolationCode, Violations};
use dropin_money::Decimal;
use dropin_order::{BankDetails, OrderState, ShopperCode};
use dropin_session::{Session, SessionStateKind};
use dropin_validation::{Country, Postcode, Text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::bank::BankDetailsBody;
use crate::checkout::{ConsentDto, ConsentRequest};
use crate::known::Known;
use crate::member::{Member, Object, Shape};
use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;
use crate::session::{DiscountBody, ItemBody};
use crate::stash::check_stash_id;
use crate::strict_json::read_object;
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
    /// What the shopper agreed to; whether the Session asks for it is not known yet.
    pub consent: Option<ConsentRequest>,
    /// The postcode of the card's billing address, as it was typed; whether the Session asks for it, and of which country, is not known yet.
    pub postcode: Option<String>,
}

/// What the shopper pays with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitMeans {
    /// The card, or the wallet's token, that waits under this StashId.
    Stash {
        /// Where it waits.
        stash_id: String,
        /// The method of the catalogue that is named beside it: the scheme to pay by. Whether the card bears its mark is not known yet.
        scheme: Option<String>,
    },
    /// A method of the catalogue without a card, by its id; whether it may be used for this Session is not known yet.
    Method(String),
    /// The stored card of this contract, whose verification code waits under the StashId.
    SavedCard {
        /// The contract; whether it may be paid with here is not known yet.
        contract: ContractId,
        /// Where the code waits.
        stash_id: String,
    },
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
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
    /// In place of StashId for a method without a card. Beside it stands the scheme that the shopper chose of a card that bears more than one; without it
    /// the card is paid by the scheme that its number is of.
    #[schema(value_type = Option<schema::MethodId>)]
    payment_method: Member<String>,
    /// In place of PaymentMethod: the saved card of this contract, whose verification code waits under StashId.
    #[schema(value_type = Option<schema::Id>)]
    contract_id: Member<String>,
    /// The one that the card was stashed with.
    #[schema(value_type = schema::Text)]
    device_fingerprint: Member<String>,
    /// Which text about the contract the shopper read: required of a new card where the view has OpensContract, and the shopper's choice where it has
    /// AllowsContract. Never beside ContractId.
    #[schema(value_type = Option<ConsentDto>)]
    consent: Member<Object<ConsentDto>>,
    /// Of this attempt alone: nothing of it is stored. Exactly where the view has AddressFields and a new card pays.
    #[schema(value_type = Option<BillingAddressDto>)]
    billing_address: Member<Object<BillingAddressDto>>,
}

impl Known for SubmitDto {
    const NESTED: &'static [&'static str] = &["Consent.TextVersion", "Consent.Locale", "BillingAddress.Postcode"];
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = BillingAddress)]
struct BillingAddressDto {
    /// Postal code of the address that the card's statements are sent to.
    #[schema(value_type = schema::Text)]
    postcode: Member<String>,
}

impl Known for BillingAddressDto {}

impl Shape for BillingAddressDto {
    type Input = String;

    fn shape(self, path: &str, all: &mut Violations) -> Option<String> {
        self.postcode.required(path, "Postcode", all)
    }
}

schema::sent_as! { SubmitRequest => SubmitDto; }

impl SubmitRequest {
    /// Reads the body of the submit call.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning.
    pub fn parse(body: &[u8], catalogue: &Catalogue) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: SubmitDto = read_object(body, &mut all)?;
        let version = dto.version.required("", "Version", &mut all);
        let attempt = dto.attempt_id.required("", "AttemptId", &mut all);
        if dto.contract_id.is_there() && !dto.stash_id.is_there() {
            all.push(
                "StashId",
                ViolationCode::Missing,
                "is required beside ContractId: the verification code waits there",
            );
        } else if !dto.stash_id.is_there() && !dto.payment_method.is_there() {
            all.push("StashId", ViolationCode::Missing, "is required, or PaymentMethod in its place");
        }
        let stash_id = dto.stash_id.optional("", "StashId", &mut all);
        let method = dto.payment_method.optional("", "PaymentMethod", &mut all);
        let contract = dto.contract_id.optional("", "ContractId", &mut all);
        let fingerprint = dto.device_fingerprint.required("", "DeviceFingerprint", &mut all);
        let consent = dto.consent.optional("", "Consent", &mut all);
        let consent = consent.and_then(|consent| consent.shape("Consent", &mut all));
        let address = dto.billing_address.optional("", "BillingAddress", &mut all);
        let postcode = address.and_then(|address| address.shape("BillingAddress", &mut all));
        let shape = version.zip(attempt).zip(fingerprint);
        let ((version, attempt), fingerprint) = all.into_result(shape)?;
        let mut all = Violations::new();
        let invalid = |field, why| Violation::new(field, ViolationCode::Invalid, why);
        let version = version.to_whole_u32().map(|number| Revision::new(number.into()));
        let version = all.check(version.ok_or_else(|| invalid("Version", "must be the Version that the view gave")));
        let attempt = all.check(attempt.parse().map_err(|_invalid| invalid("AttemptId", "must be a UUID")));
        let means = match contract {
            Some(contract) => saved_card(&contract, stash_id, method, &mut all),
            None => means(stash_id, method, catalogue, &mut all),
        };
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &fingerprint));
        let consent = consent.and_then(|consent| consent.parse(&mut all));
        let postcode = postcode.and_then(|text| all.check(Text::parse("BillingAddress.Postcode", &text)));
        let whole = match (version, attempt, means, fingerprint) {
            (Some(version), Some(attempt), Some(means), Some(fingerprint)) => {
                let postcode = postcode.map(Text::into_string);
                Some(Self { version, attempt, means, fingerprint: fingerprint.into_string(), consent, postcode })
            }
            _ => None,
        };
        Ok(all.into_result(whole)?)
    }
}

/// What the drop-in sends when the shopper wants to pay another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayAnotherWayRequest {
    /// The attempt whose page shall be closed.
    pub attempt: AttemptId,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = PayAnotherWayRequest)]
struct PayAnotherWayDto {
    /// The attempt whose page shall be closed.
    #[schema(value_type = schema::Id)]
    attempt_id: Member<String>,
}

impl Known for PayAnotherWayDto {}

schema::sent_as! { PayAnotherWayRequest => PayAnotherWayDto; }

impl PayAnotherWayRequest {
    /// Reads the body of the call.
    ///
    /// # Errors
    /// Malformed JSON; a missing or wrong AttemptId.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: PayAnotherWayDto = read_object(body, &mut all)?;
        let attempt = dto.attempt_id.required("", "AttemptId", &mut all);
        let attempt = all.into_result(attempt)?.parse();
        let attempt =
            attempt.map_err(|_invalid| Violation::new("AttemptId", ViolationCode::Invalid, "must be a UUID"))?;
        Ok(Self { attempt })
    }
}

/// A stored card, with the stash of its code; no method beside it.
fn saved_card(
    contract: &str,
    stash_id: Option<String>,
    method: Option<String>,
    all: &mut Violations,
) -> Option<SubmitMeans> {
    if method.is_some() {
        for name in ["ContractId", "PaymentMethod"] {
            all.push(name, ViolationCode::Conflict, "a saved card has its method: send one of them");
        }
    }
    let invalid = |_no_uuid| Violation::new("ContractId", ViolationCode::Invalid, "must be one that the view lists");
    let contract = all.check(contract.parse().map_err(invalid));
    let stash_id = stash_id.filter(|id| all.check(check_stash_id(id)).is_some());
    contract.zip(stash_id).map(|(contract, stash_id)| SubmitMeans::SavedCard { contract, stash_id })
}

/// A card by its stash, or a method without a card by its id; never both.
fn means(
    stash_id: Option<String>,
    method: Option<String>,
    catalogue: &Catalogue,
    all: &mut Violations,
) -> Option<SubmitMeans> {
    if let Some(id) = &stash_id {
        all.check(check_stash_id(id));
    }
    let class = method.as_deref().and_then(|id| match catalogue.method(id) {
        Some(method) => Some(method.class()),
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
        (Some(stash_id), scheme) => Some(SubmitMeans::Stash { stash_id, scheme }),
        (None, _) if class == Some(Class::Card) => {
            all.push("StashId", ViolationCode::Missing, "is required for a card");
            None
        }
        (None, method) => method.map(SubmitMeans::Method),
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
