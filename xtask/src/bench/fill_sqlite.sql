-- Sessions @FIRST@ to @LAST@. Profiles have ids in order of time, as the service gives them.
PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY;
BEGIN IMMEDIATE;
CREATE TEMPORARY TABLE fresh AS WITH RECURSIVE numbers (number) AS
    (SELECT @FIRST@ UNION ALL SELECT number + 1 FROM numbers WHERE number < @LAST@)
    SELECT @ID@ AS id, 'filled-' || @ID@ AS reference,
        printf('%08d-0000-7', number) || substr(@ID@, 16) AS profile FROM numbers;
CREATE TEMPORARY TABLE one AS SELECT * FROM session LIMIT 1;
INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, fresh.reference, 'SESSION', fresh.id FROM one, fresh;
INSERT INTO billing_profile (id, merchant_id, details, created_at)
    SELECT profile, merchant_id, details, created_at FROM fresh,
        (SELECT merchant_id, details, created_at FROM billing_profile WHERE id = (SELECT billing_profile_id FROM one)) AS it;
INSERT INTO session (id, billing_profile_id, @COPIED@) SELECT fresh.id, profile, @COPIED@ FROM one, fresh;
INSERT INTO history (subject_id, @HISTORY@) SELECT fresh.id, @HISTORY@ FROM fresh,
    (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
DROP TABLE fresh;
DROP TABLE one;
COMMIT;
