-- The Orders that may be ended because their time is over. Has the words of the partial index, so that this is used.
--
-- $1 now: what ended by then
-- $2 end: found are Orders behind that end
-- $3 id: and that id
-- $4 limit

SELECT expires_at, id FROM purchase_order
WHERE state IN ('PROCESSING', 'PAYMENT_AUTHORIZED')
    AND expires_at IS NOT NULL
    AND voiding IS NULL
    AND capture_pending_minor = 0
    AND expires_at <= $1
    AND (expires_at, id) > ($2, $3)
ORDER BY expires_at, id LIMIT $4;
