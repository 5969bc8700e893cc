//! MerchantReferences: first come, first served.

use diesel::prelude::*;
use diesel::sql_types::Text;
use dropin_kernel::{MerchantId, OrderId, SessionId};
use dropin_order::Order;
use dropin_session::Session;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable};
use dropin_store_runtime::sql::{Id, SqlId};
use dropin_store_runtime::{on_each, statement};

use crate::schema::merchant_reference;

statement! {
    /// Takes a MerchantReference, unless it is taken. Waits for whoever is taking it right now.
    TakeReference { merchant: Id => SqlId, reference: String => Text, kind: &'static str => Text, owner: Id => SqlId, }
    both "INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
}

/// What owns a MerchantReference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Session(SessionId),
    /// The Order of a server-to-server checkout.
    Checkout(OrderId),
}

impl Owner {
    const fn stored(self) -> (&'static str, Id) {
        match self {
            Self::Session(id) => ("SESSION", Id(id.uuid())),
            Self::Checkout(id) => ("CHECKOUT", Id(id.uuid())),
        }
    }
}

/// Whose a MerchantReference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The asker's, as of now.
    Taken,
    /// The asker's, as before.
    Own,
    /// Somebody else's.
    Foreign,
}

/// Takes the Session's MerchantReference for it, first come, first served.
pub(crate) fn take_reference(connection: &mut AnyConnection, session: &Session) -> Result<Reference, Fault> {
    let reference = session.terms.merchant_reference.as_str();
    take(connection, session.merchant_id, reference, Owner::Session(session.id))
}

/// Takes the reference of a server-to-server checkout for its Order, first come, first served.
pub(crate) fn take_checkout_reference(connection: &mut AnyConnection, order: &Order) -> Result<Reference, Fault> {
    take(connection, order.merchant_id, &order.merchant_reference, Owner::Checkout(order.id))
}

fn take(
    connection: &mut AnyConnection,
    merchant: MerchantId,
    reference: &str,
    owner: Owner,
) -> Result<Reference, Fault> {
    let (merchant, (kind, owner)) = (Id(merchant.uuid()), owner.stored());
    let take = TakeReference { merchant, reference: reference.to_owned(), kind, owner };
    if on_each!(connection, inner => take.execute(inner))? == 1 {
        return Ok(Reference::Taken);
    }
    let found: (String, Id) = merchant_reference::table
        .find((merchant, reference))
        .select((merchant_reference::owner_kind, merchant_reference::owner_id))
        .first(connection)
        .in_table("merchant_reference")?;
    Ok(if found == (kind.to_owned(), owner) { Reference::Own } else { Reference::Foreign })
}
