-- A Session, of its merchant where one is named.
--
-- $1 id, $2 merchant: NULL for any

SELECT session.id, session.merchant_id, session.revision, session.state, session.order_id, session.attempt_id,
    session.cancel_reason, session.failure_reason, session.currency, session.total_minor, session.billing_profile_id,
    session.terms, session.created_at, session.updated_at, session.expires_at, session.attempts_failed,
    session.attempts_allowed, session.last_attempt_id, session.last_failure, billing_profile.id,
    billing_profile.merchant_id, billing_profile.reference, billing_profile.details, billing_profile.created_at,
    purchase_order.id, purchase_order.merchant_id, purchase_order.session_id, purchase_order.merchant_reference,
    purchase_order.revision, purchase_order.state, purchase_order.under_review, purchase_order.shown,
    purchase_order.currency, purchase_order.total_minor, purchase_order.authorized_minor,
    purchase_order.captured_minor, purchase_order.capture_pending_minor, purchase_order.refunded_minor,
    purchase_order.refund_pending_minor, purchase_order.auto_capture, purchase_order.payment_method,
    purchase_order.created_at, purchase_order.updated_at, purchase_order.expires_at, purchase_order.page,
    purchase_order.bank_details, purchase_order.voiding, purchase_order.capture_promised_minor,
    purchase_order.return_url, purchase_order.attempt_id, purchase_order.failure, purchase_order.transfer_reference,
    purchase_order.transfer_page, purchase_order.card_hash, purchase_order.contract_id, purchase_order.card_last_four,
    purchase_order.disputed_minor
FROM session
JOIN billing_profile ON billing_profile.id = session.billing_profile_id
LEFT JOIN purchase_order ON purchase_order.id = session.order_id
WHERE session.id = $1 AND session.merchant_id = coalesce($2, session.merchant_id);
