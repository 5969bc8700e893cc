use std::borrow::Cow;

use dropin_kernel::Violations;
use dropin_session::{SessionInput, no_billing_choice};
use dropin_validation::{DiscountInput, ItemInput, SentNumber};
use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::known::Known;
use crate::member::{List, Member, Object, Shape};
use crate::people::{BillingDto, ShippingDto};
use crate::request::RequestError;
use crate::schema;
use crate::strict_json::read_object;

/// The body of POST and PUT /v1/session.
#[derive(Debug)]
pub enum SessionRequest {}

impl SessionRequest {
    /// Reads the body; what its members mean is for [`SessionDraft::parse`](dropin_session::SessionDraft::parse), once it is known what a
    /// RateOfferId leads to.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member (docs/SPECIFICATION.md#all-field-errors).
    pub fn read(body: &[u8]) -> Result<SessionInput, RequestError> {
        let mut all = Violations::new();
        let dto: SessionDto = read_object(body, &mut all)?;
        let input = dto.shape("", &mut all);
        Ok(all.into_result(input)?)
    }
}

impl PartialSchema for SessionRequest {
    /// What only answers have is accepted and means nothing, so the document lists it beside what is read.
    fn schema() -> RefOr<Schema> {
        let mut schema = SessionDto::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            for name in SessionDto::ANSWERED {
                let ignored = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
                let ignored = ignored.description(Some("Only answers have it: ignored."));
                object.properties.insert((*name).to_owned(), RefOr::T(ignored.into()));
            }
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
        schema
    }
}

impl ToSchema for SessionRequest {
    fn name() -> Cow<'static, str> {
        SessionDto::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        SessionDto::schemas(schemas);
    }
}

/// A Session to create, or to put in the place of one. A member that is not known here is FIELD_UNKNOWN; null and the
/// empty text count as left out. What only answers have (State, TotalAmount and so on) is ignored, so that an answer can be sent back.
///
/// What depends on several fields:
///
/// - Exactly one of BillingProfile, BillingProfileReference and BillingProfileId. The latter two name a billing profile of an earlier Session.
/// - Address: CA, MX and US need Region, a code of ISO 3166-2; BR, CA, MX and US need Postcode.
/// - BillingProfile, by the country of its address: BR, AR and IN need NationalIdentifier, whose form and check digits are checked (BR: CPF or CNPJ;
///   AR: DNI, or CUIT/CUIL; IN: PAN or Aadhaar); BR needs BirthDate; a CNPJ needs Company.
/// - TotalAmount is TaxAmount, ShippingDetails.ShippingAmount, ShippingDetails.DutyAmount and every Items\[\].Amount, less every Discounts\[\].Amount.
///   Quantity does not multiply. It must be more than zero and have at most 12 digits before the point.
/// - An amount has at most as many decimals as its Currency.
/// - Currency is required unless there is a RateOfferId, whose currency it then is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = SessionRequest)]
struct SessionDto {
    /// Your identifier of the payment; unique among all your Sessions for ever.
    #[schema(value_type = schema::Text)]
    merchant_reference: Member<String>,
    /// true: the Order is captured as soon as it is authorized.
    #[schema(value_type = bool)]
    auto_capture: Member<bool>,
    /// Where the shopper goes when a redirect completes.
    #[schema(value_type = schema::WebUrl)]
    complete_url: Member<String>,
    /// Where the shopper goes when a redirect fails or is cancelled; the page with the drop-in.
    #[schema(value_type = schema::WebUrl)]
    cancel_url: Member<String>,
    /// Required unless RateOfferId names one; both must say the same.
    #[schema(value_type = Option<schema::CurrencyCode>)]
    currency: Member<String>,
    /// What is paid for.
    #[schema(value_type = Vec<ItemDto>, min_items = 1, max_items = 500)]
    items: Member<List<ItemDto>>,
    /// A new billing profile. Give exactly one of BillingProfile, BillingProfileReference and BillingProfileId.
    #[schema(value_type = Option<BillingDto>)]
    billing_profile: Member<Object<BillingDto>>,
    /// Your reference of an existing billing profile.
    #[schema(value_type = Option<schema::Text>)]
    billing_profile_reference: Member<String>,
    /// Our id of an existing billing profile.
    #[schema(value_type = Option<schema::Id>)]
    billing_profile_id: Member<String>,
    /// true when an agent places the Session for the consumer.
    #[schema(value_type = Option<bool>)]
    via_agent: Member<bool>,
    /// Required when a physical good is shipped.
    #[schema(value_type = Option<ShippingDto>)]
    shipping_details: Member<Object<ShippingDto>>,
    /// Added to TotalAmount.
    #[schema(value_type = Option<schema::AmountRequest>)]
    tax_amount: Member<SentNumber>,
    /// Each is subtracted from TotalAmount, which may not become negative.
    #[schema(value_type = Option<Vec<DiscountDto>>, max_items = 500)]
    discounts: Member<List<DiscountDto>>,
    /// The Id of a rate offer that getRates lists: fixes the exchange rate, and the Currency when that is left out.
    #[schema(value_type = Option<schema::Text>)]
    rate_offer_id: Member<String>,
    /// true: the shopper may choose to save the card, which opens a contract.
    #[schema(value_type = Option<bool>)]
    allow_contract: Member<bool>,
    /// true: the payment opens a contract, whatever AllowContract says; the total may be zero.
    #[schema(value_type = Option<bool>)]
    open_contract: Member<bool>,
    /// Brings the shopper back to this contract: to pay with its card, or with another that takes its place. Not beside OpenContract or AllowContract.
    #[schema(value_type = Option<schema::Id>)]
    contract_id: Member<String>,
}

