use std::net::IpAddr;

use diesel::prelude::*;
use dropin_kernel::{AuditEntryId, MerchantId};
use dropin_ports::{Acting, Actor, AuditChain, AuditEntry, AuditHead, AuditSeal};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};
use uuid::Uuid;

use crate::schema::{audit_log, audit_seal};

/// An entry as it is read.
#[derive(Queryable, Selectable)]
#[diesel(table_name = audit_log)]
pub(super) struct EntryRow {
    pub(super) position: i64,
    pub(super) id: Id,
    merchant_id: Option<Id>,
    actor_kind: String,
    actor_name: Option<String>,
    address: Option<String>,
    note: Option<String>,
    action: String,
    subject_kind: String,
    subject_id: String,
    value_before: Option<String>,
    value_after: Option<String>,
    pub(super) happened_at: Instant,
}

impl EntryRow {
    pub(super) fn restore(self) -> Result<AuditEntry, Fault> {
        let wrong = |what: &str| corrupt("audit_log", what);
        let actor = match (self.actor_kind.as_str(), self.actor_name) {
            ("MERCHANT", Some(username)) => Actor::Merchant(username),
            ("OPERATOR", Some(name)) => Actor::Operator(name),
            ("COMMAND_LINE", Some(name)) => Actor::CommandLine(name),
            ("SYSTEM", None) => Actor::System,
            _ => return Err(wrong("the actor is unknown")),
        };
        let address = self.address.map(|text| text.parse::<IpAddr>()).transpose();
        let address = address.map_err(|_invalid| wrong("the address is none"))?;
        Ok(AuditEntry {
            position: self.position,
            id: AuditEntryId::new(self.id.0),
            merchant_id: self.merchant_id.map(|merchant| MerchantId::new(merchant.0)),
            acting: Acting { actor, address, note: self.note },
            action: self.action,
            subject_kind: self.subject_kind,
            subject_id: self.subject_id,
            before: self.value_before,
            after: self.value_after,
            at: self.happened_at.0,
        })
    }
}

/// A seal as it is read and written.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = audit_seal)]
pub(super) struct SealRow {
    entry_id: Id,
    chain_id: Id,
    sequence: i64,
    key_id: String,
    mac: Vec<u8>,
    sealed_at: Instant,
}

impl SealRow {
    pub(super) fn new(seal: &AuditSeal) -> Self {
        Self {
            entry_id: Id(seal.entry.uuid()),
            chain_id: chain_id(seal.chain),
            sequence: seal.sequence,
            key_id: seal.key_id.clone(),
            mac: seal.mac.to_vec(),
            sealed_at: Instant(seal.sealed_at),
        }
    }

    pub(super) fn restore(self) -> Result<AuditSeal, Fault> {
        Ok(AuditSeal {
            entry: AuditEntryId::new(self.entry_id.0),
            chain: chain(self.chain_id),
            sequence: self.sequence,
            key_id: self.key_id,
            mac: mac(self.mac)?,
            sealed_at: self.sealed_at.0,
        })
    }
}

/// The last seal of a chain as it is read.
pub(super) type HeadRow = (Id, i64, Vec<u8>, Instant);

pub(super) fn head((chain_id, sequence, bytes, sealed_at): HeadRow) -> Result<AuditHead, Fault> {
    Ok(AuditHead { chain: chain(chain_id), sequence, mac: mac(bytes)?, sealed_at: sealed_at.0 })
}

fn mac(bytes: Vec<u8>) -> Result<[u8; 32], Fault> {
    bytes.try_into().map_err(|_length| corrupt("audit_seal", "the MAC has another length"))
}

/// How a chain is stored: the nil UUID is the deployment's, which is no merchant's id.
pub(super) fn chain_id(chain: AuditChain) -> Id {
    Id(chain.map_or(Uuid::nil(), MerchantId::uuid))
}

fn chain(id: Id) -> AuditChain {
    (!id.0.is_nil()).then_some(MerchantId::new(id.0))
}
