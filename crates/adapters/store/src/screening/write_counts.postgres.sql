-- Writes the own rows of merchants, where they are as they were read, and what else is changed of those; tells of
-- which merchants, by that row, and which Orders keep their screening.
--
-- $1 to $4, own: arrays with an element for each merchant's own row: hash, counts, revision (one more than was read),
-- and when the counts are over
-- $5 to $9, other: the same for each other row: first the merchant whose own row must be as it was
-- $10 to $15, tried: the same for each try: Order, merchant, time, the keys that it counts for, the hash of its
-- Session, and cents
-- $16 to $20, kept: the same for each screening: Order, merchant, verdict, facts and counts

WITH own AS (
    INSERT INTO velocity_counter (hash, counts, revision, counts_until)
    SELECT hash, counts, revision, counts_until
    FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::timestamptz[]) WITH ORDINALITY AS input_row (
        hash, counts, revision, counts_until, place
    )
    ORDER BY place
    ON CONFLICT (hash) DO UPDATE
    SET counts = excluded.counts, revision = excluded.revision, counts_until = excluded.counts_until
    WHERE velocity_counter.revision = excluded.revision - 1 RETURNING hash
), other AS (
    INSERT INTO velocity_counter (hash, counts, revision, counts_until)
    SELECT input_row.hash, input_row.counts, input_row.revision, input_row.counts_until
    FROM unnest($5::uuid[], $6::bytea[], $7::bytea[], $8::bigint[], $9::timestamptz[]) WITH ORDINALITY AS input_row (
        merchant_id, hash, counts, revision, counts_until, place
    )
    JOIN own ON own.hash = uuid_send(input_row.merchant_id) ORDER BY place
    ON CONFLICT (hash) DO UPDATE
    SET counts = excluded.counts, revision = excluded.revision, counts_until = excluded.counts_until
), tried AS (
    INSERT INTO payment_try (order_id, merchant_id, tried_at, keys, session_hash, amount_cents, state)
    SELECT input_row.*, 'TRIED'
    FROM unnest($10::uuid[], $11::uuid[], $12::timestamptz[], $13::bytea[], $14::bytea[], $15::bigint[]) AS input_row (
        order_id, merchant_id, tried_at, keys, session_hash, amount_cents
    )
    JOIN own ON own.hash = uuid_send(input_row.merchant_id) ORDER BY input_row.order_id
    ON CONFLICT (order_id) DO NOTHING
), kept AS (
    INSERT INTO screening (order_id, merchant_id, ordered_at, verdict, facts, velocity)
    SELECT found.id, found.merchant_id, found.created_at, input_row.verdict, input_row.facts, input_row.velocity
    FROM unnest($16::uuid[], $17::uuid[], $18::text[], $19::text[], $20::bytea[]) AS input_row (
        order_id, merchant_id, verdict, facts, velocity
    )
    JOIN own ON own.hash = uuid_send(input_row.merchant_id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.merchant_id, o.created_at FROM purchase_order AS o
        WHERE o.id = input_row.order_id AND o.merchant_id = input_row.merchant_id LIMIT 1
    ) AS found
    ORDER BY found.id
    ON CONFLICT (order_id) DO NOTHING RETURNING order_id
)
SELECT hash, NULL::UUID FROM own
UNION ALL
SELECT NULL, order_id FROM kept;
