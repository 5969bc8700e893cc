//! Exchange rates: the rates of the source, the rate settings of merchants, and the offers that were made.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_access::{RateChange, RateSettings};
use dropin_kernel::{MerchantId, RateOfferId, SessionId};
use dropin_money::Currency;
use dropin_ports::{
    AccountChanged, Applied, NewAuditEntry, OfferSet, OffersInserted, RateSourceCheck, RateStore, RatesInForce,
    StoreError,
};
use dropin_rates::{Offer, Table};
use dropin_session::SaleRate;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument, SqlDocument, SqlId, SqlInstant};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use crate::access::audited;
use crate::rows::{OfferRow, OfferSetRow, RateDocument, RateSourceRow, RatesRow, TableDocument};
use crate::schema::{merchant, merchant_rates, rate_feed, rate_offer, rate_offer_set, rate_table};
use crate::store::Store;

statement! {
    /// The state of the rate source. Two checks at once are written one after the other.
    WriteSourceState<'a> {
        id: i32 => Integer,
        checked_at: Instant => SqlInstant,
        next_at: Instant => SqlInstant,
        stale_at: Option<Instant> => Nullable<SqlInstant>,
        left_behind: &'a JsonDocument => SqlDocument,
        problem: Option<&'a str> => Nullable<Text>,
        refused: &'a JsonDocument => SqlDocument,
    }
    both "INSERT INTO rate_feed (id, checked_at, next_at, stale_at, left_behind, problem, refused) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) \
        ON CONFLICT (id) DO UPDATE \
        SET checked_at = excluded.checked_at, next_at = excluded.next_at, stale_at = excluded.stale_at, \
            left_behind = excluded.left_behind, problem = excluded.problem, refused = excluded.refused";
}

statement! {
    /// The table that comes into force.
    Accept<'a> { document: &'a JsonDocument => SqlDocument, accepted_at: Instant => SqlInstant, }
    both "INSERT INTO rate_table (document, accepted_at) VALUES ($1, $2)";
}

statement! {
    /// What a merchant is offered.
    SetRates<'a> {
        merchant: Id => SqlId,
        form: &'a str => Text,
        settlement: &'a str => Text,
        markups: &'a JsonDocument => SqlDocument,
    }
    both "INSERT INTO merchant_rates (merchant_id, form, settlement_currency, markups) \
        VALUES ($1, $2, $3, $4) \
        ON CONFLICT (merchant_id) DO UPDATE \
        SET form = excluded.form, settlement_currency = excluded.settlement_currency, markups = excluded.markups";
}

statement! {
    /// Takes the number of a set, unless it is taken. Waits for whoever is taking it right now.
    TakeSet<'a> {
        merchant: Id => SqlId,
        number: i64 => BigInt,
        settlement: &'a str => Text,
        created_at: Instant => SqlInstant,
        expires_at: Instant => SqlInstant,
    }
    both "INSERT INTO rate_offer_set (merchant_id, number, settlement_currency, created_at, expires_at) \
        VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (merchant_id, number) DO NOTHING";
}

statement! {
    /// The guaranteed rate in the terms of a Session.
    RateOf { id: Id => SqlId, }
    both "SELECT session.terms -> 'rate' FROM session WHERE session.id = $1";
    returns Nullable<SqlDocument>;
}

#[async_trait]
impl RateStore for Store {
    async fn find_rates(&self) -> Result<Option<RatesInForce>, StoreError> {
        self.read(rates_in_force).await
    }

    async fn record_source_check(&self, look: RateSourceCheck) -> Result<Applied, StoreError> {
        self.write(move |connection| {
            let row = RateSourceRow::new(&look.state)?;
            let write = WriteSourceState {
                id: row.id,
                checked_at: row.checked_at,
                next_at: row.next_at,
                stale_at: row.stale_at,
                left_behind: &row.left_behind,
                problem: row.problem.as_deref(),
                refused: &row.refused,
            };
            on_each!(connection, inner => write.execute(inner))?;
            if newest(connection)?.0 != look.expected {
                return Ok(TxOutcome::Rollback(Applied::Stale));
            }
            if let Some(table) = &look.table {
                let document = TableDocument::write(table)?;
                let accept = Accept { document: &document, accepted_at: Instant(look.state.checked_at) };
                on_each!(connection, inner => accept.execute(inner))?;
            }
            Ok(TxOutcome::Commit(Applied::Done))
        })
        .await
    }

    async fn find_rate_settings(&self, merchant: MerchantId) -> Result<RateSettings, StoreError> {
        self.read(move |connection| settings(connection, merchant)).await
    }

