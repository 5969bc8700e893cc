-- Writes down who has paid.
--
-- $1 to $4, input_row: arrays with an element for each shopper

INSERT INTO known_shopper (merchant_id, hash, first_paid_at, seen_at)
SELECT *
FROM unnest($1::uuid[], $2::bytea[], $3::timestamptz[], $4::timestamptz[]) AS input_row (
    merchant_id, hash, first_paid_at, seen_at
)
ORDER BY merchant_id, hash
ON CONFLICT (merchant_id, hash) DO UPDATE
SET first_paid_at = least(known_shopper.first_paid_at, excluded.first_paid_at),
    seen_at = greatest(known_shopper.seen_at, excluded.seen_at);
