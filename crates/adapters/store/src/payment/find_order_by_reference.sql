-- A merchant's own Order that was shown, by the reference that its Session or checkout took.
--
-- $1 merchant, $2 reference

SELECT purchase_order.id, purchase_order.merchant_id, purchase_order.session_id, purchase_order.merchant_reference,
    purchase_order.revision, purchase_order.state, purchase_order.under_review, purchase_order.shown,
    purchase_order.currency, purchase_order.total_minor, purchase_order.authorized_minor,
    purchase_order.captured_minor, purchase_order.capture_pending_minor, purchase_order.refunded_minor,
    purchase_order.refund_pending_minor, purchase_order.auto_capture, purchase_order.payment_method,
    purchase_order.created_at, purchase_order.updated_at, purchase_order.expires_at, purchase_order.page,
    purchase_order.bank_details, purchase_order.voiding, purchase_order.capture_promised_minor,
    purchase_order.return_url, purchase_order.attempt_id, purchase_order.failure, purchase_order.transfer_reference,
    purchase_order.transfer_page, purchase_order.card_hash, purchase_order.contract_id, purchase_order.card_last_four,
    purchase_order.disputed_minor
FROM merchant_reference AS taken
JOIN purchase_order ON purchase_order.session_id = taken.owner_id
    AND purchase_order.merchant_id = taken.merchant_id
    AND purchase_order.merchant_reference = taken.reference
WHERE taken.merchant_id = $1 AND taken.reference = $2 AND taken.owner_kind = 'SESSION' AND purchase_order.shown
UNION ALL
SELECT purchase_order.id, purchase_order.merchant_id, purchase_order.session_id, purchase_order.merchant_reference,
    purchase_order.revision, purchase_order.state, purchase_order.under_review, purchase_order.shown,
    purchase_order.currency, purchase_order.total_minor, purchase_order.authorized_minor,
    purchase_order.captured_minor, purchase_order.capture_pending_minor, purchase_order.refunded_minor,
    purchase_order.refund_pending_minor, purchase_order.auto_capture, purchase_order.payment_method,
    purchase_order.created_at, purchase_order.updated_at, purchase_order.expires_at, purchase_order.page,
    purchase_order.bank_details, purchase_order.voiding, purchase_order.capture_promised_minor,
    purchase_order.return_url, purchase_order.attempt_id, purchase_order.failure, purchase_order.transfer_reference,
    purchase_order.transfer_page, purchase_order.card_hash, purchase_order.contract_id, purchase_order.card_last_four,
    purchase_order.disputed_minor
FROM merchant_reference AS taken
JOIN purchase_order ON purchase_order.id = taken.owner_id
    AND purchase_order.merchant_id = taken.merchant_id
    AND purchase_order.merchant_reference = taken.reference
WHERE taken.merchant_id = $1 AND taken.reference = $2 AND taken.owner_kind = 'CHECKOUT' AND purchase_order.shown;
