//! The document that holds what is particular about a merchant's payment methods. Limits are whole minor units of their currency.

use std::collections::BTreeMap;

use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, GooglePayAccount, MerchantMethods, PayLaterRegion, Range, SalesChannel,
};
use dropin_money::Currency;
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::JsonDocument;
use dropin_validation::Country;
use serde::{Deserialize, Serialize};

use super::values::{currency, read_document, write_document};

const TABLE: &str = "merchant";

#[derive(Serialize, Deserialize)]
struct MethodsDocument {
    adjustments: BTreeMap<String, AdjustmentDocument>,
    pay_later_clients: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    google_pay: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    address_check: bool,
}

#[derive(Serialize, Deserialize)]
struct AdjustmentDocument {
    offered: Option<bool>,
    countries: Option<Vec<String>>,
    currencies: Option<Vec<String>>,
    amounts: Option<Vec<RangeDocument>>,
    channels: Option<Vec<String>>,
    recurring: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capture_later: Option<bool>,
    sandbox: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct RangeDocument {
    currency: String,
    least: i64,
    most: Option<i64>,
}

/// The document; none when nothing is particular.
pub(crate) fn write(methods: &MerchantMethods) -> Result<Option<JsonDocument>, Fault> {
    if methods.is_empty() {
        return Ok(None);
    }
    let adjustments = methods.adjustments.iter().map(|(id, one)| (id.to_owned(), AdjustmentDocument::new(one)));
    let clients = methods.pay_later_clients.iter().map(|(region, id)| (region.as_str().to_owned(), id.clone()));
    write_document(&MethodsDocument {
        adjustments: adjustments.collect(),
        pay_later_clients: clients.collect(),
        google_pay: methods.google_pay.as_ref().map(ToString::to_string),
        address_check: methods.address_check,
    })
    .map(Some)
}

/// What a document says.
pub(crate) fn read(stored: Option<&JsonDocument>) -> Result<MerchantMethods, Fault> {
    let mut methods = MerchantMethods::default();
    let Some(stored) = stored else { return Ok(methods) };
    let document: MethodsDocument = read_document(TABLE, stored)?;
    let adjustments = document.adjustments.into_iter().map(|(id, one)| one.restore().map(|one| (id, one)));
    methods.adjustments = Adjustments::restore(adjustments.collect::<Result<Vec<_>, Fault>>()?)
        .map_err(|_no_id| corrupt(TABLE, "an adjusted method is none"))?;
    for (name, client) in document.pay_later_clients {
        let region = name.parse::<PayLaterRegion>().ok();
        methods.pay_later_clients.insert(region.ok_or_else(|| corrupt(TABLE, "a region is none"))?, client);
    }
    let account = document.google_pay.as_deref().map(str::parse::<GooglePayAccount>).transpose();
    methods.google_pay = account.map_err(|_invalid| corrupt(TABLE, "an account for Google Pay is none"))?;
    methods.address_check = document.address_check;
    Ok(methods)
}

impl AdjustmentDocument {
    fn new(adjustment: &Adjustment) -> Self {
        let codes = |all: &Vec<Currency>| all.iter().map(|currency| currency.code().to_owned()).collect();
        let ranges = |all: &Vec<Range>| all.iter().map(RangeDocument::new).collect();
        let channels = |all: &Vec<SalesChannel>| all.iter().map(|channel| channel.as_str().to_owned()).collect();
        Self {
            offered: adjustment.offered,
            countries: adjustment.countries.clone(),
            currencies: adjustment.currencies.as_ref().map(codes),
            amounts: adjustment.amounts.as_ref().map(ranges),
            channels: adjustment.channels.as_ref().map(channels),
            recurring: adjustment.recurring,
            capture_later: adjustment.capture_later,
            sandbox: adjustment.sandbox,
        }
    }

    fn restore(self) -> Result<Adjustment, Fault> {
        for country in self.countries.iter().flatten() {
            Country::parse("", country).map_err(|_unknown| corrupt(TABLE, "a method's country is none"))?;
        }
        let channel = |name: &String| {
            let found = name.parse::<SalesChannel>().ok();
            found.ok_or_else(|| corrupt(TABLE, "a method's channel is none"))
        };
        Adjustment::new(AdjustmentParts {
            offered: self.offered,
            countries: self.countries,
            currencies: every(self.currencies, |code| currency(TABLE, code))?,
            amounts: every(self.amounts, RangeDocument::restore)?,
            channels: every(self.channels, channel)?,
            recurring: self.recurring,
            capture_later: self.capture_later,
            sandbox: self.sandbox,
        })
        .map_err(|_invalid| corrupt(TABLE, "a method's adjustment is none"))
    }
}

fn every<T, U>(list: Option<Vec<T>>, read: impl Fn(&T) -> Result<U, Fault>) -> Result<Option<Vec<U>>, Fault> {
    list.map(|list| list.iter().map(read).collect()).transpose()
}

impl RangeDocument {
    fn new(range: &Range) -> Self {
        Self { currency: range.currency().code().to_owned(), least: range.least(), most: range.most() }
    }

    fn restore(&self) -> Result<Range, Fault> {
        Range::new(currency(TABLE, &self.currency)?, self.least, self.most)
            .map_err(|_invalid| corrupt(TABLE, "a method's limit is none"))
    }
}
