-- Everything of an Order that changes, if it is still as it was when that was decided.
--
-- $1 revision
-- $2 state
-- $3 under_review
-- $4 shown
-- $5 authorized
-- $6 captured
-- $7 capture_pending
-- $8 refunded
-- $9 refund_pending
-- $10 updated_at
-- $11 expires_at
-- $12 page
-- $13 bank_details
-- $14 voiding
-- $15 capture_promised
-- $16 failure
-- $17 card
-- $18 last_four
-- $19 id
-- $20 merchant
-- $21 expected: the revision on which the change was decided

UPDATE purchase_order
SET revision = $1, state = $2, under_review = $3, shown = $4, authorized_minor = $5, captured_minor = $6,
    capture_pending_minor = $7, refunded_minor = $8, refund_pending_minor = $9, updated_at = $10, expires_at = $11,
    page = $12, bank_details = $13, voiding = $14, capture_promised_minor = $15, failure = $16, card_hash = $17,
    card_last_four = $18
WHERE id = $19 AND merchant_id = $20 AND revision = $21;
