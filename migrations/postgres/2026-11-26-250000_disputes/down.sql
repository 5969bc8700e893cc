DROP TABLE dispute_position;
DROP TABLE dispute_evidence;
DROP TABLE dispute_answer;
DROP TABLE dispute;
ALTER TABLE ledger_entry
    DROP CONSTRAINT ledger_entry_account_known,
    ADD CONSTRAINT ledger_entry_account_known CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED'));
ALTER TABLE purchase_order DROP COLUMN disputed_minor;
