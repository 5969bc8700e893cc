-- A new Session.
--
-- $1 id, $2 merchant, $3 revision, $4 state, $5 order, $6 attempt, $7 cancel_reason, $8 failure_reason, $9 currency,
-- $10 total, $11 profile, $12 terms, $13 created, $14 updated, $15 expires, $16 attempts_failed, $17
-- attempts_allowed, $18 last_attempt, $19 last_failure

INSERT INTO session (
    id, merchant_id, revision, state, order_id, attempt_id, cancel_reason, failure_reason, currency, total_minor,
    billing_profile_id, terms, created_at, updated_at, expires_at, attempts_failed, attempts_allowed, last_attempt_id,
    last_failure
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19);
