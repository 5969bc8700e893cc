-- Contracts are forgotten, and their credentials stay at the processor: delete them there.
CREATE TABLE history_new (
    position INTEGER CONSTRAINT history_pkey PRIMARY KEY AUTOINCREMENT,
    merchant_id TEXT NOT NULL CONSTRAINT history_merchant_fkey REFERENCES merchant (id),
    subject_kind TEXT NOT NULL CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER')),
    subject_id TEXT NOT NULL,
    actor_kind TEXT NOT NULL CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM')),
    actor_name TEXT,
    what TEXT NOT NULL,
    state_before TEXT,
    state_after TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT history_actor_named CHECK ((actor_kind IN ('MERCHANT', 'OPERATOR')) = (actor_name IS NOT NULL))
) STRICT;
INSERT INTO history_new
        (position, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at)
    SELECT position, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
    FROM history WHERE subject_kind <> 'CONTRACT' ORDER BY position;
DROP TABLE history;
ALTER TABLE history_new RENAME TO history;
CREATE INDEX history_by_subject ON history (subject_id, position);
CREATE TRIGGER history_no_update BEFORE UPDATE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;
CREATE TRIGGER history_no_delete BEFORE DELETE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;
DROP INDEX purchase_order_by_contract;
ALTER TABLE purchase_order DROP COLUMN contract_id;
DROP TABLE contract_try;
DROP TABLE contract_credential;
DROP TABLE contract;
