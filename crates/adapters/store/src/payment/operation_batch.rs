use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use dropin_kernel::ProcessorId;
use dropin_order::{Operation, ProcessorReference};
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::rows;
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};

rows! {
    /// An operation to be written down; `number` says for whom.
    NewOperations of NewOperation<'a> {
        number: i64 => BigInt,
        id: Id => SqlId,
        order_id: Id => SqlId,
        kind: &'a str => Text,
        state: &'a str => Text,
        currency: &'a str => Text,
        minor: i64 => BigInt,
        authorization_id: Option<Id> => Nullable<SqlId>,
        refund_id: Option<Id> => Nullable<SqlId>,
        reference: Option<&'a str> => Nullable<Text>,
        processor: Option<&'a str> => Nullable<Text>,
        channel: &'a str => Text,
        epoch: i64 => BigInt,
        tries: i32 => Integer,
        due_at: Instant => SqlInstant,
        created_at: Instant => SqlInstant,
    }
}

/// Its row.
pub(super) fn new_operation(number: i64, next: &Operation) -> Result<NewOperation<'_>, Fault> {
    Ok(NewOperation {
        number,
        id: Id(next.id.uuid()),
        order_id: Id(next.order_id.uuid()),
        kind: next.kind.as_str(),
        state: next.state.as_str(),
        currency: next.amount.currency().code(),
        minor: next.amount.minor(),
        authorization_id: next.authorization.map(|authorization| Id(authorization.uuid())),
        refund_id: next.refund.map(|refund| Id(refund.uuid())),
        reference: next.reference.as_ref().map(ProcessorReference::as_str),
        processor: next.processor.as_ref().map(ProcessorId::as_str),
        channel: next.channel.as_str(),
        epoch: next.epoch,
        tries: i32::try_from(next.tries).map_err(|_beyond| Fault::Refused("too many tries to be stored".to_owned()))?,
        due_at: Instant(next.due_at),
        created_at: Instant(next.created_at),
    })
}
