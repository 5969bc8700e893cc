use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_access::SealedSecret;
use dropin_kernel::{MerchantId, ProcessorId, Timestamp};
use dropin_ports::{
    NewAuditEntry, ProcessorAccount, ProcessorAccountPut, ProcessorAccountRemoved, ProcessorAccountStore,
    ProcessorAccountUse, SealedValue, StoreError,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId};
use dropin_store_runtime::worker_pool::TxOutcome;
use dropin_store_runtime::{on_each, statement};

use crate::access::lock_routing;
use crate::audit_log;
use crate::schema::{merchant, processor_account};
use crate::store::Store;

const TABLE: &str = "processor_account";

/// What is sealed of an account whose key was deleted. Its row stays, so that its name is never another account's.
const NO_KEY: &[u8] = &[];

#[derive(Debug, Clone, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = processor_account, treat_none_as_null = true)]
struct AccountRow {
    id: Id,
    merchant_id: Id,
    processor: String,
    account: String,
    has_events: bool,
    sealed: Vec<u8>,
    set_at: Instant,
    removed_at: Option<Instant>,
}

impl AccountRow {
    fn new(account: ProcessorAccount) -> Self {
        Self {
            id: Id(account.id),
            merchant_id: Id(account.merchant_id.uuid()),
            processor: account.processor.to_string(),
            account: account.account,
            has_events: account.has_events,
            sealed: account.sealed.0,
            set_at: Instant(account.set_at),
            removed_at: account.removed_at.map(Instant),
        }
    }

    fn has_key(&self) -> bool {
        self.sealed != NO_KEY
    }

    fn restore(self) -> Result<ProcessorAccount, Fault> {
        Ok(ProcessorAccount {
            id: self.id.0,
            merchant_id: MerchantId::new(self.merchant_id.0),
            processor: name(&self.processor)?,
            account: self.account,
            has_events: self.has_events,
            sealed: SealedSecret(self.sealed),
            set_at: self.set_at.0,
            removed_at: self.removed_at.map(|at| at.0),
        })
    }
}

fn name(text: &str) -> Result<ProcessorId, Fault> {
    let id: ProcessorId = text.parse().map_err(|invalid| corrupt(TABLE, format!("processor {invalid}")))?;
    if id.is_account() { Ok(id) } else { Err(corrupt(TABLE, "processor is no account's name")) }
}

statement! {
    Uses<'a> { merchant: Id => SqlId, processor: &'a str => Text, }
    both include_str!("count_uses.sql");
    returns (BigInt, BigInt, BigInt, BigInt);
}

fn uses(connection: &mut AnyConnection, row: &AccountRow) -> Result<ProcessorAccountUse, Fault> {
    let find = Uses { merchant: row.merchant_id, processor: &row.processor };
    let found: Vec<(i64, i64, i64, i64)> =
        on_each!(connection, inner => find.load(inner)).in_table("purchase_order")?;
    let number = |count: i64| u64::try_from(count).map_err(|_negative| corrupt(TABLE, "less than no rows"));
    let (orders, stored, discarded, disputes) = found.first().copied().unwrap_or_default();
    Ok(ProcessorAccountUse {
        orders: number(orders)?,
        contracts: number(stored.saturating_add(discarded))?,
        disputes: number(disputes)?,
    })
}

fn find(connection: &mut AnyConnection, processor: &str) -> Result<Option<AccountRow>, Fault> {
    let named = processor_account::table.filter(processor_account::processor.eq(processor));
    named.select(AccountRow::as_select()).first(connection).optional().in_table(TABLE)
}

fn remove(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    processor: &ProcessorId,
    now: Timestamp,
    audit: &NewAuditEntry,
) -> Result<TxOutcome<ProcessorAccountRemoved>, Fault> {
    let refused = |why| Ok(TxOutcome::Rollback(why));
    let Some(routing) = lock_routing(connection, Id(merchant.uuid()))? else {
        return refused(ProcessorAccountRemoved::Missing);
    };
    let kept = find(connection, processor.as_str())?;
    let kept = kept.filter(|kept| kept.merchant_id.0 == merchant.uuid() && kept.removed_at.is_none());
    let Some(kept) = kept else { return refused(ProcessorAccountRemoved::Missing) };
    if routing.names(processor) {
        return refused(ProcessorAccountRemoved::Named);
    }
    let uses = uses(connection, &kept)?;
    if !uses.is_none() {
        return refused(ProcessorAccountRemoved::InUse(uses));
    }
    diesel::update(processor_account::table.find(kept.id))
        .set(processor_account::removed_at.eq(Some(Instant(now))))
        .execute(connection)?;
    audit_log::append(connection, audit)?;
    Ok(TxOutcome::Commit(ProcessorAccountRemoved::Done))
}

