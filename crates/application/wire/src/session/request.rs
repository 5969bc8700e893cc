use dropin_kernel::{BillingProfileId, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency, Decimal};
use dropin_session::{BillingChoice, SessionTerms};
use dropin_validation::{
    BillingDetails, BillingInput, BillingProfile, Discount, DiscountInput, Item, ItemInput, ShippingDetails,
    ShippingInput, Text, Totals, UrlPolicy, WebUrl, parse_amount, total_amount,
};
use serde::Deserialize;
use time::Date;
use utoipa::ToSchema;

use crate::gate::json_object;
use crate::member::{List, Member, Object, Shape};
use crate::people::{BillingDto, ShippingDto};
use crate::request::RequestError;
use crate::schema;

/// What the meaning of a request depends on besides its text.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Which URLs the deployment lets a merchant name.
    pub url_policy: UrlPolicy,
    /// The day in UTC.
    pub today: Date,
}

/// How the merchant named the billing profile; a reference or id is not looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BillingWish {
    /// Supplied in full: a new profile is to be made of it.
    Supplied(Box<BillingDetails>),
    /// BillingProfileReference.
    Reference(Text),
    /// BillingProfileId.
    Id(BillingProfileId),
}

/// A valid create or update request; its terms lack nothing but the billing profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDraft {
    /// The currency of every amount.
    pub currency: Currency,
    /// How the billing profile was named.
    pub billing: BillingWish,
    merchant_reference: Text,
    auto_capture: bool,
    complete_url: WebUrl,
    cancel_url: WebUrl,
    via_agent: bool,
    money: Money,
    total: Amount,
}

/// Everything of a request that counts in its currency.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Money {
    items: Vec<Item>,
    shipping: Option<ShippingDetails>,
    tax: Option<Amount>,
    discounts: Option<Vec<Discount>>,
}

schema::sent_as! { SessionDraft => SessionDto; }

impl SessionDraft {
    /// Reads the body of POST and PUT /v1/session.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning (decisions.md section 2).
    pub fn parse(body: &[u8], reading: Reading) -> Result<Self, RequestError> {
        let text = json_object(body)?;
        let dto: SessionDto = serde_json::from_str(text)
            .map_err(|_unreadable| RequestError::Malformed("The body must be a JSON object.".to_owned()))?;
        let mut all = Violations::new();
        let input = dto.shape("", &mut all);
        let input = all.into_result(input)?;
        Ok(Self::mean(input, reading)?)
    }

    /// The terms of the Session, with the billing profile that the wish led to.
    pub fn into_terms(self, billing: BillingProfile) -> SessionTerms {
        let billing_choice = match self.billing {
            BillingWish::Supplied(_) => BillingChoice::Supplied,
            BillingWish::Reference(reference) => BillingChoice::ByReference(reference),
            BillingWish::Id(_) => BillingChoice::ById,
        };
        SessionTerms {
            merchant_reference: self.merchant_reference,
            auto_capture: self.auto_capture,
            complete_url: self.complete_url,
            cancel_url: self.cancel_url,
            currency: self.currency,
            items: self.money.items,
            via_agent: self.via_agent,
            shipping: self.money.shipping,
            tax: self.money.tax,
            discounts: self.money.discounts,
            total: self.total,
            billing_choice,
            billing,
        }
    }

    fn mean(input: SessionInput, reading: Reading) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let merchant_reference = all.check(Text::parse("MerchantReference", &input.merchant_reference));
        let complete_url = all.check(WebUrl::parse("CompleteUrl", &input.complete_url, reading.url_policy));
        let cancel_url = all.check(WebUrl::parse("CancelUrl", &input.cancel_url, reading.url_policy));
        let currency = input.currency.as_deref().and_then(|code| all.check(parse_currency(code)));
        // Without a currency, amounts are held against the one with the most decimals: what is wrong there is wrong in all.
        let money = Money::parse(&input, currency.unwrap_or(Currency::Kwd), &mut all);
        let total = currency.zip(money.as_ref()).and_then(|(currency, money)| all.check(money.total(currency)));
        let billing = input.billing(&mut all, reading.today);
        input.refuse_what_is_not_offered(&mut all);
        let whole = match (merchant_reference, complete_url, cancel_url, currency, money, total, billing) {
            (
                Some(merchant_reference),
                Some(complete_url),
                Some(cancel_url),
                Some(currency),
                Some(money),
                Some(total),
                Some(billing),
            ) => Some(Self {
                currency,
                billing,
                merchant_reference,
                auto_capture: input.auto_capture,
                complete_url,
                cancel_url,
                via_agent: input.via_agent,
                money,
                total,
            }),
            _ => None,
        };
        all.into_result(whole)
    }
}