impl Known for SessionDto {
    const ANSWERED: &'static [&'static str] = &[
        "Attempts",
        "CreatedAt",
        "ExpiresAt",
        "Order",
        "PaymentMethod",
        "Rate",
        "RedirectUrl",
        "SessionId",
        "SettlementAmount",
        "SettlementCurrency",
        "State",
        "TotalAmount",
        "UpdatedAt",
    ];
    const NESTED: &'static [&'static str] = &[
        "BillingProfile.Address",
        "BillingProfile.Email",
        "BillingProfile.Name",
        "BillingProfile.NationalIdentifier",
        "ShippingDetails.DutyAmount",
        "ShippingDetails.ShippingAmount",
    ];
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = ItemRequest)]
struct ItemDto {
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    /// Amount of the line; Quantity does not multiply it.
    #[schema(value_type = schema::AmountRequest)]
    amount: Member<SentNumber>,
    #[schema(value_type = schema::Quantity)]
    quantity: Member<SentNumber>,
}

impl Known for ItemDto {}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = DiscountRequest)]
struct DiscountDto {
    /// What it is for.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    /// More than zero.
    #[schema(value_type = schema::AmountRequest)]
    amount: Member<SentNumber>,
}

impl Known for DiscountDto {}

impl SessionDto {
    /// Answers name the billing profile beside showing it. A BillingProfile that is sent back is the one that counts; what names the same one
    /// is left out.
    fn drop_echoed_names(&mut self) {
        let (Member::Given(profile), Member::Given(id)) = (&self.billing_profile, &self.billing_profile_id) else {
            return;
        };
        let profile = profile.get();
        if !profile.billing_profile_id.is(id) {
            return;
        }
        self.billing_profile_id = Member::Absent;
        if let Member::Given(reference) = &self.billing_profile_reference
            && profile.billing_profile_reference.is(reference)
        {
            self.billing_profile_reference = Member::Absent;
        }
    }
}

impl Shape for SessionDto {
    type Input = SessionInput;

    fn shape(mut self, path: &str, all: &mut Violations) -> Option<SessionInput> {
        self.drop_echoed_names();
        let billings = [
            self.billing_profile.is_there(),
            self.billing_profile_reference.is_there(),
            self.billing_profile_id.is_there(),
        ];
        if !billings.contains(&true) {
            all.add(no_billing_choice());
        }
        let merchant_reference = self.merchant_reference.required(path, "MerchantReference", all);
        let auto_capture = self.auto_capture.required(path, "AutoCapture", all);
        let complete_url = self.complete_url.required(path, "CompleteUrl", all);
        let cancel_url = self.cancel_url.required(path, "CancelUrl", all);
        let currency = if self.rate_offer_id.is_there() {
            // A rate offer names the currency too (docs/SPECIFICATION.md#session-rate).
            self.currency.optional(path, "Currency", all)
        } else {
            self.currency.required(path, "Currency", all)
        };
        let items = self.items.required(path, "Items", all).and_then(|items| items.shapes("Items", all));
        let billing_profile = (self.billing_profile.optional(path, "BillingProfile", all))
            .and_then(|billing| billing.shape("BillingProfile", all));
        let billing_profile_reference = self.billing_profile_reference.optional(path, "BillingProfileReference", all);
        let billing_profile_id = self.billing_profile_id.optional(path, "BillingProfileId", all);
        let via_agent = self.via_agent.optional(path, "ViaAgent", all);
        let shipping = (self.shipping_details.optional(path, "ShippingDetails", all))
            .and_then(|shipping| shipping.shape("ShippingDetails", all));
        let tax = self.tax_amount.optional(path, "TaxAmount", all);
        let discounts =
            (self.discounts.optional(path, "Discounts", all)).and_then(|discounts| discounts.shapes("Discounts", all));
        let rate_offer_id = self.rate_offer_id.optional(path, "RateOfferId", all);
        let allow_contract = self.allow_contract.optional(path, "AllowContract", all);
        let open_contract = self.open_contract.optional(path, "OpenContract", all);
        let contract_id = self.contract_id.optional(path, "ContractId", all);
        Some(SessionInput {
            merchant_reference: merchant_reference?,
            auto_capture: auto_capture?,
            complete_url: complete_url?,
            cancel_url: cancel_url?,
            currency,
            items: items?,
            billing_profile,
            billing_profile_reference,
            billing_profile_id,
            via_agent,
            shipping,
            tax,
            discounts,
            rate_offer_id,
            allow_contract,
            open_contract,
            contract_id,
        })
    }
}

impl Shape for ItemDto {
    type Input = ItemInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<ItemInput> {
        let name = self.name.required(path, "Name", all);
        let amount = self.amount.required(path, "Amount", all);
        let quantity = self.quantity.required(path, "Quantity", all);
        Some(ItemInput { name: name?, amount: amount?, quantity: quantity? })
    }
}

impl Shape for DiscountDto {
    type Input = DiscountInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<DiscountInput> {
        let name = self.name.required(path, "Name", all);
        let amount = self.amount.required(path, "Amount", all);
        Some(DiscountInput { name: name?, amount: amount? })
    }
}
