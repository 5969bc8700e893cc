-- Endpoints for which anything waits, with the earliest time at which something is due: a look into the index for
-- each.
--
-- Found by hopping through the index, so that neither idle streams nor what waits behind others costs anything.

WITH RECURSIVE pending (endpoint_id, replayed, due_at) AS (
    SELECT *
    FROM (
        SELECT endpoint_id, replayed, due_at FROM outbox_stream
        WHERE next_sequence <= last_sequence ORDER BY endpoint_id, replayed, due_at LIMIT 1
    ) AS one
    UNION ALL
    SELECT next.endpoint_id, next.replayed, next.due_at FROM pending
    CROSS JOIN LATERAL (
        SELECT s.endpoint_id, s.replayed, s.due_at FROM outbox_stream AS s
        WHERE s.next_sequence <= s.last_sequence
            AND (s.endpoint_id, s.replayed) > (pending.endpoint_id, pending.replayed)
        ORDER BY s.endpoint_id, s.replayed, s.due_at LIMIT 1
    ) AS next
)
SELECT endpoint_id, min(due_at) FROM pending GROUP BY endpoint_id;