impl Money {
    fn parse(input: &SessionInput, currency: Currency, all: &mut Violations) -> Option<Self> {
        if input.items.is_empty() {
            all.push("Items", ViolationCode::OutOfRange, "must have from 1 to 500 entries");
        }
        let items: Vec<_> = (input.items.iter().enumerate())
            .map(|(at, item)| all.check_all(Item::parse(&format!("Items[{at}]"), item, currency)))
            .collect();
        let discounts = input.discounts.as_ref().map(|discounts| {
            let parse = |(at, one)| all.check_all(Discount::parse(&format!("Discounts[{at}]"), one, currency));
            discounts.iter().enumerate().map(parse).collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>()
        });
        let shipping = (input.shipping.as_ref())
            .map(|shipping| all.check_all(ShippingDetails::parse("ShippingDetails", shipping, currency)));
        let tax = input.tax.as_ref().map(|tax| all.check(parse_amount("TaxAmount", currency, tax)));
        let items = items.into_iter().collect::<Option<Vec<_>>>().filter(|items| !items.is_empty())?;
        Some(Self {
            items,
            shipping: present_and_right(shipping)?,
            tax: present_and_right(tax)?,
            discounts: present_and_right(discounts)?,
        })
    }

    fn total(&self, currency: Currency) -> Result<Amount, Violation> {
        total_amount(Totals {
            currency,
            items: &self.items,
            tax: self.tax.as_ref(),
            shipping_and_duty: self
                .shipping
                .as_ref()
                .map(|shipping| (&shipping.shipping_amount, &shipping.duty_amount)),
            discounts: self.discounts.as_deref().unwrap_or_default(),
        })
    }
}

/// `None` when something was given and is wrong, else what was given.
fn present_and_right<T>(given: Option<Option<T>>) -> Option<Option<T>> {
    match given {
        None => Some(None),
        Some(None) => None,
        Some(right) => Some(right),
    }
}

fn parse_currency(code: &str) -> Result<Currency, Violation> {
    code.parse().map_err(|_unknown| {
        Violation::new(
            "Currency",
            ViolationCode::NotAllowed,
            "must be one of the currencies of the contract, such as USD",
        )
    })
}

/// A Session to create, or to put in the place of one. Unknown members are ignored; null counts as left out.
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
    #[schema(value_type = schema::CurrencyCode)]
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
    tax_amount: Member<Decimal>,
    /// Each is subtracted from TotalAmount, which may not become negative.
    #[schema(value_type = Option<Vec<DiscountDto>>, max_items = 500)]
    discounts: Member<List<DiscountDto>>,
    /// Guaranteed rates are not offered yet: refused with NOT_FOUND.
    #[schema(value_type = Option<schema::Text>)]
    rate_offer_id: Member<String>,
    /// Contracts are not offered yet: true is refused with VALUE_NOT_ALLOWED.
    #[schema(value_type = Option<bool>)]
    allow_contract: Member<bool>,
    /// Contracts are not offered yet: true is refused with VALUE_NOT_ALLOWED.
    #[schema(value_type = Option<bool>)]
    open_contract: Member<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ItemRequest)]
struct ItemDto {
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    /// Amount of the line; Quantity does not multiply it.
    #[schema(value_type = schema::AmountRequest)]
    amount: Member<Decimal>,
    #[schema(value_type = schema::Quantity)]
    quantity: Member<Decimal>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = DiscountRequest)]
struct DiscountDto {
    /// What it is for.
    #[schema(value_type = schema::Text)]
    name: Member<String>,
    /// More than zero.
    #[schema(value_type = schema::AmountRequest)]
    amount: Member<Decimal>,
}

/// A request whose members are all there and of the right type.
#[derive(Debug)]
struct SessionInput {
    merchant_reference: String,
    auto_capture: bool,
    complete_url: String,
    cancel_url: String,
    currency: Option<String>,
    items: Vec<ItemInput>,
    billing_profile: Option<BillingInput>,
    billing_profile_reference: Option<String>,
    billing_profile_id: Option<String>,
    via_agent: bool,
    shipping: Option<ShippingInput>,
    tax: Option<Decimal>,
    discounts: Option<Vec<DiscountInput>>,
    rate_offer_id: Option<String>,
    allow_contract: bool,
    open_contract: bool,
}