fn put(
    connection: &mut AnyConnection,
    row: &AccountRow,
    limit: u32,
    audit: &NewAuditEntry,
) -> Result<TxOutcome<ProcessorAccountPut>, Fault> {
    let refused = |why| Ok(TxOutcome::Rollback(why));
    let found: Option<Id> = merchant::table.find(row.merchant_id).select(merchant::id).first(connection).optional()?;
    if found.is_none() {
        return refused(ProcessorAccountPut::NoMerchant);
    }
    let kept = find(connection, &row.processor)?;
    if let Some(kept) = &kept
        && (kept.merchant_id, &kept.account) != (row.merchant_id, &row.account)
    {
        return refused(ProcessorAccountPut::NameTaken);
    }
    if let Some(kept) = kept.as_ref().filter(|kept| kept.has_key()) {
        // The secrets are bound to the row's id.
        if kept.id != row.id {
            return refused(ProcessorAccountPut::NameTaken);
        }
        let same = processor_account::table.find(kept.id).filter(processor_account::sealed.ne(NO_KEY));
        if diesel::update(same).set(row).execute(connection)? == 0 {
            // The settler has deleted its key since it was read.
            return Err(Fault::Retry);
        }
    } else {
        let other = processor_account::table
            .filter(processor_account::account.eq(&row.account))
            .filter(processor_account::processor.ne(&row.processor));
        if 0 < other.count().get_result::<i64>(connection).in_table(TABLE)? {
            return refused(ProcessorAccountPut::AccountTaken);
        }
        let with_key = processor_account::table.filter(processor_account::sealed.ne(NO_KEY));
        if i64::from(limit) <= with_key.count().get_result::<i64>(connection).in_table(TABLE)? {
            return refused(ProcessorAccountPut::TooMany);
        }
        if let Some(kept) = kept {
            diesel::delete(processor_account::table.find(kept.id)).execute(connection)?;
        }
        diesel::insert_into(processor_account::table).values(row.clone()).execute(connection)?;
    }
    audit_log::append(connection, audit)?;
    Ok(TxOutcome::Commit(ProcessorAccountPut::Done))
}

#[async_trait]
impl ProcessorAccountStore for Store {
    async fn put_processor_account(
        &self,
        account: ProcessorAccount,
        limit: u32,
        audit: NewAuditEntry,
    ) -> Result<ProcessorAccountPut, StoreError> {
        let row = AccountRow::new(account);
        self.write(move |connection| put(connection, &row, limit, &audit)).await
    }

    async fn find_processor_account(&self, processor: &ProcessorId) -> Result<Option<ProcessorAccount>, StoreError> {
        let processor = processor.to_string();
        self.read(move |connection| {
            find(connection, &processor)?.filter(AccountRow::has_key).map(AccountRow::restore).transpose()
        })
        .await
    }

    async fn list_processor_accounts(&self, merchant: Option<MerchantId>) -> Result<Vec<ProcessorAccount>, StoreError> {
        self.read(move |connection| {
            let mut query = processor_account::table
                .filter(processor_account::sealed.ne(NO_KEY))
                .order(processor_account::processor)
                .select(AccountRow::as_select())
                .into_boxed();
            if let Some(merchant) = merchant {
                query = query.filter(processor_account::merchant_id.eq(Id(merchant.uuid())));
            }
            let rows: Vec<AccountRow> = query.load(connection).in_table(TABLE)?;
            rows.into_iter().map(AccountRow::restore).collect()
        })
        .await
    }

    async fn remove_processor_account(
        &self,
        merchant: MerchantId,
        processor: &ProcessorId,
        now: Timestamp,
        audit: NewAuditEntry,
    ) -> Result<ProcessorAccountRemoved, StoreError> {
        let processor = processor.clone();
        self.write(move |connection| remove(connection, merchant, &processor, now, &audit)).await
    }

    async fn purge_processor_accounts(&self, removed_before: Timestamp) -> Result<u32, StoreError> {
        self.write(move |connection| {
            let over = processor_account::table
                .filter(processor_account::sealed.ne(NO_KEY))
                .filter(processor_account::removed_at.lt(Instant(removed_before)));
            let rows: Vec<AccountRow> = over.select(AccountRow::as_select()).load(connection).in_table(TABLE)?;
            let mut deleted = 0;
            for row in rows {
                if uses(connection, &row)?.is_none() {
                    // Of one that was set anew meanwhile nothing is deleted.
                    let same = processor_account::table.find(row.id).filter(processor_account::sealed.eq(&row.sealed));
                    let same = same.filter(processor_account::removed_at.eq(row.removed_at));
                    let gone = (processor_account::sealed.eq(NO_KEY), processor_account::has_events.eq(false));
                    deleted += u32::try_from(diesel::update(same).set(gone).execute(connection)?).unwrap_or(0);
                }
            }
            Ok(TxOutcome::Commit(deleted))
        })
        .await
    }
}

/// For rotating the keys.
pub(crate) fn sealed(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<AccountRow> = processor_account::table
        .filter(processor_account::id.gt(after))
        .filter(processor_account::sealed.ne(NO_KEY))
        .order(processor_account::id)
        .limit(i64::from(limit))
        .select(AccountRow::as_select())
        .load(connection)
        .in_table(TABLE)?;
    rows.into_iter().map(|row| Ok(SealedValue::of_processor_account(&row.restore()?))).collect()
}
