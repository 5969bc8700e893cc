-- The stream of one endpoint that is due longest.
--
-- The columns are as the stream is before it is leased.
--
-- $1 endpoint
-- $2 now: a stream that is due by then is chosen

WITH due AS MATERIALIZED (
    SELECT id, 1 AS enough
    FROM (
        SELECT *
        FROM (
            SELECT id, due_at FROM outbox_stream
            WHERE endpoint_id = $1 AND replayed = 0 AND next_sequence <= last_sequence AND due_at <= $2
            ORDER BY due_at LIMIT 1
        )
        UNION ALL
        SELECT *
        FROM (
            SELECT id, due_at FROM outbox_stream
            WHERE endpoint_id = $1 AND replayed = 1 AND next_sequence <= last_sequence AND due_at <= $2
            ORDER BY due_at LIMIT 1
        )
    )
    ORDER BY due_at LIMIT 1
)
SELECT s.id, s.endpoint_id, due.enough, s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try,
    s.uncounted, s.leased, endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_until,
    endpoint.removed_at IS NOT NULL, endpoint.event_types, endpoint.retry,
    (SELECT sandbox FROM merchant WHERE merchant.id = endpoint.merchant_id), e.event_id, e.merchant_id, e.event_type,
    e.body, e.happened_at
FROM due
CROSS JOIN outbox_stream AS s ON s.id = due.id
JOIN endpoint ON endpoint.id = s.endpoint_id
LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence ORDER BY s.due_at;
