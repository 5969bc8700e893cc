-- An operation with all that it belongs to.
--
-- $1 id

SELECT processor_op.id, processor_op.order_id, processor_op.kind, processor_op.state, processor_op.currency,
    processor_op.amount_minor, processor_op.authorization_id, processor_op.refund_id,
    processor_op.processor_reference, processor_op.processor_id, processor_op.channel, processor_op.epoch,
    processor_op.tries, processor_op.due_at, processor_op.created_at, purchase_order.id, purchase_order.merchant_id,
    purchase_order.session_id, purchase_order.merchant_reference, purchase_order.revision, purchase_order.state,
    purchase_order.under_review, purchase_order.shown, purchase_order.currency, purchase_order.total_minor,
    purchase_order.authorized_minor, purchase_order.captured_minor, purchase_order.capture_pending_minor,
    purchase_order.refunded_minor, purchase_order.refund_pending_minor, purchase_order.auto_capture,
    purchase_order.payment_method, purchase_order.created_at, purchase_order.updated_at, purchase_order.expires_at,
    purchase_order.page, purchase_order.bank_details, purchase_order.voiding, purchase_order.capture_promised_minor,
    purchase_order.return_url, purchase_order.attempt_id, purchase_order.failure, purchase_order.transfer_reference,
    purchase_order.transfer_page, purchase_order.card_hash, purchase_order.contract_id, purchase_order.card_last_four,
    purchase_order.disputed_minor, session.id, session.merchant_id, session.revision, session.state, session.order_id,
    session.attempt_id, session.cancel_reason, session.failure_reason, session.currency, session.total_minor,
    session.billing_profile_id, session.terms, session.created_at, session.updated_at, session.expires_at,
    session.attempts_failed, session.attempts_allowed, session.last_attempt_id, session.last_failure,
    billing_profile.id, billing_profile.merchant_id, billing_profile.reference, billing_profile.details,
    billing_profile.created_at, refund.id, refund.order_id, refund.merchant_id, refund.reference, refund.currency,
    refund.amount_minor, refund.description, refund.state, refund.created_at, refund.updated_at,
    refund.settlement_currency, refund.settlement_minor
FROM processor_op
JOIN purchase_order ON purchase_order.id = processor_op.order_id
LEFT JOIN session ON session.id = purchase_order.session_id
LEFT JOIN billing_profile ON billing_profile.id = session.billing_profile_id
LEFT JOIN refund ON refund.id = processor_op.refund_id WHERE processor_op.id = $1;
