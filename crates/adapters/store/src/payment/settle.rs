//! What is written when a processor has answered.

use std::collections::HashSet;

use diesel::PgConnection;
use dropin_kernel::Change;
use dropin_order::{Channel, Order};
use dropin_ports::{Settled, Settlement};

use super::{operation, order, refund};
use crate::connection::AnyConnection;
use crate::fault::Fault;
use crate::lane::{Together, Verdict, Work};
use crate::session::apply_state;
use crate::{answers, journal, postgres};

/// A settlement to be written.
pub(crate) struct Settling(pub(crate) Settlement);

/// One that moves an Order along, and perhaps its Session; anything else is left to the transaction.
#[derive(Clone, Copy)]
pub(crate) struct UsualSettlement<'a> {
    /// Its place among those that came together.
    pub(crate) place: usize,
    pub(crate) settlement: &'a Settlement,
    pub(crate) order: &'a Change<Order>,
}

impl Settling {
    fn usual(&self, place: usize) -> Option<UsualSettlement<'_>> {
        // All fields are named, so that a new one is thought of here.
        let Settlement {
            operation: _,
            state: _,
            due_at: _,
            order,
            session,
            refund,
            follow_up,
            ledger,
            events,
            history: _,
            answer,
            now: _,
        } = &self.0;
        let order = order.as_ref()?;
        let Order {
            id,
            merchant_id,
            session_id: _,
            merchant_reference: _,
            revision: _,
            state: _,
            under_review: _,
            shown: _,
            total: _,
            amounts: _,
            auto_capture: _,
            payment_method: _,
            created_at: _,
            updated_at: _,
            expires_at: _,
            page: _,
            bank_details,
            voiding,
            capture_promised,
            return_url: _,
        } = &order.next;
        let plain = bank_details.is_none() && voiding.is_none() && capture_promised.is_none();
        let counts_on = order.next.revision == order.expected.next()
            && session.as_ref().is_none_or(|change| change.next.revision == change.expected.next());
        let own = session.as_ref().is_none_or(|change| change.next.merchant_id == *merchant_id)
            && ledger.iter().all(|posted| posted.order_id == *id)
            && events.iter().all(|event| event.merchant_id == *merchant_id)
            && events.windows(2).all(|pair| pair[0].payment_id == pair[1].payment_id);
        // Nobody waits for an answer with a key.
        let unasked = refund.is_none()
            && answer.is_none()
            && follow_up.as_ref().is_none_or(|next| next.channel == Channel::Nobody && next.refund.is_none());
        (plain && counts_on && own && unasked).then_some(UsualSettlement { place, settlement: &self.0, order })
    }
}

fn settle(connection: &mut AnyConnection, settlement: &Settlement) -> Result<Verdict<Settled>, Fault> {
    if !operation::close(connection, settlement)? {
        return Ok(Verdict::Undo(Settled::AlreadySettled));
    }
    let order = settlement.order.as_ref().map(|change| order::apply(connection, change)).transpose()?;
    let session = settlement.session.as_ref().map(|change| apply_state(connection, change)).transpose()?;
    if order == Some(false) || session == Some(false) {
        return Ok(Verdict::Undo(Settled::Stale));
    }
    if let Some(refund) = &settlement.refund {
        refund::decide(connection, refund)?;
    }
    if let Some(operation) = &settlement.follow_up {
        operation::insert(connection, operation)?;
    }
    journal::post(connection, &settlement.ledger)?;
    journal::remember_all(connection, &settlement.history)?;
    journal::announce(connection, &settlement.events)?;
    match (&settlement.answer, &settlement.follow_up) {
        (None, Some(next)) if next.channel != Channel::Nobody => {
            answers::pass_on(connection, settlement.operation, next.id)?;
        }
        (answer, _) => answers::give(connection, settlement.operation, answer.as_ref())?,
    }
    Ok(Verdict::Keep(Settled::Done))
}

impl Work for Settling {
    type Answer = Settled;

    /// After a statement whose answer got lost it finds the operation settled.
    fn run(&self, connection: &mut AnyConnection) -> Result<Verdict<Settled>, Fault> {
        settle(connection, &self.0)
    }
}

impl Together for Settling {
    fn together(connection: &mut PgConnection, all: &[&Self]) -> Result<Vec<Option<Settled>>, Fault> {
        let mut orders = HashSet::new();
        let mut usual: Vec<_> = all.iter().enumerate().filter_map(|(place, one)| one.usual(place)).collect();
        // Of those about the same Order, the first goes along; the others are told alone that they were too late.
        usual.retain(|one| orders.insert(one.order.next.id));
        if usual.is_empty() {
            return Ok(vec![None; all.len()]);
        }
        let settled = postgres::settle(connection, usual)?;
        Ok((0..all.len()).map(|place| settled.contains(&place).then_some(Settled::Done)).collect())
    }
}
