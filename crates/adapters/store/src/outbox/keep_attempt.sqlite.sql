-- Keeps one try, unless that was done already.
--
-- $1 endpoint
-- $2 event
-- $3 attempt: its number
-- $4 started_at
-- $5 took: microseconds
-- $6 status: of the endpoint's answer
-- $7 why: the reason where there is no answer
-- $8 answer

INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status, why, answer)
SELECT attempt_row.*
FROM (
    SELECT $1 AS endpoint_id, $2 AS event_id, $3 AS attempt, $4 AS started_at, $5 AS took, $6 AS status, $7 AS why,
        $8 AS answer
) AS attempt_row
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_attempt AS a
    WHERE a.event_id = attempt_row.event_id
        AND a.endpoint_id = attempt_row.endpoint_id
        AND a.attempt = attempt_row.attempt
        AND a.started_at = attempt_row.started_at
);
