//! Rates and offers as they are stored. Rates are exact decimals in their one canonical form.

use std::collections::BTreeMap;

use diesel::prelude::{Insertable, Queryable, Selectable};
use dropin_access::{RateForm, RateSettings};
use dropin_kernel::{MerchantId, RateOfferId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{OfferSet, RateSourceState};
use dropin_rates::{
    Dated, ExchangeRate, Markup, Offer, OfferSetId, Pricing, Quote, QuoteRefusal, Rate, RefusedQuote, Source, Table,
};
use dropin_session::{SaleRate, SaleRateParts};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument};
use serde::{Deserialize, Serialize};
use time::Date;
use time::format_description::well_known::Iso8601;
use uuid::Uuid;

use super::values::{amount, currency, missing, read_document, write_document};
use crate::schema::{merchant_rates, rate_feed, rate_offer, rate_offer_set};

fn read_rate(table: &'static str, stored: &str) -> Result<Rate, Fault> {
    let rate: Option<Rate> = stored.parse().ok();
    rate.filter(|rate| rate.to_string() == stored).ok_or_else(|| missing(table, "a rate"))
}

/// What one unit of the settlement currency costs in the shopper's.
fn read_pair(
    table: &'static str,
    settlement: Currency,
    shopper: Currency,
    stored: &str,
) -> Result<ExchangeRate, Fault> {
    let rate = read_rate(table, stored)?;
    ExchangeRate::new(settlement, shopper, rate).map_err(|error| corrupt(table, format!("a rate {error}")))
}

/// The guaranteed rate in the document with a Session's terms.
#[derive(Serialize, Deserialize)]
pub(crate) struct RateDocument {
    offer: Uuid,
    rate: String,
    settlement_currency: String,
    settlement_minor: i64,
    /// Microseconds since 1970.
    expires_at: i64,
}

impl RateDocument {
    pub(crate) fn new(sale: &SaleRate) -> Self {
        Self {
            offer: sale.offer_id.uuid(),
            rate: sale.rate.rate().to_string(),
            settlement_currency: sale.settlement.currency().code().to_owned(),
            settlement_minor: sale.settlement.minor(),
            expires_at: sale.expires_at.micros(),
        }
    }

    /// The rate of a sale in the currency `shopper`.
    pub(super) fn restore(&self, shopper: Currency) -> Result<SaleRate, Fault> {
        const TABLE: &str = "session";
        let settlement = currency(TABLE, &self.settlement_currency)?;
        let parts = SaleRateParts {
            offer_id: RateOfferId::new(self.offer),
            rate: read_pair(TABLE, settlement, shopper, &self.rate)?,
            settlement: amount(TABLE, settlement, self.settlement_minor)?,
            expires_at: Timestamp::from_micros(self.expires_at),
        };
        SaleRate::restore(parts).map_err(|why| corrupt(TABLE, why.to_string()))
    }

    /// From the part of the terms that it is.
    pub(crate) fn read(stored: &JsonDocument, shopper: Currency) -> Result<SaleRate, Fault> {
        read_document::<Self>("session", stored)?.restore(shopper)
    }
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = merchant_rates)]
pub(crate) struct RatesRow {
    pub(crate) merchant_id: Id,
    pub(crate) form: String,
    pub(crate) settlement_currency: String,
    pub(crate) markups: JsonDocument,
}

/// Basis points by currency.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct MarkupsDocument(BTreeMap<String, u16>);

impl RatesRow {
    pub(crate) fn new(merchant: MerchantId, settings: &RateSettings) -> Result<Self, Fault> {
        let points = |(currency, markup): (&Currency, &Markup)| (currency.code().to_owned(), markup.basis_points());
        Ok(Self {
            merchant_id: Id(merchant.uuid()),
            form: settings.form.as_str().to_owned(),
            settlement_currency: settings.pricing.settlement.code().to_owned(),
            markups: write_document(&MarkupsDocument(settings.pricing.markups.iter().map(points).collect()))?,
        })
    }

