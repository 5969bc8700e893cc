-- Makes events the last of their payment's stream at each endpoint of the merchant. A stream that waits, is leased or
-- retries keeps its time; an idle one is due now, or when an event that has been set aside lets go of it.
--
-- $1 payment
-- $2 first: the number of the first new event
-- $3 last: of the last
-- $4 now: when the first happened
-- $5 merchant

INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at)
SELECT id, $1, FALSE, $2, $3, 0, $4 FROM endpoint
WHERE merchant_id = $5 AND removed_at IS NULL ORDER BY id
ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE
SET last_sequence = excluded.last_sequence,
    due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence
        THEN max(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END;
