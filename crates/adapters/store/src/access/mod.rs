//! Merchants with their API users and endpoints.

mod routing;
mod rows;
mod screening_rules;

use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::{ApiUser, Endpoint, Merchant, Origin, PasswordHash, SealedSecret};
use dropin_kernel::{EndpointId, MerchantId};
use dropin_money::Currency;
use dropin_notification::{EventFilter, Schedule};
use dropin_ports::{
    AccessStore, AccountChanged, EndpointChange, MerchantInserted, MerchantScreeningRules, MerchantSettings,
    NewAuditEntry, NewMerchant, ScreeningRulesChanged, StoreError, UserChange, UserInserted,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::audit_log;
use crate::rows::methods;
use crate::schema::{api_user, endpoint, merchant, merchant_currency, merchant_origin};
use crate::store::Store;
pub(crate) use routing::lock_routing;
use rows::{
    CurrencyRow, EndpointRow, MerchantRow, OriginRow, UserRow, attempts_stored, lifetime_micros, permission_words,
    routing_stored,
};
pub(crate) use rows::{retiring, written};

#[async_trait]
impl AccessStore for Store {
    async fn insert_merchant(&self, new: NewMerchant) -> Result<MerchantInserted, StoreError> {
        self.write(move |connection| match insert_merchant(connection, &new) {
            Ok(()) => Ok(TxOutcome::Commit(MerchantInserted::Done)),
            Err(fault) if is_taken(&fault) => Ok(TxOutcome::Rollback(MerchantInserted::DuplicateUsername)),
            Err(fault) => Err(fault),
        })
        .await
    }

    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        self.read(move |connection| find_merchant(connection, Id(id.uuid()))).await
    }

    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError> {
        self.read(list_merchants).await
    }

    async fn set_merchant(
        &self,
        id: MerchantId,
        settings: MerchantSettings,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let changed = set_merchant(connection, id, &settings)?;
            audited(connection, changed, &audit)
        })
        .await
    }

    async fn find_screening_rules(&self, merchant: MerchantId) -> Result<Option<MerchantScreeningRules>, StoreError> {
        self.read(move |connection| screening_rules::find(connection, merchant)).await
    }

    async fn set_screening_rules(
        &self,
        merchant: MerchantId,
        decided_on: u64,
        text: Option<String>,
        on: Option<bool>,
        audit: NewAuditEntry,
    ) -> Result<ScreeningRulesChanged, StoreError> {
        self.write(move |connection| {
            let changed = screening_rules::set(connection, merchant, decided_on, text.as_deref(), on)?;
            if changed != ScreeningRulesChanged::Done {
                return Ok(TxOutcome::Rollback(changed));
            }
            audit_log::append(connection, &audit)?;
            Ok(TxOutcome::Commit(changed))
        })
        .await
    }

    async fn find_user(&self, username: &str) -> Result<Option<ApiUser>, StoreError> {
        let username = username.to_owned();
        self.read(move |connection| {
            let found: Option<UserRow> = api_user::table
                .filter(api_user::username.eq(&username))
                .select(UserRow::as_select())
                .first(connection)
                .optional()
                .in_table("api_user")?;
            found.map(UserRow::restore).transpose()
        })
        .await
    }

    async fn insert_user(&self, user: ApiUser, audit: NewAuditEntry) -> Result<UserInserted, StoreError> {
        self.write(move |connection| match insert_user(connection, &user) {
            Ok(UserInserted::Done) => {
                audit_log::append(connection, &audit)?;
                Ok(TxOutcome::Commit(UserInserted::Done))
            }
            Ok(other) => Ok(TxOutcome::Rollback(other)),
            Err(fault) if is_taken(&fault) => Ok(TxOutcome::Rollback(UserInserted::DuplicateUsername)),
            Err(fault) => Err(fault),
        })
        .await
    }

    async fn list_users(&self, merchant: MerchantId) -> Result<Vec<ApiUser>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<UserRow> = api_user::table
                .filter(api_user::merchant_id.eq(Id(merchant.uuid())))
                .order(api_user::id)
                .select(UserRow::as_select())
                .load(connection)
                .in_table("api_user")?;
            rows.into_iter().map(UserRow::restore).collect()
        })
        .await
    }

    async fn change_user(
        &self,
        username: &str,
        change: UserChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        let username = username.to_owned();
        self.write(move |connection| {
            let changed = change_user(connection, &username, &change)?;
            audited(connection, changed, &audit)
        })
        .await
    }

    async fn insert_endpoint(&self, new: Endpoint, audit: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            if !is_merchant(connection, Id(new.merchant_id.uuid()))? {
                return Ok(TxOutcome::Commit(AccountChanged::Missing));
            }
            diesel::insert_into(endpoint::table).values(EndpointRow::new(&new)).execute(connection)?;
            audited(connection, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn list_endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<EndpointRow> = endpoint::table
                .filter(endpoint::merchant_id.eq(Id(merchant.uuid())))
                .filter(endpoint::removed_at.is_null())
                .order(endpoint::id)
                .select(EndpointRow::as_select())
                .load(connection)
                .in_table("endpoint")?;
            rows.into_iter().map(EndpointRow::restore).collect()
        })
        .await
    }

    async fn find_endpoint(&self, id: EndpointId) -> Result<Option<Endpoint>, StoreError> {
        self.read(move |connection| {
            let found: Option<EndpointRow> = endpoint::table
                .find(Id(id.uuid()))
                .select(EndpointRow::as_select())
                .first(connection)
                .optional()
                .in_table("endpoint")?;
            found.map(EndpointRow::restore).transpose()
        })
        .await
    }

    async fn change_endpoint(
        &self,
        id: EndpointId,
        change: EndpointChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let changed = change_endpoint(connection, Id(id.uuid()), &change)?;
            audited(connection, changed, &audit)
        })
        .await
    }
}

