//! The columns of rows that statements written as text give, in the order of the rows' fields; a test compares them with what diesel selects.

use diesel::Expression;
use diesel::pg::Pg;
use diesel::prelude::Selectable;

/// What the columns of a row are in SQL.
pub(crate) type ColumnsOf<R> = <<R as Selectable<Pg>>::SelectExpression as Expression>::SqlType;

/// The columns of an `OrderRow`.
macro_rules! order_columns {
    () => {
        "purchase_order.id, purchase_order.merchant_id, purchase_order.session_id, purchase_order.merchant_reference, \
            purchase_order.revision, purchase_order.state, purchase_order.under_review, purchase_order.shown, \
            purchase_order.currency, purchase_order.total_minor, purchase_order.authorized_minor, purchase_order.captured_minor, \
            purchase_order.capture_pending_minor, purchase_order.refunded_minor, purchase_order.refund_pending_minor, \
            purchase_order.auto_capture, purchase_order.payment_method, purchase_order.created_at, purchase_order.updated_at, \
            purchase_order.expires_at, purchase_order.page, purchase_order.bank_details, purchase_order.voiding, \
            purchase_order.capture_promised_minor, purchase_order.return_url, purchase_order.attempt_id, purchase_order.failure, \
            purchase_order.transfer_reference, purchase_order.transfer_page, purchase_order.card_hash, purchase_order.contract_id, \
            purchase_order.card_last_four, purchase_order.disputed_minor"
    };
}

/// The columns of a `SessionRow`.
macro_rules! session_columns {
    () => {
        "session.id, session.merchant_id, session.revision, session.state, session.order_id, session.attempt_id, \
            session.cancel_reason, session.failure_reason, session.currency, session.total_minor, session.billing_profile_id, \
            session.terms, session.created_at, session.updated_at, session.expires_at, \
            session.attempts_failed, session.attempts_allowed, session.last_attempt_id, session.last_failure"
    };
}

/// The columns of a `ProfileRow`.
macro_rules! profile_columns {
    () => {
        "billing_profile.id, billing_profile.merchant_id, billing_profile.reference, billing_profile.details, \
            billing_profile.created_at"
    };
}

/// The columns of an `OpRow`.
macro_rules! op_columns {
    () => {
        "processor_op.id, processor_op.order_id, processor_op.kind, processor_op.state, processor_op.currency, \
            processor_op.amount_minor, processor_op.authorization_id, processor_op.refund_id, processor_op.processor_reference, \
            processor_op.processor_id, processor_op.channel, processor_op.epoch, processor_op.tries, processor_op.due_at, processor_op.created_at"
    };
}

/// The columns of a `RefundRow`.
macro_rules! refund_columns {
    () => {
        "refund.id, refund.order_id, refund.merchant_id, refund.reference, refund.currency, refund.amount_minor, \
            refund.description, refund.state, refund.created_at, refund.updated_at, refund.settlement_currency, \
            refund.settlement_minor"
    };
}

pub(crate) use {op_columns, order_columns, profile_columns, refund_columns, session_columns};

#[cfg(test)]
mod tests {
    use diesel::debug_query;
    use diesel::prelude::*;

    use super::*;
    use crate::rows::{OpRow, OrderRow, ProfileRow, RefundRow, SessionRow};
    use crate::schema::{billing_profile, processor_op, purchase_order, refund, session};

    #[test]
    fn they_are_what_diesel_selects() {
        let of = |query: String| {
            let plain = query.replace('"', "");
            plain.trim_start_matches("SELECT ").split(" FROM").next().unwrap_or_default().to_owned()
        };
        macro_rules! selected {
            ($table:ident, $row:ty) => {
                of(debug_query::<Pg, _>(&$table::table.select(<$row>::as_select())).to_string())
            };
        }
        assert_eq!(order_columns!(), selected!(purchase_order, OrderRow));
        assert_eq!(session_columns!(), selected!(session, SessionRow));
        assert_eq!(profile_columns!(), selected!(billing_profile, ProfileRow));
        assert_eq!(op_columns!(), selected!(processor_op, OpRow));
        assert_eq!(refund_columns!(), selected!(refund, RefundRow));
    }
}
