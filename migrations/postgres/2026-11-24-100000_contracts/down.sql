-- Contracts are forgotten, and their credentials stay at the processor: delete them there.
ALTER TABLE history DISABLE TRIGGER history_append_only;
DELETE FROM history WHERE subject_kind = 'CONTRACT';
ALTER TABLE history ENABLE TRIGGER history_append_only;
ALTER TABLE history
    DROP CONSTRAINT history_subject_known,
    ADD CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER'));
DROP INDEX purchase_order_by_contract;
ALTER TABLE purchase_order DROP COLUMN contract_id;
DROP TABLE contract_try;
DROP TABLE contract_credential;
DROP TABLE contract;