/// Appends the entry of a change that was written.
pub(crate) fn audited(
    connection: &mut AnyConnection,
    changed: AccountChanged,
    audit: &NewAuditEntry,
) -> Result<TxOutcome<AccountChanged>, Fault> {
    if changed != AccountChanged::Done {
        return Ok(TxOutcome::Rollback(changed));
    }
    audit_log::append(connection, audit)?;
    Ok(TxOutcome::Commit(changed))
}

fn is_taken(fault: &Fault) -> bool {
    fault.breaks("api_user_username_key", "api_user.username")
}

fn is_merchant(connection: &mut AnyConnection, id: Id) -> Result<bool, Fault> {
    let found: Option<Id> = merchant::table.find(id).select(merchant::id).first(connection).optional()?;
    Ok(found.is_some())
}

fn find_merchant(connection: &mut AnyConnection, id: Id) -> Result<Option<Merchant>, Fault> {
    let found: Option<MerchantRow> =
        merchant::table.find(id).select(MerchantRow::as_select()).first(connection).optional().in_table("merchant")?;
    found.map(|row| whole(connection, row)).transpose()
}

fn insert_merchant(connection: &mut AnyConnection, new: &NewMerchant) -> Result<(), Fault> {
    let NewMerchant { merchant, user, endpoint: endpoint_row, audit } = new;
    diesel::insert_into(merchant::table).values(MerchantRow::new(merchant)?).execute(connection)?;
    insert_currencies(connection, merchant.id, &merchant.currencies)?;
    insert_origins(connection, merchant.id, &merchant.origins)?;
    diesel::insert_into(api_user::table).values(UserRow::new(user)).execute(connection)?;
    if let Some(new) = endpoint_row {
        diesel::insert_into(endpoint::table).values(EndpointRow::new(new)).execute(connection)?;
    }
    audit_log::append(connection, audit)
}

fn insert_user(connection: &mut AnyConnection, user: &ApiUser) -> Result<UserInserted, Fault> {
    if !is_merchant(connection, Id(user.merchant_id.uuid()))? {
        return Ok(UserInserted::NoMerchant);
    }
    diesel::insert_into(api_user::table).values(UserRow::new(user)).execute(connection)?;
    Ok(UserInserted::Done)
}

