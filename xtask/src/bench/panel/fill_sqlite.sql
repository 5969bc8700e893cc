-- Orders @FIRST@ to @LAST@ of @STORED@, over the last hundred days.
PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; PRAGMA temp_store = MEMORY;
BEGIN IMMEDIATE;
CREATE TEMPORARY TABLE fresh AS WITH RECURSIVE numbers (number) AS
    (SELECT @FIRST@ UNION ALL SELECT number + 1 FROM numbers WHERE number < @LAST@)
    SELECT @ID@ AS id, 'filled-' || number AS reference,
        (CAST(strftime('%s', 'now') AS INTEGER) - number * 8640000 / @STORED@) * 1000000 AS made_at FROM numbers;
CREATE TEMPORARY TABLE one AS SELECT * FROM purchase_order WHERE state = 'PROCESSED' LIMIT 1;
INSERT INTO merchant_reference (merchant_id, reference, owner_kind, owner_id)
    SELECT merchant_id, fresh.reference, 'CHECKOUT', fresh.id FROM one, fresh;
INSERT INTO purchase_order (id, merchant_reference, created_at, updated_at, @COPIED@)
    SELECT fresh.id, fresh.reference, made_at, made_at, @COPIED@ FROM one, fresh;
INSERT INTO history (subject_id, @HISTORY@) SELECT fresh.id, @HISTORY@ FROM fresh,
    (SELECT * FROM history WHERE subject_id = (SELECT id FROM one) LIMIT 1) AS it;
DROP TABLE fresh;
DROP TABLE one;
COMMIT;
