-- Inserts Sessions with all that belongs to them, and tells which it wrote. One whose MerchantReference or key was
-- used before is left out. A key that is taken at the same moment fails the whole. The key is looked up by a scalar
-- subquery: PostgreSQL may read all keys to answer NOT EXISTS.
--
-- $1 to $27, input_row: arrays with an element for each Session. It has a billing profile of its own where there are
-- details; what follows from digest on is the key of the request and its response, or NULL.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::jsonb[],
        $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::integer[], $13::uuid[], $14::jsonb[],
        $15::text[], $16::timestamptz[], $17::text[], $18::text[], $19::text[], $20::timestamptz[], $21::bytea[],
        $22::bytea[], $23::integer[], $24::text[], $25::bytea[], $26::timestamptz[], $27::timestamptz[]
    ) AS input_row (
        id, merchant_id, reference, revision, state, currency, total_minor, terms, created_at, updated_at, expires_at,
        attempts_allowed, profile_id, details, profile_reference, profile_created_at, actor_kind, actor_name, what,
        happened_at, digest, fingerprint, status, etag, body, answered_at, until
    )
), taken AS (
    INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, reference, 'SESSION', id FROM input_row
    WHERE (
        SELECT TRUE FROM answer WHERE answer.merchant_id = input_row.merchant_id AND answer.digest = input_row.digest
    ) IS NULL
    ON CONFLICT DO NOTHING RETURNING owner_id
), granted AS MATERIALIZED (
    SELECT input_row.* FROM input_row JOIN taken ON taken.owner_id = input_row.id
), new_profile AS (
    INSERT INTO billing_profile (id, merchant_id, reference, details, created_at)
    SELECT profile_id, merchant_id, profile_reference, details, profile_created_at FROM granted
    WHERE details IS NOT NULL
), new_session AS (
    INSERT INTO session (
        id, merchant_id, revision, state, currency, total_minor, billing_profile_id, terms, created_at, updated_at,
        expires_at, attempts_allowed
    )
    SELECT id, merchant_id, revision, state, currency, total_minor, profile_id, terms, created_at, updated_at,
        expires_at, attempts_allowed
    FROM granted
), new_history AS (
    INSERT INTO history (
        merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_after, happened_at
    )
    SELECT merchant_id, 'SESSION', id, actor_kind, actor_name, what, state, happened_at FROM granted
), new_answer AS (
    INSERT INTO answer (merchant_id, digest, fingerprint, status, etag, body, created_at, expires_at)
    SELECT merchant_id, digest, fingerprint, status, etag, body, answered_at, until FROM granted
    WHERE digest IS NOT NULL ORDER BY merchant_id, digest
)
SELECT id FROM granted;