    pub(crate) fn restore(&self) -> Result<RateSettings, Fault> {
        const TABLE: &str = "merchant_rates";
        let MarkupsDocument(points) = read_document(TABLE, &self.markups)?;
        let markup = |(code, points): (&String, &u16)| {
            let markup = Markup::from_basis_points(*points).map_err(|error| corrupt(TABLE, error.to_string()))?;
            Ok((currency(TABLE, code)?, markup))
        };
        Ok(RateSettings {
            form: self.form.parse::<RateForm>().map_err(|_unknown| corrupt(TABLE, "the form is unknown"))?,
            pricing: Pricing {
                settlement: currency(TABLE, &self.settlement_currency)?,
                markups: points.iter().map(markup).collect::<Result<_, Fault>>()?,
            },
        })
    }
}

#[derive(Serialize, Deserialize)]
struct QuoteDocument {
    rate: String,
    /// `yyyy-mm-dd`; none when it holds for ever.
    day: Option<String>,
    source: String,
}

impl QuoteDocument {
    fn new(quote: &Quote) -> Self {
        let day = match quote.dated {
            // `Date` displays as ISO 8601 writes the years 0 to 9999, and no other is read from a feed.
            Dated::On(day) => Some(day.to_string()),
            Dated::Always => None,
        };
        Self { rate: quote.rate.to_string(), day, source: quote.source.as_str().to_owned() }
    }

    fn restore(&self, table: &'static str) -> Result<Quote, Fault> {
        let day = |day: &String| Date::parse(day, &Iso8601::DATE).map_err(|_other| missing(table, "a day"));
        Ok(Quote {
            rate: read_rate(table, &self.rate)?,
            dated: self.day.as_ref().map(day).transpose()?.map_or(Dated::Always, Dated::On),
            source: self.source.parse::<Source>().map_err(|_unknown| missing(table, "a source"))?,
        })
    }
}

/// What one euro costs, by currency.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct TableDocument(BTreeMap<String, QuoteDocument>);

impl TableDocument {
    pub(crate) fn write(table: &Table) -> Result<JsonDocument, Fault> {
        let quote = |(currency, quote): (Currency, Quote)| (currency.code().to_owned(), QuoteDocument::new(&quote));
        write_document(&Self(table.quotes().map(quote).collect()))
    }

    pub(crate) fn read(stored: &JsonDocument) -> Result<Table, Fault> {
        const TABLE: &str = "rate_table";
        let Self(quotes) = read_document(TABLE, stored)?;
        quotes.iter().map(|(code, quote)| Ok((currency(TABLE, code)?, quote.restore(TABLE)?))).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct RefusedDocument {
    currency: String,
    why: String,
    former: Option<QuoteDocument>,
    offered: QuoteDocument,
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = rate_feed)]
pub(crate) struct RateSourceRow {
    pub(crate) id: i32,
    pub(crate) checked_at: Instant,
    pub(crate) next_at: Instant,
    pub(crate) stale_at: Option<Instant>,
    pub(crate) left_behind: JsonDocument,
    pub(crate) problem: Option<String>,
    pub(crate) refused: JsonDocument,
}

impl RateSourceRow {
    const TABLE: &str = "rate_feed";

    pub(crate) fn new(state: &RateSourceState) -> Result<Self, Fault> {
        let refused = |quote: &RefusedQuote| RefusedDocument {
            currency: quote.currency.code().to_owned(),
            why: quote.why.as_str().to_owned(),
            former: quote.former.as_ref().map(QuoteDocument::new),
            offered: QuoteDocument::new(&quote.offered),
        };
        let codes: Vec<_> = state.left_behind.iter().map(|currency| currency.code()).collect();
        Ok(Self {
            id: 1,
            checked_at: Instant(state.checked_at),
            next_at: Instant(state.next_at),
            stale_at: state.stale_at.map(Instant),
            left_behind: write_document(&codes)?,
            problem: state.problem.clone(),
            refused: write_document(&state.refused.iter().map(refused).collect::<Vec<_>>())?,
        })
    }

