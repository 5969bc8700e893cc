-- Replaces the terms of Sessions, and tells of which by their numbers. One is left out whose Session is not as it was
-- when that was decided, whose key was used before, or whose MerchantReference belongs to another. What changes at
-- the same moment fails the whole.
--
-- Everybody takes the reference before the Session before the key, each kind in the order of its key. Each part reads
-- what the one before it returned, so that PostgreSQL keeps to that.
--
-- $1 to $23, input_row: A Session whose terms are replaced, with its billing profile where that is new, and the
-- answer to keep where there is a key; `number` names it in the other rows. `state` is what the Session must be: a
-- literal would have PostgreSQL read the partial index of such Sessions, not the key.
-- $24 to $33, step: A step for the history; `number` names the batched row that it belongs to.

WITH input_row AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
        $9::uuid[], $10::jsonb[], $11::timestamptz[], $12::timestamptz[], $13::text[], $14::jsonb[], $15::text[],
        $16::timestamptz[], $17::bytea[], $18::bytea[], $19::integer[], $20::text[], $21::bytea[], $22::timestamptz[],
        $23::timestamptz[]
    ) AS input_row (
        number, session_id, merchant_id, expected, state, revision, currency, total_minor, profile_id, terms,
        updated_at, expires_at, reference, details, profile_reference, profile_created_at, digest, fingerprint,
        status, etag, body, answered_at, until
    )
), ready AS MATERIALIZED (
    SELECT input_row.*, (
        SELECT r.owner_kind = 'SESSION' AND r.owner_id = input_row.session_id FROM merchant_reference AS r
        WHERE r.merchant_id = input_row.merchant_id AND r.reference = input_row.reference
    ) AS is_own
    FROM input_row
    WHERE input_row.expected = (
        SELECT s.revision FROM session AS s
        WHERE s.id = input_row.session_id AND s.merchant_id = input_row.merchant_id AND s.state = input_row.state
    )
        AND (
            SELECT TRUE FROM answer
            WHERE answer.merchant_id = input_row.merchant_id AND answer.digest = input_row.digest
        ) IS NULL
), taken AS (
    INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, reference, 'SESSION', session_id FROM ready WHERE is_own IS NULL
    ORDER BY merchant_id, reference COLLATE "C"
    ON CONFLICT DO NOTHING RETURNING owner_id
), granted AS MATERIALIZED (
    SELECT * FROM ready WHERE is_own OR session_id = ANY (ARRAY(SELECT owner_id FROM taken)) ORDER BY session_id
), new_profile AS (
    INSERT INTO billing_profile (id, merchant_id, reference, details, created_at)
    SELECT profile_id, merchant_id, profile_reference, details, profile_created_at FROM granted
    WHERE details IS NOT NULL
), moved AS (
    UPDATE session AS s
    SET revision = granted.revision, currency = granted.currency, total_minor = granted.total_minor,
        billing_profile_id = granted.profile_id, terms = granted.terms, updated_at = granted.updated_at,
        expires_at = granted.expires_at
    FROM granted
    WHERE s.id = granted.session_id AND s.merchant_id = granted.merchant_id AND s.revision = granted.expected
    RETURNING granted.number
), new_history AS (
    INSERT INTO history (
        merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
    )
    SELECT step.merchant_id, step.subject_kind, step.subject_id, step.actor_kind, step.actor_name, step.what,
        step.state_before, step.state_after, step.happened_at
    FROM unnest(
        $24::bigint[], $25::uuid[], $26::text[], $27::uuid[], $28::text[], $29::text[], $30::text[], $31::text[],
        $32::text[], $33::timestamptz[]
    ) AS step (
        number, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after,
        happened_at
    )
    WHERE step.number = ANY ((SELECT array_agg(number) FROM granted)::bigint[])
), new_answer AS (
    INSERT INTO answer (merchant_id, digest, fingerprint, status, etag, body, created_at, expires_at)
    SELECT merchant_id, digest, fingerprint, status, etag, body, answered_at, until FROM granted
    WHERE digest IS NOT NULL AND (SELECT count(*) FROM moved) > 0 ORDER BY merchant_id, digest
)
SELECT granted.number FROM granted
WHERE CASE WHEN (SELECT count(*) FROM moved) = (SELECT count(*) FROM granted) THEN TRUE
    ELSE dropin_again() IS NULL END;
