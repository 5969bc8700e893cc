use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::{DomainCheck, MerchantIdentifier, RegisteredDomain, SealedSecret, WalletDomain, WalletIdentity};
use dropin_kernel::{MerchantId, Timestamp};
use dropin_ports::{AccountChanged, NewAuditEntry, StoreError, WalletStore};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::access::audited;
use crate::schema::{merchant, wallet_domain, wallet_identity};
use crate::store::Store;

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = wallet_identity)]
struct IdentityRow {
    merchant_id: Id,
    merchant_identifier: String,
    country: String,
    sealed: Vec<u8>,
    expires_at: Instant,
    set_at: Instant,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = wallet_domain)]
struct DomainRow {
    merchant_id: Id,
    domain: String,
    file: String,
    state: String,
    checked_at: Option<Instant>,
    failure: Option<String>,
    registered_at: Instant,
}

impl IdentityRow {
    fn new(identity: WalletIdentity) -> Self {
        Self {
            merchant_id: Id(identity.merchant_id.uuid()),
            merchant_identifier: identity.identifier.as_str().to_owned(),
            country: identity.country,
            sealed: identity.sealed.0,
            expires_at: Instant(identity.expires_at),
            set_at: Instant(identity.set_at),
        }
    }

    fn restore(self) -> Result<WalletIdentity, Fault> {
        let wrong = |error: dropin_access::InvalidWallet| corrupt("wallet_identity", format!("a column {error}"));
        Ok(WalletIdentity {
            merchant_id: MerchantId::new(self.merchant_id.0),
            identifier: MerchantIdentifier::parse(&self.merchant_identifier).map_err(wrong)?,
            country: WalletIdentity::country(&self.country).map_err(wrong)?,
            sealed: SealedSecret(self.sealed),
            expires_at: self.expires_at.0,
            set_at: self.set_at.0,
        })
    }
}

impl DomainRow {
    fn new(registered: RegisteredDomain) -> Self {
        let state = registered.state().as_str().to_owned();
        let (checked_at, failure) =
            registered.check.map_or((None, None), |check| (Some(Instant(check.at)), check.failure));
        Self {
            merchant_id: Id(registered.merchant_id.uuid()),
            domain: registered.domain.as_str().to_owned(),
            file: registered.file,
            state,
            checked_at,
            failure,
            registered_at: Instant(registered.registered_at),
        }
    }

    fn restore(self) -> Result<RegisteredDomain, Fault> {
        let domain = WalletDomain::restore(&self.domain);
        let failure = self.failure;
        let restored = RegisteredDomain {
            merchant_id: MerchantId::new(self.merchant_id.0),
            domain: domain.ok_or_else(|| corrupt("wallet_domain", "the domain is none"))?,
            file: self.file,
            check: self.checked_at.map(|at| DomainCheck { at: at.0, failure }),
            registered_at: self.registered_at.0,
        };
        if restored.state().as_str() == self.state {
            Ok(restored)
        } else {
            Err(corrupt("wallet_domain", "the state is not that of its check"))
        }
    }
}