    pub(crate) fn restore(self) -> Result<RateSourceState, Fault> {
        let refused: Vec<RefusedDocument> = read_document(Self::TABLE, &self.refused)?;
        let left_behind: Vec<String> = read_document(Self::TABLE, &self.left_behind)?;
        Ok(RateSourceState {
            checked_at: self.checked_at.0,
            next_at: self.next_at.0,
            stale_at: self.stale_at.map(|at| at.0),
            left_behind: left_behind.iter().map(|code| currency(Self::TABLE, code)).collect::<Result<_, _>>()?,
            problem: self.problem,
            refused: refused.iter().map(RefusedDocument::restore).collect::<Result<_, _>>()?,
        })
    }
}

impl RefusedDocument {
    fn restore(&self) -> Result<RefusedQuote, Fault> {
        const TABLE: &str = RateSourceRow::TABLE;
        let why = self.why.parse::<QuoteRefusal>().ok();
        Ok(RefusedQuote {
            currency: currency(TABLE, &self.currency)?,
            why: why.ok_or_else(|| missing(TABLE, "why a quote was refused"))?,
            former: self.former.as_ref().map(|quote| quote.restore(TABLE)).transpose()?,
            offered: self.offered.restore(TABLE)?,
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = rate_offer_set)]
pub(crate) struct OfferSetRow {
    pub(crate) merchant_id: Id,
    pub(crate) number: i64,
    pub(crate) settlement_currency: String,
    pub(crate) created_at: Instant,
    pub(crate) expires_at: Instant,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = rate_offer)]
pub(crate) struct OfferRow {
    id: Id,
    merchant_id: Id,
    set_number: i64,
    currency: String,
    rate: String,
}

impl OfferSetRow {
    pub(crate) fn new(set: &OfferSet) -> Self {
        Self {
            merchant_id: Id(set.merchant_id.uuid()),
            number: set.id.number,
            settlement_currency: set.settlement.code().to_owned(),
            created_at: Instant(set.id.created_at),
            expires_at: Instant(set.expires_at),
        }
    }

    /// The set with its offers.
    pub(crate) fn restore(&self, offers: &[OfferRow]) -> Result<OfferSet, Fault> {
        Ok(OfferSet {
            id: OfferSetId { number: self.number, created_at: self.created_at.0 },
            merchant_id: MerchantId::new(self.merchant_id.0),
            settlement: currency("rate_offer_set", &self.settlement_currency)?,
            expires_at: self.expires_at.0,
            offers: offers.iter().map(|offer| offer.restore(self)).collect::<Result<_, _>>()?,
        })
    }
}

impl OfferRow {
    /// The rows of a set.
    pub(crate) fn all(set: &OfferSet) -> Vec<Self> {
        let row = |offer: &Offer| Self {
            id: Id(offer.id.uuid()),
            merchant_id: Id(set.merchant_id.uuid()),
            set_number: set.id.number,
            currency: offer.rate.quote().code().to_owned(),
            rate: offer.rate.rate().to_string(),
        };
        set.offers.iter().map(row).collect()
    }

    /// The number of the set that it belongs to.
    pub(crate) const fn set_number(&self) -> i64 {
        self.set_number
    }

    pub(crate) fn restore(&self, set: &OfferSetRow) -> Result<Offer, Fault> {
        let settlement = currency("rate_offer_set", &set.settlement_currency)?;
        let shopper = currency("rate_offer", &self.currency)?;
        Ok(Offer {
            id: RateOfferId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            rate: read_pair("rate_offer", settlement, shopper, &self.rate)?,
            created_at: set.created_at.0,
            expires_at: set.expires_at.0,
        })
    }
}
