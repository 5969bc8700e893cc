-- Parked notifications, and endpoints where something waits after a try that failed. What was tried is due again
-- after a wait, and so stands last of its kind.
--
-- $1 any_merchant: whether all merchants count
-- $2 merchants: their ids, a list as JSON, where not all count
-- $3 parked_most: so far parked notifications are counted
-- $4 inspected: most streams that are looked at for each endpoint and kind

WITH ep AS (
    SELECT id FROM endpoint WHERE removed_at IS NULL AND ($1 OR merchant_id IN (SELECT value FROM json_each($2)))
)
SELECT (SELECT count(*) FROM (SELECT 1 FROM ep JOIN outbox_parked AS p ON p.endpoint_id = ep.id LIMIT $3) AS parked), (
    SELECT count(*) FROM ep
    WHERE EXISTS (
        SELECT 1
        FROM (
            SELECT s.attempt, s.leased FROM outbox_stream AS s
            WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence AND s.replayed = FALSE
            ORDER BY s.due_at DESC LIMIT $4
        ) AS last
        WHERE last.attempt > 1 OR last.attempt > 0 AND NOT last.leased
    )
        OR EXISTS (
            SELECT 1
            FROM (
                SELECT s.attempt, s.leased FROM outbox_stream AS s
                WHERE s.endpoint_id = ep.id AND s.next_sequence <= s.last_sequence AND s.replayed = TRUE
                ORDER BY s.due_at DESC LIMIT $4
            ) AS last
            WHERE last.attempt > 1 OR last.attempt > 0 AND NOT last.leased
        )
);
