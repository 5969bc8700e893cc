-- Tells which tries were counted, what the tries of Sessions were, the rows of counts, and who has paid before, each
-- in rows of its part.
--
-- $1 orders: whose tries are looked for
-- $2 sessions: hashes of Sessions whose tries are looked for
-- $3 counts: hashes of rows of counts
-- $4 shopper_merchants and $5 shopper_hashes: an element for each shopper

SELECT 1, found.order_id, NULL::BYTEA, NULL::BYTEA, NULL::BIGINT, NULL::TEXT, NULL::TIMESTAMPTZ, NULL::TIMESTAMPTZ
FROM unnest($1::uuid[]) AS input_row (order_id)
CROSS JOIN LATERAL (SELECT t.order_id FROM payment_try AS t WHERE t.order_id = input_row.order_id LIMIT 1) AS found
UNION ALL
SELECT 2, found.merchant_id, input_row.hash, found.keys, found.amount_cents, found.state, found.tried_at, NULL
FROM unnest($2::bytea[]) AS input_row (hash)
CROSS JOIN LATERAL (
    SELECT t.merchant_id, t.keys, t.amount_cents, t.state, t.tried_at FROM payment_try AS t
    WHERE t.session_hash = input_row.hash LIMIT 1000
) AS found
UNION ALL
SELECT 3, NULL, found.hash, found.counts, found.revision, NULL, NULL, NULL
FROM unnest($3::bytea[]) AS input_row (hash)
CROSS JOIN LATERAL (
    SELECT c.hash, c.counts, c.revision FROM velocity_counter AS c WHERE c.hash = input_row.hash LIMIT 1
) AS found
UNION ALL
SELECT 4, found.merchant_id, found.hash, NULL, NULL, NULL, found.first_paid_at, found.seen_at
FROM unnest($4::uuid[], $5::bytea[]) AS input_row (merchant_id, hash)
CROSS JOIN LATERAL (
    SELECT * FROM known_shopper AS k WHERE k.merchant_id = input_row.merchant_id AND k.hash = input_row.hash LIMIT 1
) AS found;
