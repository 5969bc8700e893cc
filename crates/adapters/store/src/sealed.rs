use async_trait::async_trait;
use diesel::prelude::*;
use dropin_access::SealedSecret;
use dropin_kernel::{ContractId, DisputeAnswerId, EndpointId, MerchantId, OperatorId, OrderId};
use dropin_ports::{Applied, SealedCredential, SealedKind, SealedStore, SealedValue, StoreError};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::Id;
use dropin_store_runtime::worker_pool::TxOutcome;
use uuid::Uuid;

use crate::processor_account;
use crate::schema::{
    contract_credential, discarded_credential, dispute_evidence, endpoint, operator, processor_account as account,
    wallet_identity,
};
use crate::store::Store;

#[async_trait]
impl SealedStore for Store {
    async fn list_sealed(
        &self,
        kind: SealedKind,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<SealedValue>, StoreError> {
        let after = Id(after.unwrap_or_else(Uuid::nil));
        self.read(move |connection| match kind {
            SealedKind::WebhookSecret => webhook_secrets(connection, after, limit),
            SealedKind::PreviousWebhookSecret => previous_webhook_secrets(connection, after, limit),
            SealedKind::WalletCertificate => wallet_certificates(connection, after, limit),
            SealedKind::ContractCredential => contract_credentials(connection, after, limit),
            SealedKind::DiscardedCredential => discarded_credentials(connection, after, limit),
            SealedKind::OperatorAuthenticator => operator_authenticators(connection, after, limit),
            SealedKind::ProcessorAccount => processor_account::sealed(connection, after, limit),
            SealedKind::DisputeEvidence => dispute_evidence_of(connection, after, limit),
        })
        .await
    }

    async fn replace_sealed(&self, old: &SealedValue, new: &SealedValue) -> Result<Applied, StoreError> {
        if (old.kind(), old.row()) != (new.kind(), new.row()) {
            return Err(StoreError::Refused("a sealed value cannot take the place of another row's".to_owned()));
        }
        let (old, new) = (old.clone(), new.clone());
        self.write(move |connection| {
            let written = replace(connection, &old, &new)?;
            Ok(TxOutcome::Commit(if written == 0 { Applied::Stale } else { Applied::Done }))
        })
        .await
    }
}

fn webhook_secrets(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Vec<u8>)> = endpoint::table
        .filter(endpoint::id.gt(after))
        .filter(endpoint::removed_at.is_null())
        .order(endpoint::id)
        .limit(i64::from(limit))
        .select((endpoint::id, endpoint::secret))
        .load(connection)
        .in_table("endpoint")?;
    let value = |(id, secret): (Id, _)| SealedValue::WebhookSecret {
        endpoint: EndpointId::new(id.0),
        sealed: SealedSecret(secret),
    };
    Ok(rows.into_iter().map(value).collect())
}

fn previous_webhook_secrets(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Vec<u8>)> = endpoint::table
        .filter(endpoint::id.gt(after))
        .filter(endpoint::removed_at.is_null())
        .filter(endpoint::previous_secret.is_not_null())
        .order(endpoint::id)
        .limit(i64::from(limit))
        .select((endpoint::id, endpoint::previous_secret.assume_not_null()))
        .load(connection)
        .in_table("endpoint")?;
    let value = |(id, secret): (Id, _)| SealedValue::PreviousWebhookSecret {
        endpoint: EndpointId::new(id.0),
        sealed: SealedSecret(secret),
    };
    Ok(rows.into_iter().map(value).collect())
}

fn wallet_certificates(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Vec<u8>)> = wallet_identity::table
        .filter(wallet_identity::merchant_id.gt(after))
        .order(wallet_identity::merchant_id)
        .limit(i64::from(limit))
        .select((wallet_identity::merchant_id, wallet_identity::sealed))
        .load(connection)
        .in_table("wallet_identity")?;
    let value = |(id, sealed): (Id, _)| SealedValue::WalletCertificate {
        merchant: MerchantId::new(id.0),
        sealed: SealedSecret(sealed),
    };
    Ok(rows.into_iter().map(value).collect())
}

fn contract_credentials(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Id, String, Vec<u8>)> = contract_credential::table
        .filter(contract_credential::contract_id.gt(after))
        .order(contract_credential::contract_id)
        .limit(i64::from(limit))
        .select((
            contract_credential::contract_id,
            contract_credential::merchant_id,
            contract_credential::key_id,
            contract_credential::sealed,
        ))
        .load(connection)
        .in_table("contract_credential")?;
    let value = |(contract, merchant, key_id, bytes): (Id, Id, _, _)| SealedValue::ContractCredential {
        merchant: MerchantId::new(merchant.0),
        contract: ContractId::new(contract.0),
        discarded: None,
        sealed: SealedCredential { key_id, bytes },
    };
    Ok(rows.into_iter().map(value).collect())
}

