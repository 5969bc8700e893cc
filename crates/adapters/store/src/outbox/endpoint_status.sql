-- The endpoints with what waits for each, since when it is due, and what is parked: each found by its index, and
-- counted so far only.
--
-- $1 most: so far what waits and what is parked is counted
-- $2 merchant

SELECT ep.id, (
    SELECT count(*)
    FROM (
        SELECT 1 FROM outbox_stream AS s WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence LIMIT $1
    ) AS waiting
), (
    SELECT min(due_at)
    FROM (
        SELECT (
            SELECT s.due_at FROM outbox_stream AS s
            WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence AND s.replayed = FALSE
            ORDER BY s.due_at LIMIT 1
        ) AS due_at
        UNION ALL
        SELECT (
            SELECT s.due_at FROM outbox_stream AS s
            WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence AND s.replayed = TRUE ORDER BY s.due_at
            LIMIT 1
        )
    ) AS first
), (SELECT count(*) FROM (SELECT 1 FROM outbox_parked AS p WHERE p.endpoint_id = ep.id LIMIT $1) AS parked)
FROM endpoint AS ep WHERE ep.merchant_id = $2 AND ep.removed_at IS NULL ORDER BY ep.id;
