//! What a merchant's server asks of a contract through the checkout (docs/SPECIFICATION.md#open-contract).

use dropin_catalogue::{Catalogue, Class, Locale, Method};
use dropin_contract::{Consent, ContractKind};
use dropin_kernel::{ContractId, Timestamp, Violation, ViolationCode, Violations};
use dropin_money::Currency;
use dropin_validation::{Text, UrlPolicy, WebUrl, parse_currency};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::consumer::{Consumer, ConsumerDto, ConsumerInput};
use super::paid_by::parse_method;
use crate::catalogue::parse_locale;
use crate::known::Known;
use crate::member::{Member, Object, Shape};
use crate::request::RequestError;
use crate::schema;
use crate::stash::check_stash_id;
use crate::strict_json::read_object;

/// The body of POST {checkout_url}/v2.21/openContract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenContractRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The merchant's own name for the contract.
    pub reference: Text,
    /// RECURRING or UNSCHEDULED.
    pub kind: ContractKind,
    /// ConsumerCurrency: of every payment under it; whether it is enabled for the merchant is not known yet.
    pub currency: Currency,
    /// Consumer, checked, as the JSON text that is kept beside it: `{"Consumer":…}`, as of a checkout.
    pub document: String,
    /// Consumer.Country, ISO 3166-1 alpha-2.
    pub country: String,
    /// Consumer.Email.
    pub email: String,
    /// PaymentMethod: a card's, of the catalogue; whether it may be used is not known yet.
    pub method: String,
    /// Where the card waits.
    pub stash_id: String,
    /// Where the shopper comes back to.
    pub return_url: String,
    /// DeviceFingerprint: the one that the card was stashed with.
    pub fingerprint: Text,
    /// The merchant's reference of the shopper's billing profile; whether there is such a profile is not known yet.
    pub billing_profile_reference: Option<Text>,
    /// What the shopper agreed to.
    pub consent: ConsentRequest,
}

/// What the shopper agreed to, as it is sent: the time is that of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentRequest {
    /// Which text was shown.
    pub text_version: Text,
    /// In which language.
    pub locale: Locale,
}

impl ConsentRequest {
    /// The consent, given at the time of the call.
    pub fn given_at(self, at: Timestamp) -> Consent {
        let Self { text_version, locale } = self;
        Consent { text_version, locale, at }
    }

    /// What counts when none is sent: the merchant's own text, in English.
    fn of_merchant() -> Self {
        Self {
            text_version: "MERCHANT".parse().expect("a text"),
            locale: "en_US".parse().expect("a language and a country"),
        }
    }
}

/// A card to store, so that it can be charged again. A member that is not known here is FIELD_UNKNOWN; null and the empty text count as left out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = OpenContract)]
struct OpenContractDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    /// Your identifier of the contract; unique among all your ReferenceIds and MerchantReferences for ever.
    #[schema(value_type = schema::Text)]
    reference_id: Member<String>,
    #[schema(value_type = schema::OpenContractKind)]
    kind: Member<String>,
    /// Of every payment under it.
    #[schema(value_type = schema::CurrencyCode)]
    consumer_currency: Member<String>,
    #[schema(value_type = ConsumerDto)]
    consumer: Member<Object<ConsumerDto>>,
    /// The card's scheme: a method of class Card, and no wallet.
    #[schema(value_type = schema::MethodId)]
    payment_method: Member<String>,
    /// Where the card waits.
    #[schema(value_type = schema::StashId)]
    stash_id: Member<String>,
    /// Of the shopper's browser: the one that the card was stashed with.
    #[schema(value_type = schema::Text)]
    device_fingerprint: Member<String>,
    /// Where the shopper comes back to from 3-D Secure.
    #[schema(value_type = schema::WebUrl)]
    r#return: Member<String>,
    /// Your reference of the shopper's billing profile, by which contracts are listed.
    #[schema(value_type = Option<schema::Text>)]
    billing_profile_reference: Member<String>,
    /// What the shopper agreed to on your page. When left out, TextVersion is MERCHANT and Locale en_US.
    #[schema(value_type = Option<ConsentDto>)]
    consent: Member<Object<ConsentDto>>,
}

impl Known for OpenContractDto {
    const NESTED: &'static [&'static str] = &["Consent.TextVersion", "Consent.Locale"];
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = ConsentRequest, description = "What the shopper agreed to; the time of consent is that of the call.")]
pub(crate) struct ConsentDto {
    /// Which text was shown.
    #[schema(value_type = schema::Text)]
    text_version: Member<String>,
    /// In which language.
    #[schema(value_type = schema::LocaleName)]
    locale: Member<String>,
}

impl Known for ConsentDto {}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CloseContract)]
struct CloseContractDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    #[schema(value_type = schema::Id)]
    contract_id: Member<String>,
}

impl Known for CloseContractDto {}

schema::sent_as! {
    OpenContractRequest => OpenContractDto;
    CloseContractRequest => CloseContractDto;
}

/// An openContract, its members of the right types.
struct OpenContractInput {
    merchant_id: String,
    reference_id: String,
    kind: String,
    consumer_currency: String,
    consumer: ConsumerInput,
    payment_method: String,
    stash_id: String,
    device_fingerprint: String,
    return_url: String,
    billing_profile_reference: Option<String>,
    consent: Option<ConsentInput>,
}

/// A consent, its members of the right types.
pub(crate) struct ConsentInput {
    text_version: String,
    locale: String,
}

impl Shape for ConsentDto {
    type Input = ConsentInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<ConsentInput> {
        let text_version = self.text_version.required(path, "TextVersion", all);
        let locale = self.locale.required(path, "Locale", all);
        Some(ConsentInput { text_version: text_version?, locale: locale? })
    }
}