impl Shape for SessionDto {
    type Input = SessionInput;

    fn shape(self, path: &str, all: &mut Violations) -> Option<SessionInput> {
        let billings = [
            self.billing_profile.is_there(),
            self.billing_profile_reference.is_there(),
            self.billing_profile_id.is_there(),
        ];
        if !billings.contains(&true) {
            let why = "is required, or BillingProfileReference or BillingProfileId in its place";
            all.push("BillingProfile", ViolationCode::Missing, why);
        }
        let merchant_reference = self.merchant_reference.required(path, "MerchantReference", all);
        let auto_capture = self.auto_capture.required(path, "AutoCapture", all);
        let complete_url = self.complete_url.required(path, "CompleteUrl", all);
        let cancel_url = self.cancel_url.required(path, "CancelUrl", all);
        let currency = if self.rate_offer_id.is_there() {
            // A rate offer names the currency too (decisions.md section 5).
            self.currency.optional(path, "Currency", all)
        } else {
            self.currency.required(path, "Currency", all)
        };
        let items = self.items.required(path, "Items", all).and_then(|items| items.shapes("Items", all));
        let billing_profile = (self.billing_profile.optional(path, "BillingProfile", all))
            .and_then(|Object(billing)| billing.shape("BillingProfile", all));
        let billing_profile_reference = self.billing_profile_reference.optional(path, "BillingProfileReference", all);
        let billing_profile_id = self.billing_profile_id.optional(path, "BillingProfileId", all);
        let via_agent = self.via_agent.optional(path, "ViaAgent", all);
        let shipping = (self.shipping_details.optional(path, "ShippingDetails", all))
            .and_then(|Object(shipping)| shipping.shape("ShippingDetails", all));
        let tax = self.tax_amount.optional(path, "TaxAmount", all);
        let discounts =
            (self.discounts.optional(path, "Discounts", all)).and_then(|discounts| discounts.shapes("Discounts", all));
        let rate_offer_id = self.rate_offer_id.optional(path, "RateOfferId", all);
        let allow_contract = self.allow_contract.optional(path, "AllowContract", all);
        let open_contract = self.open_contract.optional(path, "OpenContract", all);
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
            via_agent: via_agent.unwrap_or(false),
            shipping,
            tax,
            discounts,
            rate_offer_id,
            allow_contract: allow_contract.unwrap_or(false),
            open_contract: open_contract.unwrap_or(false),
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

impl SessionInput {
    /// Exactly one of the three ways to name a billing profile (contract, note under the Session table).
    fn billing(&self, all: &mut Violations, today: Date) -> Option<BillingWish> {
        let given: Vec<_> = [
            ("BillingProfile", self.billing_profile.is_some()),
            ("BillingProfileReference", self.billing_profile_reference.is_some()),
            ("BillingProfileId", self.billing_profile_id.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        if 1 < given.len() {
            for name in given {
                let why = "give exactly one of BillingProfile, BillingProfileReference and BillingProfileId";
                all.push(name, ViolationCode::Conflict, why);
            }
        }
        let supplied = self.billing_profile.as_ref().and_then(|input| {
            all.check_all(BillingDetails::parse("BillingProfile", input, today))
                .map(|details| BillingWish::Supplied(Box::new(details)))
        });
        let reference = (self.billing_profile_reference.as_ref())
            .and_then(|raw| all.check(Text::parse("BillingProfileReference", raw)).map(BillingWish::Reference));
        let id = self.billing_profile_id.as_ref().and_then(|raw| {
            let id = raw.parse().map_err(|_invalid| {
                Violation::new("BillingProfileId", ViolationCode::Invalid, "must be a UUID that an answer of ours gave")
            });
            all.check(id).map(BillingWish::Id)
        });
        supplied.or(reference).or(id)
    }

    /// What this deployment cannot do is refused, never silently left out.
    fn refuse_what_is_not_offered(&self, all: &mut Violations) {
        if self.rate_offer_id.is_some() {
            let why = "there is no such rate offer: guaranteed rates are not offered here; send Currency in its place";
            all.push("RateOfferId", ViolationCode::NotFound, why);
        }
        for (name, asked) in [("AllowContract", self.allow_contract), ("OpenContract", self.open_contract)] {
            if asked {
                all.push(name, ViolationCode::NotAllowed, "contracts are not offered here; leave it out or send false");
            }
        }
    }
}
