-- A new Order.
--
-- $1 id, $2 merchant, $3 session, $4 reference, $5 revision, $6 state, $7 under_review, $8 shown, $9 currency, $10
-- total, $11 authorized, $12 captured, $13 capture_pending, $14 refunded, $15 refund_pending, $16 auto_capture, $17
-- payment_method, $18 created_at, $19 updated_at, $20 expires_at, $21 page, $22 bank_details, $23 voiding, $24
-- capture_promised, $25 return_url, $26 attempt, $27 failure, $28 transfer_reference, $29 transfer_page, $30 card,
-- $31 contract, $32 last_four

INSERT INTO purchase_order (
    id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency, total_minor,
    authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture,
    payment_method, created_at, updated_at, expires_at, page, bank_details, voiding, capture_promised_minor,
    return_url, attempt_id, failure, transfer_reference, transfer_page, card_hash, contract_id, card_last_four
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
    $25, $26, $27, $28, $29, $30, $31, $32
);
