-- Streams that are due, chosen as on PostgreSQL: as many as may be of each kind, numbered, and of those the new ones
-- first.
--
-- The columns are as the streams are before they are leased.
--
-- $1 now: streams that are due by then are chosen
-- $2 full: endpoints that are left out, their ids with commas between
-- $3 limit: most streams, and so most endpoints
-- $4 turn: 0 to 7, in turn or by chance: has an eighth come out even for small numbers
-- $5 per_endpoint: most streams of one endpoint

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
), ready AS MATERIALIZED (
    SELECT endpoint_id, max(replayed) AS replays FROM pending
    WHERE due_at <= $1 AND instr($2, endpoint_id) = 0 GROUP BY endpoint_id ORDER BY min(due_at) LIMIT $3
), share AS MATERIALIZED (
    SELECT endpoint_id, replays, size, size - replays * ((size + $4) / 8) AS new FROM ready
    CROSS JOIN (SELECT min($5, max(1, $3 / nullif(count(*), 0))) AS size FROM ready) AS equal
), kind (replayed) AS (
    SELECT 0 UNION ALL SELECT 1
), candidate AS (
    SELECT s.id, s.endpoint_id, s.replayed, s.due_at, share.size, share.new,
        row_number() OVER (PARTITION BY s.endpoint_id, s.replayed ORDER BY s.due_at) AS place
    FROM share
    CROSS JOIN kind
    CROSS JOIN outbox_stream AS s
        ON s.id IN (
            SELECT x.id FROM outbox_stream AS x
            WHERE x.endpoint_id = share.endpoint_id
                AND x.replayed = kind.replayed
                AND x.next_sequence <= x.last_sequence
                AND x.due_at <= $1
            ORDER BY x.due_at LIMIT (SELECT max(size) FROM share)
        )
), due AS MATERIALIZED (
    SELECT id, max(1, new) AS enough
    FROM (
        SELECT id, size, new, row_number() OVER (PARTITION BY endpoint_id ORDER BY replayed, due_at) AS place
        FROM candidate WHERE replayed OR place <= new
    ) AS sorted
    WHERE place <= size
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
