-- Endpoints for which anything waits, with the earliest time at which something is due: a look into the index for
-- each.
--
-- Found by hopping through the index, so that neither idle streams nor what waits behind others costs anything.

WITH RECURSIVE pending (endpoint_id, replayed, due_at) AS (
    SELECT *
    FROM (
        SELECT endpoint_id, replayed, due_at FROM outbox_stream
        WHERE next_sequence <= last_sequence ORDER BY endpoint_id, replayed, due_at LIMIT 1
    )
    UNION ALL
    SELECT follower.endpoint_id, follower.replayed, follower.due_at FROM pending
    JOIN outbox_stream AS follower
        ON follower.id = (
            SELECT x.id FROM outbox_stream AS x
            WHERE x.next_sequence <= x.last_sequence
                AND (x.endpoint_id, x.replayed) > (pending.endpoint_id, pending.replayed)
            ORDER BY x.endpoint_id, x.replayed, x.due_at LIMIT 1
        )
)
SELECT endpoint_id, min(due_at) FROM pending GROUP BY endpoint_id;
