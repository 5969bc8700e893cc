-- Makes what was tried before and waits for its next try due at once. Passes over a stream that somebody works on:
-- waiting for it, after those that are held already, could be for ever.
--
-- $1 now
-- $2 endpoint
-- $3 payment
-- $4 sequence: the number of the event

UPDATE outbox_stream SET due_at = $1
WHERE id IN (
    SELECT id FROM outbox_stream
    WHERE endpoint_id = $2
        AND payment_id = $3
        AND NOT detached
        AND next_sequence = $4
        AND next_sequence <= last_sequence
    UNION ALL
    SELECT id FROM outbox_stream
    WHERE endpoint_id = $2 AND payment_id = $3 AND detached AND next_sequence = $4
)
    AND attempt > 0
    AND NOT leased
    AND due_at > $1;
