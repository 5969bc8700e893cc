-- The tries at what waits. What was tried is due again after a wait, and so stands last of its kind. Tries are found
-- by their event: they have no index by endpoint.
--
-- $1 endpoint
-- $2 look_at: most streams of each kind that are looked at
-- $3 streams: most whose tries are read

SELECT a.started_at, a.status, a.why
FROM (
    SELECT *
    FROM (
        SELECT *
        FROM (
            SELECT s.payment_id, s.next_sequence, s.first_try, s.due_at FROM outbox_stream AS s
            WHERE s.endpoint_id = $1 AND s.next_sequence <= s.last_sequence AND s.replayed = FALSE
            ORDER BY s.due_at DESC LIMIT $2
        ) AS new
        UNION ALL
        SELECT *
        FROM (
            SELECT s.payment_id, s.next_sequence, s.first_try, s.due_at FROM outbox_stream AS s
            WHERE s.endpoint_id = $1 AND s.next_sequence <= s.last_sequence AND s.replayed = TRUE
            ORDER BY s.due_at DESC LIMIT $2
        ) AS asked_for
    ) AS waiting
    WHERE waiting.first_try IS NOT NULL ORDER BY waiting.due_at DESC LIMIT $3
) AS tried
CROSS JOIN outbox_event AS e
CROSS JOIN outbox_attempt AS a
WHERE e.payment_id = tried.payment_id
    AND e.sequence = tried.next_sequence
    AND a.event_id = e.event_id
    AND a.endpoint_id = $1;