fn discarded_credentials(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Id, Id, String, Vec<u8>)> = discarded_credential::table
        .filter(discarded_credential::order_id.gt(after))
        .order(discarded_credential::order_id)
        .limit(i64::from(limit))
        .select((
            discarded_credential::order_id,
            discarded_credential::contract_id,
            discarded_credential::merchant_id,
            discarded_credential::key_id,
            discarded_credential::sealed,
        ))
        .load(connection)
        .in_table("discarded_credential")?;
    let value = |(order, contract, merchant, key_id, bytes): (Id, Id, Id, _, _)| SealedValue::ContractCredential {
        merchant: MerchantId::new(merchant.0),
        contract: ContractId::new(contract.0),
        discarded: Some(OrderId::new(order.0)),
        sealed: SealedCredential { key_id, bytes },
    };
    Ok(rows.into_iter().map(value).collect())
}

fn operator_authenticators(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Vec<u8>)> = operator::table
        .filter(operator::id.gt(after))
        .filter(operator::authenticator.is_not_null())
        .order(operator::id)
        .limit(i64::from(limit))
        .select((operator::id, operator::authenticator.assume_not_null()))
        .load(connection)
        .in_table("operator")?;
    let value = |(id, sealed): (Id, _)| SealedValue::OperatorAuthenticator {
        operator: OperatorId::new(id.0),
        sealed: SealedSecret(sealed),
    };
    Ok(rows.into_iter().map(value).collect())
}

/// Most rows of evidence that are read at once: each may have some megabytes.
const MAX_EVIDENCE_ROWS: u32 = 8;

fn dispute_evidence_of(connection: &mut AnyConnection, after: Id, limit: u32) -> Result<Vec<SealedValue>, Fault> {
    let rows: Vec<(Id, Vec<u8>)> = dispute_evidence::table
        .filter(dispute_evidence::answer_id.gt(after))
        .order(dispute_evidence::answer_id)
        .limit(i64::from(limit.min(MAX_EVIDENCE_ROWS)))
        .select((dispute_evidence::answer_id, dispute_evidence::sealed))
        .load(connection)
        .in_table("dispute_evidence")?;
    let value = |(answer, sealed): (Id, _)| SealedValue::DisputeEvidence {
        answer: DisputeAnswerId::new(answer.0),
        sealed: SealedSecret(sealed),
    };
    Ok(rows.into_iter().map(value).collect())
}

/// Writes `new` where `old` stands; how many rows that were. Both are of one kind and one row.
fn replace(connection: &mut AnyConnection, old: &SealedValue, new: &SealedValue) -> Result<usize, Fault> {
    let row = Id(old.row());
    let (old_bytes, new_bytes) = (old.bytes(), new.bytes());
    Ok(match new {
        SealedValue::WebhookSecret { .. } => diesel::update(endpoint::table.find(row))
            .filter(endpoint::secret.eq(old_bytes))
            .set(endpoint::secret.eq(new_bytes))
            .execute(connection)?,
        SealedValue::PreviousWebhookSecret { .. } => diesel::update(endpoint::table.find(row))
            .filter(endpoint::previous_secret.eq(old_bytes))
            .set(endpoint::previous_secret.eq(new_bytes))
            .execute(connection)?,
        SealedValue::WalletCertificate { .. } => diesel::update(wallet_identity::table.find(row))
            .filter(wallet_identity::sealed.eq(old_bytes))
            .set(wallet_identity::sealed.eq(new_bytes))
            .execute(connection)?,
        SealedValue::ContractCredential { sealed, discarded: Some(_), .. } => {
            diesel::update(discarded_credential::table.find(row))
                .filter(discarded_credential::sealed.eq(old_bytes))
                .set((discarded_credential::key_id.eq(&sealed.key_id), discarded_credential::sealed.eq(new_bytes)))
                .execute(connection)?
        }
        SealedValue::ContractCredential { sealed, discarded: None, .. } => {
            diesel::update(contract_credential::table.find(row))
                .filter(contract_credential::sealed.eq(old_bytes))
                .set((contract_credential::key_id.eq(&sealed.key_id), contract_credential::sealed.eq(new_bytes)))
                .execute(connection)?
        }
        SealedValue::ProcessorAccount { .. } => diesel::update(account::table.find(row))
            .filter(account::sealed.eq(old_bytes))
            .set(account::sealed.eq(new_bytes))
            .execute(connection)?,
        SealedValue::DisputeEvidence { .. } => diesel::update(dispute_evidence::table.find(row))
            .filter(dispute_evidence::sealed.eq(old_bytes))
            .set(dispute_evidence::sealed.eq(new_bytes))
            .execute(connection)?,
        SealedValue::OperatorAuthenticator { .. } => diesel::update(operator::table.find(row))
            .filter(operator::authenticator.eq(old_bytes))
            .set(operator::authenticator.eq(new_bytes))
            .execute(connection)?,
    })
}
