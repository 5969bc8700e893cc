-- Leases streams that are due and says what is to be sent. Each endpoint with any gets an equal share of the limit,
-- so that none starves another and no more is locked than is leased. What was asked for gets what the new ones leave
-- of it, and its eighth: however much was asked for, what happens now is told now.
--
-- Endpoints with anything to do are found by hopping through the index (pending), so that neither idle ones nor what
-- waits behind that costs anything. Of each, an eighth is left to what was asked for, if any of that is due, or it
-- would wait for ever where there is always something new (share). A stream that was leased already belonged to a
-- notifier that died: that try does not count.
--
-- Streams are locked as they are found; what another transaction holds is skipped.
--
-- $1 now: streams that are due by then are leased; those that are tried for the first time have their first try then
-- $2 full: endpoints that are left out
-- $3 limit: most streams, and so most endpoints
-- $4 turn: 0 to 7, in turn or by chance: has an eighth come out even for small numbers
-- $5 per_endpoint: most streams of one endpoint
-- $6 lease_until: when the lease ends

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
), ready AS MATERIALIZED (
    SELECT endpoint_id, bool_or(replayed) AS replays FROM pending
    WHERE due_at <= $1 AND endpoint_id <> ALL ($2) GROUP BY endpoint_id ORDER BY min(due_at) LIMIT $3
), share AS MATERIALIZED (
    SELECT endpoint_id, replays, size, size - CASE WHEN replays THEN (size + $4) / 8 ELSE 0 END AS new FROM ready
    CROSS JOIN (SELECT least($5, greatest(1, $3 / nullif(count(*), 0))) AS size FROM ready) AS equal
), new AS MATERIALIZED (
    SELECT s.*, share.endpoint_id, greatest(1, share.new) AS enough FROM share
    CROSS JOIN LATERAL (
        SELECT id, leased, due_at FROM outbox_stream
        WHERE endpoint_id = share.endpoint_id AND NOT replayed AND next_sequence <= last_sequence AND due_at <= $1
        ORDER BY due_at LIMIT share.new FOR UPDATE SKIP LOCKED
    ) AS s
), again AS MATERIALIZED (
    SELECT s.*, share.endpoint_id, greatest(1, share.new) AS enough FROM share
    CROSS JOIN LATERAL (
        SELECT id, leased, due_at FROM outbox_stream
        WHERE endpoint_id = share.endpoint_id AND replayed AND next_sequence <= last_sequence AND due_at <= $1
        ORDER BY due_at LIMIT (share.size - (SELECT count(*) FROM new WHERE new.endpoint_id = share.endpoint_id))
        FOR UPDATE SKIP LOCKED
    ) AS s
    WHERE share.replays
), locked AS MATERIALIZED (
    SELECT * FROM new UNION ALL SELECT * FROM again
), claimed AS (
    UPDATE outbox_stream AS s
    SET attempt = s.attempt + 1, uncounted = s.uncounted + locked.leased::integer,
        first_try = coalesce(s.first_try, $1), due_at = $6, leased = TRUE
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