    async fn change_rates(
        &self,
        merchant: MerchantId,
        decided_on: Option<RateSettings>,
        change: RateChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let row = merchant::table.find(Id(merchant.uuid())).select(merchant::id);
            // Two who set them at once come one after the other.
            let locked: Option<Id> = match connection {
                AnyConnection::Postgres(connection) => row.for_no_key_update().first(connection).optional()?,
                AnyConnection::Sqlite(connection) => row.first(connection).optional()?,
            };
            if locked.is_none() {
                return Ok(TxOutcome::Rollback(AccountChanged::Missing));
            }
            let before = settings(connection, merchant)?;
            if decided_on.as_ref().is_some_and(|seen| *seen != before) {
                return Ok(TxOutcome::Rollback(AccountChanged::Stale));
            }
            let row = RatesRow::new(merchant, &before.changed(&change))?;
            let set = SetRates {
                merchant: row.merchant_id,
                form: &row.form,
                settlement: &row.settlement_currency,
                markups: &row.markups,
            };
            on_each!(connection, inner => set.execute(inner))?;
            audited(connection, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn find_newest_offers(&self, merchant: MerchantId) -> Result<Option<OfferSet>, StoreError> {
        self.read(move |connection| {
            let newest: Option<OfferSetRow> = rate_offer_set::table
                .filter(rate_offer_set::merchant_id.eq(Id(merchant.uuid())))
                .order(rate_offer_set::number.desc())
                .select(OfferSetRow::as_select())
                .first(connection)
                .optional()
                .in_table("rate_offer_set")?;
            let Some(set) = newest else { return Ok(None) };
            let offers: Vec<OfferRow> = rate_offer::table
                .filter(rate_offer::merchant_id.eq(set.merchant_id))
                .filter(rate_offer::set_number.eq(set.number))
                .order(rate_offer::currency)
                .select(OfferRow::as_select())
                .load(connection)
                .in_table("rate_offer")?;
            set.restore(&offers).map(Some)
        })
        .await
    }

    async fn insert_offers(&self, set: OfferSet) -> Result<OffersInserted, StoreError> {
        self.write(move |connection| {
            let row = OfferSetRow::new(&set);
            let take = TakeSet {
                merchant: row.merchant_id,
                number: row.number,
                settlement: &row.settlement_currency,
                created_at: row.created_at,
                expires_at: row.expires_at,
            };
            if on_each!(connection, inner => take.execute(inner))? == 0 {
                return Ok(TxOutcome::Rollback(OffersInserted::Taken));
            }
            let offers = OfferRow::all(&set);
            match connection {
                AnyConnection::Postgres(connection) => {
                    diesel::insert_into(rate_offer::table).values(&offers).execute(connection)?;
                }
                AnyConnection::Sqlite(connection) => {
                    for offer in &offers {
                        diesel::insert_into(rate_offer::table).values(offer).execute(connection)?;
                    }
                }
            }
            Ok(TxOutcome::Commit(OffersInserted::Done))
        })
        .await
    }
}

/// The table in force with its number; zero and nothing when there is none.
fn newest(connection: &mut AnyConnection) -> Result<(u64, Table), Fault> {
    const TABLE: &str = "rate_table";
    let found: Option<(i64, JsonDocument)> = rate_table::table
        .order(rate_table::position.desc())
        .select((rate_table::position, rate_table::document))
        .first(connection)
        .optional()
        .in_table(TABLE)?;
    let Some((position, document)) = found else { return Ok((0, Table::default())) };
    let number = u64::try_from(position).map_err(|_negative| corrupt(TABLE, "a position below zero"))?;
    Ok((number, TableDocument::read(&document)?))
}

fn rates_in_force(connection: &mut AnyConnection) -> Result<Option<RatesInForce>, Fault> {
    let state: Option<RateSourceRow> =
        rate_feed::table.select(RateSourceRow::as_select()).first(connection).optional().in_table("rate_feed")?;
    let Some(state) = state.map(RateSourceRow::restore).transpose()? else { return Ok(None) };
    let (number, table) = newest(connection)?;
    Ok(Some(RatesInForce { number, table, state }))
}

fn settings(connection: &mut AnyConnection, merchant: MerchantId) -> Result<RateSettings, Fault> {
    let found: Option<RatesRow> = merchant_rates::table
        .find(Id(merchant.uuid()))
        .select(RatesRow::as_select())
        .first(connection)
        .optional()
        .in_table("merchant_rates")?;
    found.map_or_else(|| Ok(RateSettings::default()), |row| row.restore())
}

/// The merchant's own offer, expired or not.
pub(crate) fn offer(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    id: RateOfferId,
) -> Result<Option<Offer>, Fault> {
    let found: Option<OfferRow> = rate_offer::table
        .find(Id(id.uuid()))
        .filter(rate_offer::merchant_id.eq(Id(merchant.uuid())))
        .select(OfferRow::as_select())
        .first(connection)
        .optional()
        .in_table("rate_offer")?;
    let Some(offer) = found else { return Ok(None) };
    let set: OfferSetRow = rate_offer_set::table
        .find((Id(merchant.uuid()), offer.set_number()))
        .select(OfferSetRow::as_select())
        .first(connection)
        .in_table("rate_offer_set")?;
    offer.restore(&set).map(Some)
}

/// The guaranteed rate that a Session is priced by; `currency` is the Session's.
pub(crate) fn of_session(
    connection: &mut AnyConnection,
    id: SessionId,
    currency: Currency,
) -> Result<Option<SaleRate>, Fault> {
    let find = RateOf { id: Id(id.uuid()) };
    let found: Option<JsonDocument> = on_each!(connection, inner => find.get_result(inner)).in_table("session")?;
    found.map(|stored| RateDocument::read(&stored, currency)).transpose()
}
