-- Orders @FIRST@ to @LAST@ of @STORED@, over the last hundred days.
SET session_replication_role = replica; SET synchronous_commit = off;
BEGIN;
CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS SELECT gen_random_uuid() AS id, 'filled-' || number AS reference,
    now() - number * (INTERVAL '100 days' / @STORED@) AS made_at FROM generate_series(@FIRST@, @LAST@) AS number;
CREATE TEMPORARY TABLE one ON COMMIT DROP AS SELECT * FROM purchase_order WHERE state = 'PROCESSED' LIMIT 1;
INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, fresh.reference, 'CHECKOUT', fresh.id FROM one, fresh;
INSERT INTO purchase_order (id, merchant_reference, created_at, updated_at, @COPIED@)
    SELECT fresh.id, fresh.reference, made_at, made_at, @COPIED@ FROM one, fresh;
INSERT INTO history (subject_id, @HISTORY@) SELECT fresh.id, @HISTORY@ FROM fresh,
    (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
COMMIT;
