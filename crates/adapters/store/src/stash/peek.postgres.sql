-- What is known of live entries.
--
-- $1 to $5, input_row: The key of an entry that is searched for; `number` names it in the result.

SELECT input_row.number, stash.scheme, stash.usable, stash.key_id
FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[]) AS input_row (
    number, merchant_id, stash_id, fingerprint, now
)
JOIN stash ON stash.merchant_id = input_row.merchant_id
    AND stash.stash_id = input_row.stash_id
    AND stash.fingerprint = input_row.fingerprint
    AND stash.expires_at > input_row.now;
