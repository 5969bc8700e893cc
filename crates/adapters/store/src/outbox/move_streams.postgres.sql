-- Locks the streams whose try is under way, moves them and hands out what is next. Untouched are those whose
-- notification is tried again after its hour (TRUE): each becomes two streams, one after the other. So are streams
-- that were asked for and go on: what comes behind is looked for under the lock, because whoever asks for more may
-- have put it there while this waited.
--
-- Locks are taken in the order of endpoints and then of streams: a transaction that enqueues for all endpoints of a
-- payment takes them in the same order, and one that goes through the streams of an endpoint does so by their ids. An
-- event that was enqueued during a wait for a lock is not seen here; it is looked for afterwards.
--
-- An attempt that is reported twice, because the first response was lost, is held once, since nothing is leased any
-- more, and recorded once. A scalar subquery looks for it: PostgreSQL may answer NOT EXISTS by reading every attempt
-- there is. IS NOT DISTINCT FROM keeps it to the index by event, because many attempts may have started at one
-- moment.
--
-- What was moved and what was not stand one below the other rather than joined: that would compare each row with
-- each. Nothing is looked up for streams that are idle now: their keys are NULL.
--
-- $1 to $7, result: arrays with an element for each result: the stream; sequence and attempt, by which the lease is
-- known; next, where the stream goes on, or NULL to try the same again; whether the notification is parked; whether
-- the try does not count (held); and when the same is tried again
-- $8 hands_out: whether what is next is leased at once
-- $9 holds_back_for: seconds after which a notification that is tried again gets a stream of its own
-- $10 now: when all of this happens
-- $11 lease_until: when the new leases end
-- $12 to $19, attempt_row: the same for each attempt to be kept

WITH result AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::boolean[], $6::boolean[], $7::timestamptz[]
    ) WITH ORDINALITY AS result (stream, sequence, attempt, next, parked, held, again_at, place)
), found AS MATERIALIZED (
    SELECT s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt - s.uncounted AS tries, result.place,
        result.next, result.next IS NULL AS again, result.parked, result.held, result.again_at,
        result.next <= s.last_sequence AND $8 AS goes_on,
        s.detached AND NOT s.replayed AND result.next > s.last_sequence AS ends,
        CASE WHEN s.replayed AND result.next IS NOT NULL THEN TRUE WHEN s.detached AND NOT s.replayed THEN FALSE
            ELSE NOT result.held AND result.again_at > s.first_try + $9 * INTERVAL '1 second' END AS is_left
    FROM result
    JOIN outbox_stream AS s ON s.id = result.stream
    WHERE s.next_sequence = result.sequence AND s.attempt = result.attempt AND s.next_sequence <= s.last_sequence
    ORDER BY s.endpoint_id, s.id FOR UPDATE OF s
), moved AS (
    UPDATE outbox_stream AS s
    SET next_sequence = CASE WHEN found.again THEN s.next_sequence ELSE found.next END,
        attempt = CASE WHEN found.again THEN s.attempt WHEN found.goes_on THEN 1 ELSE 0 END,
        uncounted = CASE WHEN found.held THEN s.uncounted + s.leased::integer
            WHEN found.again THEN s.uncounted ELSE 0 END,
        first_try = CASE WHEN found.again THEN s.first_try WHEN found.goes_on THEN $10 END,
        due_at = CASE WHEN found.again THEN found.again_at WHEN found.goes_on THEN $11 ELSE $10 END,
        leased = found.goes_on IS TRUE
    FROM found WHERE s.id = found.id AND found.is_left IS NOT TRUE AND found.ends IS NOT TRUE
    RETURNING s.id, CASE WHEN s.leased THEN s.id END AS leased,
        CASE WHEN s.leased THEN s.endpoint_id END AS endpoint_id,
        CASE WHEN s.leased THEN s.payment_id END AS payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted
), ended AS (
    DELETE FROM outbox_stream AS s USING found WHERE s.id = found.id AND found.ends AND found.is_left IS NOT TRUE
), aside AS (
    INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at)
    SELECT found.endpoint_id, e.event_id, found.tries, $10 FROM found
    JOIN outbox_event AS e ON e.payment_id = found.payment_id AND e.sequence = found.next_sequence
    WHERE found.parked AND found.is_left IS NOT TRUE ORDER BY found.place
    ON CONFLICT (endpoint_id, event_id) DO UPDATE
    SET attempts = excluded.attempts, parked_at = excluded.parked_at, position = DEFAULT
), kept AS (
    INSERT INTO outbox_attempt (endpoint_id, event_id, attempt, started_at, took, status, why, answer)
    SELECT *
    FROM unnest(
        $12::uuid[], $13::uuid[], $14::integer[], $15::timestamptz[], $16::bigint[], $17::integer[], $18::text[],
        $19::bytea[]
    ) AS attempt_row (endpoint_id, event_id, attempt, started_at, took, status, why, answer)
    WHERE (
        SELECT TRUE FROM outbox_attempt AS a
        WHERE a.event_id = attempt_row.event_id
            AND a.endpoint_id = attempt_row.endpoint_id
            AND a.attempt = attempt_row.attempt
            AND a.started_at IS NOT DISTINCT FROM attempt_row.started_at
        LIMIT 1
    ) IS NULL
)
SELECT moved.id, FALSE, moved.leased, moved.endpoint_id, moved.payment_id, moved.next_sequence, moved.attempt,
    moved.first_try, moved.uncounted, FALSE, endpoint.url, endpoint.secret, endpoint.previous_secret,
    endpoint.previous_until, endpoint.removed_at IS NOT NULL, endpoint.event_types, endpoint.retry,
    (SELECT sandbox FROM merchant WHERE merchant.id = endpoint.merchant_id), e.event_id, e.merchant_id, e.event_type,
    e.body, e.happened_at
FROM moved
LEFT JOIN endpoint ON endpoint.id = moved.endpoint_id
LEFT JOIN outbox_event AS e ON e.payment_id = moved.payment_id AND e.sequence = moved.next_sequence
UNION ALL
SELECT id, is_left IS TRUE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL
FROM found WHERE is_left OR ends;
