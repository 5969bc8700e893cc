-- Leases the stream of one endpoint that is due longest.
--
-- A stream that another transaction holds is skipped. One that was leased already belonged to a notifier that died:
-- that try does not count.
--
-- $1 endpoint
-- $2 now: a stream that is due by then is leased
-- $3 lease_until: when the lease ends

WITH locked AS MATERIALIZED (
    SELECT id, leased, due_at, 1::bigint AS enough
    FROM (
        SELECT *
        FROM (
            SELECT id, leased, due_at FROM outbox_stream
            WHERE endpoint_id = $1 AND NOT replayed AND next_sequence <= last_sequence AND due_at <= $2
            ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS new
        UNION ALL
        SELECT *
        FROM (
            SELECT id, leased, due_at FROM outbox_stream
            WHERE endpoint_id = $1 AND replayed AND next_sequence <= last_sequence AND due_at <= $2 ORDER BY due_at
            LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS again
    ) AS either
    ORDER BY due_at LIMIT 1
), claimed AS (
    UPDATE outbox_stream AS s
    SET attempt = s.attempt + 1, uncounted = s.uncounted + locked.leased::integer,
        first_try = coalesce(s.first_try, $2), due_at = $3, leased = TRUE
    FROM locked WHERE s.id = locked.id
    RETURNING s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted,
        locked.leased AS lease_expired, locked.due_at, locked.enough
)
SELECT claimed.id, claimed.endpoint_id, claimed.enough, claimed.id, claimed.endpoint_id, claimed.payment_id,
    claimed.next_sequence, claimed.attempt, claimed.first_try, claimed.uncounted, claimed.lease_expired, endpoint.url,
    endpoint.secret, endpoint.previous_secret, endpoint.previous_until, endpoint.removed_at IS NOT NULL,
    endpoint.event_types, endpoint.retry, (SELECT sandbox FROM merchant WHERE merchant.id = endpoint.merchant_id),
    e.event_id, e.merchant_id, e.event_type, e.body, e.happened_at
FROM claimed
LEFT JOIN endpoint ON endpoint.id = claimed.endpoint_id
LEFT JOIN outbox_event AS e ON e.payment_id = claimed.payment_id AND e.sequence = claimed.next_sequence
ORDER BY claimed.due_at;
