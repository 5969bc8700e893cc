-- Puts entries of different keys, in place of those that were there.
--
-- $1 to $9, input_row: arrays with an element for each entry

INSERT INTO stash (merchant_id, stash_id, fingerprint, key_id, ciphertext, scheme, usable, created_at, expires_at)
SELECT *
FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::boolean[], $8::timestamptz[],
    $9::timestamptz[]
) AS input_row (
    merchant_id, stash_id, fingerprint, key_id, ciphertext, scheme, usable, created_at, expires_at
)
ON CONFLICT (merchant_id, stash_id, fingerprint) DO UPDATE
SET key_id = excluded.key_id, ciphertext = excluded.ciphertext, scheme = excluded.scheme, usable = excluded.usable,
    created_at = excluded.created_at, expires_at = excluded.expires_at;