#[async_trait]
impl WalletStore for Store {
    async fn put_wallet(&self, identity: WalletIdentity, audit: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        let row = IdentityRow::new(identity);
        self.write(move |connection| {
            if !is_merchant(connection, row.merchant_id)? {
                return Ok(TxOutcome::Commit(AccountChanged::Missing));
            }
            diesel::delete(wallet_identity::table.find(row.merchant_id)).execute(connection)?;
            diesel::insert_into(wallet_identity::table).values(row.clone()).execute(connection)?;
            audited(connection, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn find_wallet(&self, merchant: MerchantId) -> Result<Option<WalletIdentity>, StoreError> {
        self.read(move |connection| {
            let found: Option<IdentityRow> = wallet_identity::table
                .find(Id(merchant.uuid()))
                .select(IdentityRow::as_select())
                .first(connection)
                .optional()
                .in_table("wallet_identity")?;
            found.map(IdentityRow::restore).transpose()
        })
        .await
    }

    async fn remove_wallet(&self, merchant: MerchantId, audit: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let removed = diesel::delete(wallet_identity::table.find(Id(merchant.uuid()))).execute(connection)?;
            audited(connection, changed(removed), &audit)
        })
        .await
    }

    async fn wallet_expiries(&self, limit: u32) -> Result<Vec<(MerchantId, Timestamp)>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<(Id, Instant)> = wallet_identity::table
                .order((wallet_identity::expires_at, wallet_identity::merchant_id))
                .limit(i64::from(limit))
                .select((wallet_identity::merchant_id, wallet_identity::expires_at))
                .load(connection)
                .in_table("wallet_identity")?;
            Ok(rows.into_iter().map(|(id, at)| (MerchantId::new(id.0), at.0)).collect())
        })
        .await
    }

    async fn put_wallet_domain(
        &self,
        domain: RegisteredDomain,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        let row = DomainRow::new(domain);
        self.write(move |connection| {
            if !is_merchant(connection, row.merchant_id)? {
                return Ok(TxOutcome::Commit(AccountChanged::Missing));
            }
            diesel::delete(wallet_domain::table.find((row.merchant_id, &row.domain))).execute(connection)?;
            diesel::insert_into(wallet_domain::table).values(row.clone()).execute(connection)?;
            audited(connection, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn find_wallet_domain(
        &self,
        merchant: MerchantId,
        domain: &WalletDomain,
    ) -> Result<Option<RegisteredDomain>, StoreError> {
        let domain = domain.as_str().to_owned();
        self.read(move |connection| {
            let found: Option<DomainRow> = wallet_domain::table
                .find((Id(merchant.uuid()), &domain))
                .select(DomainRow::as_select())
                .first(connection)
                .optional()
                .in_table("wallet_domain")?;
            found.map(DomainRow::restore).transpose()
        })
        .await
    }

    async fn list_wallet_domains(&self, merchant: MerchantId) -> Result<Vec<RegisteredDomain>, StoreError> {
        self.read(move |connection| {
            let rows: Vec<DomainRow> = wallet_domain::table
                .filter(wallet_domain::merchant_id.eq(Id(merchant.uuid())))
                .order(wallet_domain::domain)
                .select(DomainRow::as_select())
                .load(connection)
                .in_table("wallet_domain")?;
            rows.into_iter().map(DomainRow::restore).collect()
        })
        .await
    }

    async fn check_wallet_domain(
        &self,
        domain: &RegisteredDomain,
        check: DomainCheck,
    ) -> Result<AccountChanged, StoreError> {
        let row = DomainRow::new(RegisteredDomain { check: Some(check), ..domain.clone() });
        self.write(move |connection| {
            let same = wallet_domain::table
                .find((row.merchant_id, &row.domain))
                .filter(wallet_domain::file.eq(&row.file))
                .filter(wallet_domain::registered_at.eq(row.registered_at));
            let written = diesel::update(same)
                .set((
                    wallet_domain::state.eq(&row.state),
                    wallet_domain::checked_at.eq(row.checked_at),
                    wallet_domain::failure.eq(&row.failure),
                ))
                .execute(connection)?;
            Ok(TxOutcome::Commit(changed(written)))
        })
        .await
    }

    async fn association_file(&self, domain: &WalletDomain) -> Result<Option<String>, StoreError> {
        let domain = domain.as_str().to_owned();
        self.read(move |connection| {
            let newest = wallet_domain::table
                .filter(wallet_domain::domain.eq(&domain))
                .order((wallet_domain::registered_at.desc(), wallet_domain::merchant_id))
                .select(wallet_domain::file)
                .first(connection);
            newest.optional().in_table("wallet_domain")
        })
        .await
    }
}

fn is_merchant(connection: &mut AnyConnection, id: Id) -> Result<bool, Fault> {
    let found: Option<Id> = merchant::table.find(id).select(merchant::id).first(connection).optional()?;
    Ok(found.is_some())
}

fn changed(rows: usize) -> AccountChanged {
    if rows == 0 { AccountChanged::Missing } else { AccountChanged::Done }
}
