use dropin_catalogue::{Catalogue, Class, Method};
use dropin_kernel::{Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use dropin_validation::{Text, UrlPolicy, WebUrl, parse_currency};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cart::{self, CartItem, ItemDto, ItemInput};
use super::consumer::{Consumer, ConsumerDto, ConsumerInput};
use crate::known::Known;
use crate::member::{List, Member, Object, Shape};
use crate::request::RequestError;
use crate::schema;
use crate::stash::{STASH_ID_FORM, is_stash_id};
use crate::strict_json::read_object;

/// The body of POST {checkout_url}/v2.21.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutRequest {
    /// The merchant that is named; whether it is the caller is not known yet.
    pub merchant_id: String,
    /// The merchant's own name for the payment.
    pub reference: Text,
    /// ConsumerCurrency; whether it is enabled for the merchant is not known yet.
    pub currency: Currency,
    /// Every ConsumerPrice times its Quantity; above zero.
    pub total: Amount,
    /// Consumer and Items, checked, as the JSON text that is kept beside the Order.
    pub document: String,
    /// Consumer.Country, ISO 3166-1 alpha-2.
    pub country: String,
    /// PaymentMethod: of the catalogue; whether it may be used is not known yet. Left out only with a stash, which then has to hold a wallet's token.
    pub method: Option<String>,
    /// Where the card or the wallet's token waits; exactly with a method of class Card, or without one.
    pub stash_id: Option<String>,
    /// Where the shopper comes back to; always with methods of class Card and Online, but for wallets.
    pub return_url: Option<String>,
    /// Whether to capture as soon as it is authorized.
    pub capture: bool,
    /// DeviceFingerprint: the one that the card was stashed with.
    pub fingerprint: Text,
}

/// A payment to make. A member that is not known here is FIELD_UNKNOWN; null and the empty text count as left out.
///
/// What depends on several fields:
///
/// - What is paid is every Items\[\].ConsumerPrice times its Quantity, in ConsumerCurrency. It must be more than zero and have at most 12 digits before
///   the point.
/// - PaymentMethod must be of the catalogue, and one for Consumer.Country and ConsumerCurrency.
/// - StashId is required for a method of class Card and refused with any other (CONFLICT).
/// - PaymentMethod may be left out when the stash holds a wallet's token, which carries the method; beside it APPLEPAY may stand.
/// - Return is required for methods of class Card (3-D Secure) and Online, but not for a wallet's token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = CheckoutRequest)]
struct CheckoutDto {
    /// Your own MerchantId.
    #[schema(value_type = String)]
    merchant_id: Member<String>,
    /// Your identifier of the payment; unique among all your ReferenceIds and MerchantReferences for ever.
    #[schema(value_type = schema::Text)]
    reference_id: Member<String>,
    #[schema(value_type = schema::CurrencyCode)]
    consumer_currency: Member<String>,
    #[schema(value_type = Option<schema::MethodId>)]
    payment_method: Member<String>,
    /// true: captured as soon as it is authorized. false when left out.
    #[schema(value_type = Option<bool>)]
    capture: Member<bool>,
    /// What is paid for.
    #[schema(value_type = Vec<ItemDto>, min_items = 1, max_items = 500)]
    items: Member<List<ItemDto>>,
    #[schema(value_type = ConsumerDto)]
    consumer: Member<Object<ConsumerDto>>,
    /// Of the shopper's browser: the one that the card was stashed with.
    #[schema(value_type = schema::Text)]
    device_fingerprint: Member<String>,
    /// Where the card or the wallet's token waits.
    #[schema(value_type = Option<schema::StashId>)]
    stash_id: Member<String>,
    /// Where the shopper comes back to from a hosted page; OrderId and State are appended to its query.
    #[schema(value_type = Option<schema::WebUrl>)]
    r#return: Member<String>,
    /// Contracts are not offered yet: refused with NOT_FOUND.
    #[schema(value_type = Option<schema::Text>)]
    contract_id: Member<String>,
}

impl Known for CheckoutDto {}

schema::sent_as! { CheckoutRequest => CheckoutDto; }

/// A checkout, its members of the right types.
struct CheckoutInput {
    merchant_id: String,
    reference_id: String,
    consumer_currency: String,
    payment_method: Option<String>,
    capture: bool,
    items: Vec<ItemInput>,
    consumer: ConsumerInput,
    device_fingerprint: String,
    stash_id: Option<String>,
    return_url: Option<String>,
    contract_id: Option<String>,
}