fn set_merchant(
    connection: &mut AnyConnection,
    id: MerchantId,
    settings: &MerchantSettings,
) -> Result<AccountChanged, Fault> {
    let key = Id(id.uuid());
    // Two who replace its lists at once come one after the other.
    if lock_routing(connection, key)?.is_none() {
        return Ok(AccountChanged::Missing);
    }
    if settings.decided_on.is_some() && find_merchant(connection, key)? != settings.decided_on {
        return Ok(AccountChanged::Stale);
    }
    if let Some(name) = &settings.name {
        diesel::update(merchant::table.find(key)).set(merchant::name.eq(name)).execute(connection)?;
    }
    if let Some(lifetime) = settings.session_lifetime {
        let micros = merchant::session_lifetime_micros.eq(lifetime_micros(lifetime)?);
        diesel::update(merchant::table.find(key)).set(micros).execute(connection)?;
    }
    if let Some(attempts) = settings.attempts_allowed {
        let number = merchant::attempts_allowed.eq(attempts_stored(attempts)?);
        diesel::update(merchant::table.find(key)).set(number).execute(connection)?;
    }
    if let Some(offered) = settings.saved_cards_offered {
        let offered = merchant::saved_cards_offered.eq(offered);
        diesel::update(merchant::table.find(key)).set(offered).execute(connection)?;
    }
    if let Some(kind) = settings.saved_card_kind {
        let kind = merchant::saved_card_kind.eq(kind.as_str());
        diesel::update(merchant::table.find(key)).set(kind).execute(connection)?;
    }
    if let Some(on) = settings.screening {
        diesel::update(merchant::table.find(key)).set(merchant::screening.eq(on)).execute(connection)?;
    }
    if let Some(methods) = &settings.methods {
        let document = merchant::methods.eq(methods::write(methods)?);
        diesel::update(merchant::table.find(key)).set(document).execute(connection)?;
    }
    if let Some(processors) = &settings.processors {
        if !routing::may_begin(connection, key, &processors.accounts())? {
            return Ok(AccountChanged::Stale);
        }
        let routing = merchant::processor_routing.eq(routing_stored(processors));
        diesel::update(merchant::table.find(key)).set(routing).execute(connection)?;
    }
    if let Some(currencies) = &settings.currencies {
        diesel::delete(merchant_currency::table.filter(merchant_currency::merchant_id.eq(key))).execute(connection)?;
        insert_currencies(connection, id, currencies)?;
    }
    if let Some(origins) = &settings.origins {
        diesel::delete(merchant_origin::table.filter(merchant_origin::merchant_id.eq(key))).execute(connection)?;
        insert_origins(connection, id, origins)?;
    }
    Ok(AccountChanged::Done)
}

fn change_user(connection: &mut AnyConnection, username: &str, change: &UserChange) -> Result<AccountChanged, Fault> {
    let row = api_user::table.filter(api_user::username.eq(username)).filter(api_user::revoked_at.is_null());
    let changed = match change {
        UserChange::Permissions(permissions) => {
            let words = api_user::permissions.eq(permission_words(*permissions));
            diesel::update(row).set(words).execute(connection)?
        }
        UserChange::Revoked(at) => {
            diesel::update(row).set(api_user::revoked_at.eq(Instant(*at))).execute(connection)?
        }
        UserChange::Password { new: PasswordHash(new), old_until: Some(until) } => diesel::update(row)
            .set((
                api_user::previous_password.eq(api_user::password.nullable()),
                api_user::previous_until.eq(Instant(*until)),
                api_user::password.eq(new),
            ))
            .execute(connection)?,
        UserChange::Password { new: PasswordHash(new), old_until: None } => diesel::update(row)
            .set((
                api_user::previous_password.eq(None::<Vec<u8>>),
                api_user::previous_until.eq(None::<Instant>),
                api_user::password.eq(new),
            ))
            .execute(connection)?,
    };
    let there = || api_user::table.filter(api_user::username.eq(username)).count();
    outcome(changed, || there().get_result(connection))
}

