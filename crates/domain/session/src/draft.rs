use dropin_kernel::{BillingProfileId, ContractId, Violation, ViolationCode, Violations};
use dropin_money::{Amount, Currency};
use dropin_validation::{
    BillingDetails, BillingInput, BillingProfile, Discount, DiscountInput, Item, ItemInput, SentNumber,
    ShippingDetails, ShippingInput, Text, Totals, UrlPolicy, WebUrl, parse_currency, sent_amount, total_amount,
};
use time::Date;

use crate::rate::{RequestedRate, SaleRate};
use crate::session::{BillingChoice, SessionTerms, SessionTermsParts};

/// What the meaning of a request depends on besides its text.
#[derive(Debug, Clone, Copy)]
pub struct DraftContext {
    /// Which URLs the deployment lets a merchant name.
    pub url_policy: UrlPolicy,
    /// The day in UTC.
    pub today: Date,
}

/// A create or update request as it was sent; its members are all there and of the right type (docs/SPECIFICATION.md#session-fields).
#[derive(Debug, Clone)]
pub struct SessionInput {
    /// MerchantReference
    pub merchant_reference: String,
    /// AutoCapture
    pub auto_capture: bool,
    /// CompleteUrl
    pub complete_url: String,
    /// CancelUrl
    pub cancel_url: String,
    /// Currency; may be left out beside a RateOfferId, which names one too (docs/SPECIFICATION.md#session-rate)
    pub currency: Option<String>,
    /// Items
    pub items: Vec<ItemInput>,
    /// BillingProfile
    pub billing_profile: Option<BillingInput>,
    /// BillingProfileReference
    pub billing_profile_reference: Option<String>,
    /// BillingProfileId
    pub billing_profile_id: Option<String>,
    /// ViaAgent
    pub via_agent: Option<bool>,
    /// ShippingDetails
    pub shipping: Option<ShippingInput>,
    /// TaxAmount
    pub tax: Option<SentNumber>,
    /// Discounts
    pub discounts: Option<Vec<DiscountInput>>,
    /// RateOfferId; what it leads to is looked up first
    pub rate_offer_id: Option<String>,
    /// AllowContract
    pub allow_contract: Option<bool>,
    /// OpenContract
    pub open_contract: Option<bool>,
    /// ContractId; what it names is looked up later
    pub contract_id: Option<String>,
}

/// How the merchant named the billing profile; a reference or id is not looked up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedBilling {
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
    /// How the billing profile was named.
    pub billing: RequestedBilling,
    /// ContractId; not looked up yet.
    pub contract_id: Option<ContractId>,
    merchant_reference: Text,
    auto_capture: bool,
    complete_url: WebUrl,
    cancel_url: WebUrl,
    via_agent: bool,
    allow_contract: Option<bool>,
    open_contract: Option<bool>,
    money: Money,
    total: Amount,
    rate: Option<SaleRate>,
}

/// Everything of a request that counts in its currency.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Money {
    items: Vec<Item>,
    shipping: Option<ShippingDetails>,
    tax: Option<Amount>,
    discounts: Option<Vec<Discount>>,
}

impl SessionDraft {
    /// Checks what the members mean; `rate` is what the RateOfferId led to.
    ///
    /// # Errors
    /// Every wrong meaning at once (docs/SPECIFICATION.md#all-field-errors).
    pub fn parse(input: &SessionInput, context: DraftContext, rate: &RequestedRate) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let merchant_reference = all.check(Text::parse("MerchantReference", &input.merchant_reference));
        let complete_url = all.check(WebUrl::parse("CompleteUrl", &input.complete_url, context.url_policy));
        let cancel_url = all.check(WebUrl::parse("CancelUrl", &input.cancel_url, context.url_policy));
        let currency = rate.currency(input.currency.as_deref().map(|code| parse_currency("Currency", code)), &mut all);
        // Without a currency, amounts are held against the one with the most decimals: what is wrong there is wrong in all.
        let money = Money::parse(input, currency.unwrap_or(Currency::Kwd), &mut all);
        let open_contract = input.open_contract == Some(true);
        let total =
            currency.zip(money.as_ref()).and_then(|(currency, money)| all.check(money.total(currency, open_contract)));
        let rate = total.as_ref().and_then(|total| all.check(rate.sale(total)));
        let billing = input.billing(&mut all, context.today);
        let contract_id = input.contract(&mut all);
        let whole = match (merchant_reference, complete_url, cancel_url, money, total, rate, billing) {
            (
                Some(merchant_reference),
                Some(complete_url),
                Some(cancel_url),
                Some(money),
                Some(total),
                Some(rate),
                Some(billing),
            ) => Some(Self {
                billing,
                contract_id,
                merchant_reference,
                auto_capture: input.auto_capture,
                complete_url,
                cancel_url,
                via_agent: input.via_agent.unwrap_or(false),
                allow_contract: input.allow_contract,
                open_contract: input.open_contract,
                money,
                total,
                rate,
            }),
            _ => None,
        };
        all.into_result(whole)
    }

    /// The currency of every amount.
    pub const fn currency(&self) -> Currency {
        self.total.currency()
    }

    /// The terms of the Session, with the billing profile that the wish led to.
    pub fn into_terms(self, billing: BillingProfile) -> SessionTerms {
        let currency = self.currency();
        let billing_choice = match self.billing {
            RequestedBilling::Supplied(_) => BillingChoice::Supplied,
            RequestedBilling::Reference(reference) => BillingChoice::ByReference(reference),
            RequestedBilling::Id(_) => BillingChoice::ById,
        };
        SessionTerms::of_draft(SessionTermsParts {
            merchant_reference: self.merchant_reference,
            auto_capture: self.auto_capture,
            complete_url: self.complete_url,
            cancel_url: self.cancel_url,
            currency,
            items: self.money.items,
            via_agent: self.via_agent,
            shipping: self.money.shipping,
            tax: self.money.tax,
            discounts: self.money.discounts,
            allow_contract: self.allow_contract,
            open_contract: self.open_contract,
            contract_id: self.contract_id,
            total: self.total,
            rate: self.rate,
            billing_choice,
            billing,
        })
    }
}

