use std::collections::HashMap;

use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::{Endpoint, Merchant};
use dropin_kernel::MerchantId;
use dropin_ports::{AccessStore, Credentials, MerchantInserted, NewMerchant, StoreError};

use crate::connection::AnyConnection;
use crate::fault::{Fault, InTable};
use crate::lane::Verdict;
use crate::rows::{CurrencyRow, EndpointRow, MerchantRow, OriginRow, UserRow};
use crate::schema::{api_user, endpoint, merchant, merchant_currency, merchant_origin};
use crate::sql::Id;
use crate::store::Store;

#[async_trait]
impl AccessStore for Store {
    async fn insert_merchant(&self, new: NewMerchant) -> Result<MerchantInserted, StoreError> {
        self.write(move |connection| match insert_merchant(connection, &new) {
            Ok(()) => Ok(Verdict::Keep(MerchantInserted::Done)),
            Err(fault) if fault.breaks("api_user_username_key", "api_user.username") => {
                Ok(Verdict::Undo(MerchantInserted::DuplicateUsername))
            }
            Err(fault) => Err(fault),
        })
        .await
    }

    async fn find_credentials(&self, username: &str) -> Result<Option<Credentials>, StoreError> {
        let username = username.to_owned();
        self.read(move |connection| {
            let found: Option<(UserRow, MerchantRow)> = api_user::table
                .inner_join(merchant::table)
                .filter(api_user::username.eq(&username))
                .select((UserRow::as_select(), MerchantRow::as_select()))
                .first(connection)
                .optional()
                .in_table("api_user")?;
            let Some((user, merchant)) = found else { return Ok(None) };
            Ok(Some(Credentials { user: user.restore(), merchant: whole(connection, merchant)? }))
        })
        .await
    }

    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        self.read(move |connection| {
            let found: Option<MerchantRow> = merchant::table
                .find(Id(id.uuid()))
                .select(MerchantRow::as_select())
                .first(connection)
                .optional()
                .in_table("merchant")?;
            found.map(|row| whole(connection, row)).transpose()
        })
        .await
    }

    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError> {
        self.read(list_merchants).await
    }

    async fn list_endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<EndpointRow> = endpoint::table
                .filter(endpoint::merchant_id.eq(Id(merchant.uuid())))
                .order(endpoint::id)
                .select(EndpointRow::as_select())
                .load(connection)
                .in_table("endpoint")?;
            Ok(rows.into_iter().map(EndpointRow::restore).collect())
        })
        .await
    }
}

fn insert_merchant(connection: &mut AnyConnection, new: &NewMerchant) -> Result<(), Fault> {
    diesel::insert_into(merchant::table).values(MerchantRow::new(&new.merchant)?).execute(connection)?;
    for row in CurrencyRow::all(&new.merchant) {
        diesel::insert_into(merchant_currency::table).values(row).execute(connection)?;
    }
    for row in OriginRow::all(&new.merchant) {
        diesel::insert_into(merchant_origin::table).values(row).execute(connection)?;
    }
    diesel::insert_into(api_user::table).values(UserRow::new(&new.user)).execute(connection)?;
    if let Some(new) = &new.endpoint {
        diesel::insert_into(endpoint::table).values(EndpointRow::new(new)).execute(connection)?;
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