fn change_endpoint(connection: &mut AnyConnection, id: Id, change: &EndpointChange) -> Result<AccountChanged, Fault> {
    let row = endpoint::table.filter(endpoint::id.eq(id)).filter(endpoint::removed_at.is_null());
    let changed = match change {
        EndpointChange::Url(url) => diesel::update(row).set(endpoint::url.eq(url)).execute(connection)?,
        EndpointChange::Events(events) => {
            let events = events.as_ref().map(EventFilter::to_string);
            diesel::update(row).set(endpoint::event_types.eq(events)).execute(connection)?
        }
        EndpointChange::Retry(retry) => {
            let retry = retry.as_ref().map(Schedule::to_string);
            diesel::update(row).set(endpoint::retry.eq(retry)).execute(connection)?
        }
        EndpointChange::Removed(at) => {
            diesel::update(row).set(endpoint::removed_at.eq(Instant(*at))).execute(connection)?
        }
        EndpointChange::Secret { new: SealedSecret(new), old_until: Some(until) } => diesel::update(row)
            .set((
                endpoint::previous_secret.eq(endpoint::secret.nullable()),
                endpoint::previous_until.eq(Instant(*until)),
                endpoint::secret.eq(new),
            ))
            .execute(connection)?,
        EndpointChange::Secret { new: SealedSecret(new), old_until: None } => diesel::update(row)
            .set((
                endpoint::previous_secret.eq(None::<Vec<u8>>),
                endpoint::previous_until.eq(None::<Instant>),
                endpoint::secret.eq(new),
            ))
            .execute(connection)?,
    };
    outcome(changed, || endpoint::table.find(id).count().get_result(connection))
}

/// What an update of something that may have ended came to; `there` counts it in whatever state it is.
fn outcome(changed: usize, there: impl FnOnce() -> QueryResult<i64>) -> Result<AccountChanged, Fault> {
    Ok(match changed {
        0 if there()? == 0 => AccountChanged::Missing,
        0 => AccountChanged::Ended,
        _ => AccountChanged::Done,
    })
}

fn insert_currencies(connection: &mut AnyConnection, id: MerchantId, all: &[Currency]) -> Result<(), Fault> {
    for row in CurrencyRow::all(id, all) {
        diesel::insert_into(merchant_currency::table).values(row).execute(connection)?;
    }
    Ok(())
}

fn insert_origins(connection: &mut AnyConnection, id: MerchantId, all: &[Origin]) -> Result<(), Fault> {
    for row in OriginRow::all(id, all) {
        diesel::insert_into(merchant_origin::table).values(row).execute(connection)?;
    }
    Ok(())
}

/// The merchant with what belongs to it.
fn whole(connection: &mut AnyConnection, row: MerchantRow) -> Result<Merchant, Fault> {
    let currencies = merchant_currency::table
        .filter(merchant_currency::merchant_id.eq(row.id))
        .order(merchant_currency::position)
        .select(CurrencyRow::as_select())
        .load(connection)
        .in_table("merchant_currency")?;
    let origins = merchant_origin::table
        .filter(merchant_origin::merchant_id.eq(row.id))
        .order(merchant_origin::position)
        .select(OriginRow::as_select())
        .load(connection)
        .in_table("merchant_origin")?;
    row.restore(currencies, origins)
}

fn list_merchants(connection: &mut AnyConnection) -> Result<Vec<Merchant>, Fault> {
    let rows: Vec<MerchantRow> = merchant::table
        .order((merchant::created_at, merchant::id))
        .select(MerchantRow::as_select())
        .load(connection)
        .in_table("merchant")?;
    let mut currencies: HashMap<Id, Vec<CurrencyRow>> = HashMap::new();
    for row in merchant_currency::table
        .order(merchant_currency::position)
        .select(CurrencyRow::as_select())
        .load(connection)
        .in_table("merchant_currency")?
    {
        currencies.entry(row.merchant_id).or_default().push(row);
    }
    let mut origins: HashMap<Id, Vec<OriginRow>> = HashMap::new();
    for row in merchant_origin::table
        .order(merchant_origin::position)
        .select(OriginRow::as_select())
        .load(connection)
        .in_table("merchant_origin")?
    {
        origins.entry(row.merchant_id).or_default().push(row);
    }
    rows.into_iter()
        .map(|row| {
            let id = row.id;
            row.restore(currencies.remove(&id).unwrap_or_default(), origins.remove(&id).unwrap_or_default())
        })
        .collect()
}