impl Money {
    fn parse(input: &SessionInput, currency: Currency, all: &mut Violations) -> Option<Self> {
        let items = all.check_all(Item::parse_all("Items", &input.items, currency));
        let discounts = (input.discounts.as_ref())
            .map(|discounts| all.check_all(Discount::parse_all("Discounts", discounts, currency)));
        let shipping = (input.shipping.as_ref())
            .map(|shipping| all.check_all(ShippingDetails::parse("ShippingDetails", shipping, currency)));
        let tax = input.tax.as_ref().map(|tax| all.check(sent_amount("TaxAmount", currency, tax)));
        Some(Self {
            items: items?,
            shipping: present_and_right(shipping)?,
            tax: present_and_right(tax)?,
            discounts: present_and_right(discounts)?,
        })
    }

    fn total(&self, currency: Currency, open_contract: bool) -> Result<Amount, Violation> {
        total_amount(Totals {
            currency,
            items: &self.items,
            tax: self.tax.as_ref(),
            shipping_and_duty: self
                .shipping
                .as_ref()
                .map(|shipping| (&shipping.shipping_amount, &shipping.duty_amount)),
            discounts: self.discounts.as_deref().unwrap_or_default(),
            open_contract,
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

/// What is said when none of the three ways to name a billing profile was taken (docs/SPECIFICATION.md#billing-choice).
pub fn no_billing_choice() -> Violation {
    let why = "is required, or BillingProfileReference or BillingProfileId in its place";
    Violation::new("BillingProfile", ViolationCode::Missing, why)
}

impl SessionInput {
    /// Exactly one of the three ways to name a billing profile (docs/SPECIFICATION.md#billing-choice).
    fn billing(&self, all: &mut Violations, today: Date) -> Option<RequestedBilling> {
        let given: Vec<_> = [
            ("BillingProfile", self.billing_profile.is_some()),
            ("BillingProfileReference", self.billing_profile_reference.is_some()),
            ("BillingProfileId", self.billing_profile_id.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect();
        if given.is_empty() {
            all.add(no_billing_choice());
        }
        if 1 < given.len() {
            for name in given {
                let why = "give exactly one of BillingProfile, BillingProfileReference and BillingProfileId";
                all.push(name, ViolationCode::Conflict, why);
            }
        }
        let supplied = self.billing_profile.as_ref().and_then(|input| {
            all.check_all(BillingDetails::parse("BillingProfile", input, today))
                .map(|details| RequestedBilling::Supplied(Box::new(details)))
        });
        let reference = (self.billing_profile_reference.as_ref())
            .and_then(|raw| all.check(Text::parse("BillingProfileReference", raw)).map(RequestedBilling::Reference));
        let id = self.billing_profile_id.as_ref().and_then(|raw| {
            let id = raw.parse().map_err(|_invalid| {
                Violation::new("BillingProfileId", ViolationCode::Invalid, "must be a UUID that an answer of ours gave")
            });
            all.check(id).map(RequestedBilling::Id)
        });
        supplied.or(reference).or(id)
    }

    /// A contract that there is, or none: a payment does not open one beside it (docs/SPECIFICATION.md#contract-return).
    fn contract(&self, all: &mut Violations) -> Option<ContractId> {
        let id = self.contract_id.as_ref()?;
        let both = [("AllowContract", self.allow_contract), ("OpenContract", self.open_contract)];
        let mut beside: Vec<_> = both.into_iter().filter(|one| one.1 == Some(true)).map(|one| one.0).collect();
        if !beside.is_empty() {
            beside.push("ContractId");
        }
        for field in beside {
            let why =
                "a Session opens a contract or brings the shopper back to one: send ContractId without the others";
            all.push(field, ViolationCode::Conflict, why);
        }
        let invalid = |_no_uuid| Violation::new("ContractId", ViolationCode::Invalid, "must be the UUID of a contract");
        all.check(id.parse().map_err(invalid))
    }
}