impl Shape for OpenContractDto {
    type Input = OpenContractInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<OpenContractInput> {
        let merchant_id = self.merchant_id.required(path, "MerchantId", all);
        let reference_id = self.reference_id.required(path, "ReferenceId", all);
        let kind = self.kind.required(path, "Kind", all);
        let consumer_currency = self.consumer_currency.required(path, "ConsumerCurrency", all);
        let consumer =
            (self.consumer.required(path, "Consumer", all)).and_then(|consumer| consumer.shape("Consumer", all));
        let payment_method = self.payment_method.required(path, "PaymentMethod", all);
        let stash_id = self.stash_id.required(path, "StashId", all);
        let device_fingerprint = self.device_fingerprint.required(path, "DeviceFingerprint", all);
        let return_url = self.r#return.required(path, "Return", all);
        let billing_profile_reference = self.billing_profile_reference.optional(path, "BillingProfileReference", all);
        let consent = (self.consent.optional(path, "Consent", all)).and_then(|consent| consent.shape("Consent", all));
        Some(OpenContractInput {
            merchant_id: merchant_id?,
            reference_id: reference_id?,
            kind: kind?,
            consumer_currency: consumer_currency?,
            consumer: consumer?,
            payment_method: payment_method?,
            stash_id: stash_id?,
            device_fingerprint: device_fingerprint?,
            return_url: return_url?,
            billing_profile_reference,
            consent,
        })
    }
}

/// What is kept of an openContract beside its contract.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Document<'a> {
    consumer: &'a Consumer,
}

impl OpenContractRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning (docs/SPECIFICATION.md#all-field-errors).
    pub fn parse(body: &[u8], policy: UrlPolicy, catalogue: &Catalogue) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: OpenContractDto = read_object(body, &mut all)?;
        let input = dto.shape("", &mut all);
        let input = all.into_result(input)?;
        let mut all = Violations::new();
        let request = Self::of(input, policy, catalogue, &mut all);
        Ok(all.into_result(request)?)
    }

    fn of(input: OpenContractInput, policy: UrlPolicy, catalogue: &Catalogue, all: &mut Violations) -> Option<Self> {
        let reference = all.check(Text::parse("ReferenceId", &input.reference_id));
        let kind = all.check(parse_kind(&input.kind));
        let currency = all.check(parse_currency("ConsumerCurrency", &input.consumer_currency));
        let consumer = Consumer::parse(&input.consumer, all);
        let method = all.check(parse_storable_method(&input.payment_method, catalogue));
        let stash = all.check(check_stash_id(&input.stash_id));
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &input.device_fingerprint));
        let return_url = all.check(WebUrl::parse("Return", &input.return_url, policy));
        let billing = input.billing_profile_reference;
        let billing = billing.and_then(|text| all.check(Text::parse("BillingProfileReference", &text)));
        let consent = match &input.consent {
            Some(consent) => consent.parse(all),
            None => Some(ConsentRequest::of_merchant()),
        };
        let consumer = consumer?;
        let document = serde_json::to_string(&Document { consumer: &consumer })
            .expect("a Consumer has string keys and texts only");
        Some(Self {
            merchant_id: input.merchant_id,
            reference: reference?,
            kind: kind?,
            currency: currency?,
            document,
            country: consumer.country.to_owned(),
            email: consumer.email,
            method: method?.id().to_owned(),
            stash_id: stash.map(|()| input.stash_id)?,
            return_url: return_url?.as_str().to_owned(),
            fingerprint: fingerprint?,
            billing_profile_reference: billing,
            consent: consent?,
        })
    }
}

impl ConsentInput {
    pub(crate) fn parse(&self, all: &mut Violations) -> Option<ConsentRequest> {
        let text_version = all.check(Text::parse("Consent.TextVersion", &self.text_version));
        let locale = all.check(parse_locale("Consent.Locale", &self.locale));
        Some(ConsentRequest { text_version: text_version?, locale: locale? })
    }
}

/// ONE_CLICK comes from a Session alone.
fn parse_kind(code: &str) -> Result<ContractKind, Violation> {
    let kind = code.parse().ok().filter(|kind: &ContractKind| kind.is_opened_by_server());
    kind.ok_or_else(|| Violation::new("Kind", ViolationCode::NotAllowed, "must be RECURRING or UNSCHEDULED"))
}

/// A method whose card the processor can keep: not one without a card, and not a wallet, whose token is of one payment.
fn parse_storable_method<'a>(id: &str, catalogue: &'a Catalogue) -> Result<&'a Method, Violation> {
    let method = parse_method(id, catalogue)?;
    let is_storable = method.class() == Class::Card && !method.is_token();
    let why = "must be a method of class Card, and no wallet: nothing else can be stored";
    if is_storable { Ok(method) } else { Err(Violation::new("PaymentMethod", ViolationCode::NotAllowed, why)) }
}

/// The body of POST {checkout_url}/v2.21/closeContract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseContractRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The contract.
    pub contract: ContractId,
}

impl CloseContractRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else a ContractId that is none.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: CloseContractDto = read_object(body, &mut all)?;
        let merchant_id = dto.merchant_id.required("", "MerchantId", &mut all);
        let contract = dto.contract_id.required("", "ContractId", &mut all);
        let (merchant_id, contract) = all.into_result(merchant_id.zip(contract))?;
        Ok(Self { merchant_id, contract: parse_contract_id(&contract)? })
    }
}

/// A ContractId of a body.
pub(super) fn parse_contract_id(text: &str) -> Result<ContractId, Violation> {
    let why = "must be a UUID that an answer of ours gave";
    text.parse().map_err(|_invalid| Violation::new("ContractId", ViolationCode::Invalid, why))
}
