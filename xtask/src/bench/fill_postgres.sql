-- Sessions @FIRST@ to @LAST@. Profiles have ids in order of time, as the service gives them.
SET session_replication_role = replica; SET synchronous_commit = off;
BEGIN;
CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS SELECT gen_random_uuid() AS id, 'filled-' || gen_random_uuid() AS reference,
    overlay(gen_random_uuid()::text PLACING to_char(number, 'FM00000000') || '-0000-7' FROM 1 FOR 15)::uuid AS profile
    FROM generate_series(@FIRST@, @LAST@) AS number;
CREATE TEMPORARY TABLE one ON COMMIT DROP AS SELECT * FROM session LIMIT 1;
INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, fresh.reference, 'SESSION', fresh.id FROM one, fresh;
INSERT INTO billing_profile (id, merchant_id, details, created_at)
    SELECT profile, merchant_id, details, created_at FROM fresh,
        (SELECT * FROM billing_profile WHERE id = (SELECT billing_profile_id FROM one)) AS it;
INSERT INTO session (id, billing_profile_id, @COPIED@) SELECT fresh.id, profile, @COPIED@ FROM one, fresh;
INSERT INTO history (subject_id, @HISTORY@) SELECT fresh.id, @HISTORY@ FROM fresh,
    (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
COMMIT;