impl Shape for CheckoutDto {
    type Input = CheckoutInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<CheckoutInput> {
        let merchant_id = self.merchant_id.required(path, "MerchantId", all);
        let reference_id = self.reference_id.required(path, "ReferenceId", all);
        let consumer_currency = self.consumer_currency.required(path, "ConsumerCurrency", all);
        let payment_method = if self.contract_id.is_there() || self.stash_id.is_there() {
            // A contract names the method too, and so does a wallet's token (docs/SPECIFICATION.md#checkout-request).
            self.payment_method.optional(path, "PaymentMethod", all)
        } else {
            self.payment_method.required(path, "PaymentMethod", all)
        };
        let capture = self.capture.optional(path, "Capture", all);
        let items = self.items.required(path, "Items", all).and_then(|items| items.shapes("Items", all));
        let consumer =
            (self.consumer.required(path, "Consumer", all)).and_then(|consumer| consumer.shape("Consumer", all));
        let device_fingerprint = self.device_fingerprint.required(path, "DeviceFingerprint", all);
        let stash_id = self.stash_id.optional(path, "StashId", all);
        let return_url = self.r#return.optional(path, "Return", all);
        let contract_id = self.contract_id.optional(path, "ContractId", all);
        Some(CheckoutInput {
            merchant_id: merchant_id?,
            reference_id: reference_id?,
            consumer_currency: consumer_currency?,
            payment_method,
            capture: capture.unwrap_or(false),
            items: items?,
            consumer: consumer?,
            device_fingerprint: device_fingerprint?,
            stash_id,
            return_url,
            contract_id,
        })
    }
}

/// What is kept of a checkout beside its Order.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Document<'a> {
    consumer: &'a Consumer,
    items: &'a [CartItem],
}

impl CheckoutRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning (docs/SPECIFICATION.md#all-field-errors).
    pub fn parse(body: &[u8], policy: UrlPolicy, catalogue: &Catalogue) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: CheckoutDto = read_object(body, &mut all)?;
        let input = dto.shape("", &mut all);
        let input = all.into_result(input)?;
        let mut all = Violations::new();
        let request = Self::of(input, policy, catalogue, &mut all);
        Ok(all.into_result(request)?)
    }

    fn of(input: CheckoutInput, policy: UrlPolicy, catalogue: &Catalogue, all: &mut Violations) -> Option<Self> {
        let reference = all.check(Text::parse("ReferenceId", &input.reference_id));
        let currency = all.check(parse_currency("ConsumerCurrency", &input.consumer_currency));
        // Without a currency, prices are held against the one with the most decimals: what is wrong there is wrong in all.
        let items = cart::parse(&input.items, currency.unwrap_or(Currency::Kwd), policy, all);
        let total = currency.zip(items.as_ref()).and_then(|(currency, items)| all.check(cart::total(items, currency)));
        let consumer = Consumer::parse(&input.consumer, all);
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &input.device_fingerprint));
        if input.contract_id.is_some() {
            let why = "there is no such contract: contracts are not offered here; send PaymentMethod in its place";
            all.push("ContractId", ViolationCode::NotFound, why);
        }
        let method = input.payment_method.as_deref().and_then(|id| all.check(parse_method(id, catalogue)));
        input.check_stash(method, all);
        let return_url = input.return_url.as_ref().map(|url| all.check(WebUrl::parse("Return", url, policy)));
        if return_url.is_none() && method.is_some_and(|method| method.class() != Class::Offline && !method.is_token()) {
            let why = "is required for methods of class Card and Online: the shopper comes back to it";
            all.push("Return", ViolationCode::Missing, why);
        }
        let consumer = consumer?;
        let document = serde_json::to_string(&Document { consumer: &consumer, items: items.as_deref()? })
            .expect("a checkout has string keys and exact numbers only");
        Some(Self {
            merchant_id: input.merchant_id,
            reference: reference?,
            currency: currency?,
            total: total?,
            document,
            country: consumer.country.to_owned(),
            method: method.map(|method| method.id().to_owned()),
            stash_id: input.stash_id,
            return_url: return_url.flatten().map(|url| url.as_str().to_owned()),
            capture: input.capture,
            fingerprint: fingerprint?,
        })
    }
}

impl CheckoutInput {
    /// StashId goes with class Card, and with no other (docs/SPECIFICATION.md#checkout-request).
    fn check_stash(&self, method: Option<&Method>, all: &mut Violations) {
        if self.stash_id.as_deref().is_some_and(|id| !is_stash_id(id)) {
            all.push("StashId", ViolationCode::Invalid, STASH_ID_FORM);
        }
        let Some(method) = method else { return };
        match (method.class(), &self.stash_id) {
            (Class::Card, None) => {
                all.push("StashId", ViolationCode::Missing, "is required for methods of class Card");
            }
            (Class::Online | Class::Offline, Some(_)) => {
                for name in ["PaymentMethod", "StashId"] {
                    all.push(name, ViolationCode::Conflict, "a method without a card takes no StashId");
                }
            }
            (Class::Card, Some(_)) | (Class::Online | Class::Offline, None) => {}
        }
    }
}

/// Built in, or the deployment's own. Whether it may be used is asked of the catalogue when the payment is made.
fn parse_method<'a>(id: &str, catalogue: &'a Catalogue) -> Result<&'a Method, Violation> {
    let why = "must be the Id of a payment method of the catalogue: one that getPaymentMethods lists";
    catalogue.method(id).ok_or_else(|| Violation::new("PaymentMethod", ViolationCode::NotAllowed, why))
}
