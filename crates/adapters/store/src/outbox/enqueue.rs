//! Writing events down and queueing them, in the transaction of the change that they tell of.

use dropin_ports::NewEvent;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::worker_pool::Enqueued;

use super::{enqueue_postgres, enqueue_sqlite};

/// Appends events in their order and enqueues them for every endpoint of their merchant. The caller has changed, and so locked, the Session or
/// Order of the payment in this transaction; the unique key stands behind that.
pub(crate) fn enqueue_events(connection: &mut AnyConnection, events: &[NewEvent]) -> Result<Enqueued, Fault> {
    for of_payment in
        events.chunk_by(|one, next| (one.payment_id, one.merchant_id) == (next.payment_id, next.merchant_id))
    {
        let Some(first) = of_payment.first() else { continue };
        let enqueued = match connection {
            AnyConnection::Postgres(connection) => enqueue_postgres::enqueue(connection, first, of_payment),
            AnyConnection::Sqlite(connection) => enqueue_sqlite::enqueue(connection, first, of_payment),
        };
        enqueued.map_err(|fault| {
            // Another transaction appended at the same moment: the sequence has to be read again.
            let taken = fault.breaks("outbox_event_pkey", "outbox_event.payment_id, outbox_event.sequence");
            if taken { Fault::Retry } else { fault }
        })?;
    }
    Ok(Enqueued(!events.is_empty()))
}
