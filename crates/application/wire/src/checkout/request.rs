use dropin_catalogue::Catalogue;
use dropin_kernel::Violations;
use dropin_money::{Amount, Currency};
use dropin_validation::{Text, UrlPolicy, parse_currency};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cart::{self, CartItem, ItemDto, ItemInput};
use super::consumer::{Consumer, ConsumerDto, ConsumerInput};
use super::paid_by::{PaidBy, PaidByInput};
use crate::known::Known;
use crate::member::{List, Member, Object, Shape};
use crate::request::RequestError;
use crate::schema;
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
    /// Consumer.Email.
    pub email: String,
    /// Whether to capture as soon as it is authorized.
    pub capture: bool,
    /// The members that say what it is paid with.
    pub paid_by: PaidBy,
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
/// - DeviceFingerprint is required, but not beside ContractId.
/// - ContractId charges the card of a contract without the shopper. PaymentMethod, StashId, Return and DeviceFingerprint beside it are refused (CONFLICT).
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
    #[schema(value_type = Option<schema::Text>)]
    device_fingerprint: Member<String>,
    /// Where the card or the wallet's token waits.
    #[schema(value_type = Option<schema::StashId>)]
    stash_id: Member<String>,
    /// Where the shopper comes back to from a hosted page; OrderId and State are appended to its query.
    #[schema(value_type = Option<schema::WebUrl>)]
    r#return: Member<String>,
    /// The RECURRING or UNSCHEDULED contract whose card is charged. Its Currency has to be ConsumerCurrency.
    #[schema(value_type = Option<schema::Id>)]
    contract_id: Member<String>,
}

impl Known for CheckoutDto {}

schema::sent_as! { CheckoutRequest => CheckoutDto; }

/// A checkout, its members of the right types.
struct CheckoutInput {
    merchant_id: String,
    reference_id: String,
    consumer_currency: String,
    capture: bool,
    items: Vec<ItemInput>,
    consumer: ConsumerInput,
    paid_by: PaidByInput,
}

impl Shape for CheckoutDto {
    type Input = CheckoutInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<CheckoutInput> {
        let merchant_id = self.merchant_id.required(path, "MerchantId", all);
        let reference_id = self.reference_id.required(path, "ReferenceId", all);
        let consumer_currency = self.consumer_currency.required(path, "ConsumerCurrency", all);
        let has_contract = self.contract_id.is_there();
        let payment_method = if has_contract || self.stash_id.is_there() {
            // A contract names the method too, and so does a wallet's token (docs/SPECIFICATION.md#checkout-request).
            self.payment_method.optional(path, "PaymentMethod", all)
        } else {
            self.payment_method.required(path, "PaymentMethod", all)
        };
        let capture = self.capture.optional(path, "Capture", all);
        let items = self.items.required(path, "Items", all).and_then(|items| items.shapes("Items", all));
        let consumer =
            (self.consumer.required(path, "Consumer", all)).and_then(|consumer| consumer.shape("Consumer", all));
        let device_fingerprint = if has_contract {
            self.device_fingerprint.optional(path, "DeviceFingerprint", all)
        } else {
            self.device_fingerprint.required(path, "DeviceFingerprint", all)
        };
        let stash_id = self.stash_id.optional(path, "StashId", all);
        let return_url = self.r#return.optional(path, "Return", all);
        let contract_id = self.contract_id.optional(path, "ContractId", all);
        Some(CheckoutInput {
            merchant_id: merchant_id?,
            reference_id: reference_id?,
            consumer_currency: consumer_currency?,
            capture: capture.unwrap_or(false),
            items: items?,
            consumer: consumer?,
            paid_by: PaidByInput { payment_method, device_fingerprint, stash_id, return_url, contract_id },
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
        let paid_by = input.paid_by.parse(policy, catalogue, all);
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
            email: consumer.email,
            capture: input.capture,
            paid_by: paid_by?,
        })
    }
}
