-- Appends events of one payment after its last one, and makes them the last of its stream at each endpoint of the
-- merchant. A stream that waits, is leased or retries keeps its time; an idle one is due now, or when an event that
-- has been set aside lets go of it.
--
-- $1 payment
-- $2 merchant
-- $3 to $6, new: arrays with an element for each event: id, type, JSON (to which the sequence number is added) and time

WITH target AS MATERIALIZED (
    SELECT $1::uuid AS payment_id, $2::uuid AS merchant_id
), so_far AS MATERIALIZED (
    SELECT coalesce(
        (
            SELECT sequence FROM outbox_event WHERE outbox_event.payment_id = target.payment_id
            ORDER BY sequence DESC LIMIT 1
        ), 0
    ) AS last
    FROM target
), new_event AS MATERIALIZED (
    SELECT so_far.last + number AS sequence, event_id, event_type,
        convert_to('{"Sequence":' || (so_far.last + number) || ',', 'UTF8') || substring(body FROM 2) AS body,
        happened_at
    FROM so_far, unnest($3::uuid[], $4::text[], $5::bytea[], $6::timestamptz[]) WITH ORDINALITY AS new (
        event_id, event_type, body, happened_at, number
    )
), written AS (
    INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT payment_id, sequence, event_id, merchant_id, event_type, body, happened_at FROM target, new_event
)
INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at)
SELECT endpoint.id, target.payment_id, FALSE, so_far.last + 1, (SELECT max(sequence) FROM new_event), 0,
    (SELECT happened_at FROM new_event ORDER BY sequence LIMIT 1)
FROM target, so_far, endpoint WHERE endpoint.merchant_id = target.merchant_id AND endpoint.removed_at IS NULL
ORDER BY endpoint.id
ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE
SET last_sequence = excluded.last_sequence,
    due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence
        THEN greatest(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END;
