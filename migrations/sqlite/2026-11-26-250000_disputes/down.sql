DROP TABLE dispute_position;
DROP TABLE dispute_evidence;
DROP TABLE dispute_answer;
DROP TABLE dispute;
DROP VIEW ledger_unbalanced;
CREATE TABLE ledger_entry_next (
    transaction_id TEXT NOT NULL CONSTRAINT ledger_entry_transaction_fkey REFERENCES ledger_transaction (id),
    account TEXT NOT NULL
        CONSTRAINT ledger_entry_account_known CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED')),
    minor INTEGER NOT NULL,
    CONSTRAINT ledger_entry_pkey PRIMARY KEY (transaction_id, account)
) STRICT;
INSERT INTO ledger_entry_next (transaction_id, account, minor) SELECT transaction_id, account, minor FROM ledger_entry;
DROP TABLE ledger_entry;
ALTER TABLE ledger_entry_next RENAME TO ledger_entry;
CREATE TRIGGER ledger_entry_no_update BEFORE UPDATE ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
CREATE TRIGGER ledger_entry_no_delete BEFORE DELETE ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
CREATE TRIGGER ledger_entry_no_replace BEFORE INSERT ON ledger_entry WHEN EXISTS (
    SELECT 1 FROM ledger_entry WHERE transaction_id = NEW.transaction_id AND account = NEW.account
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_balanced')
    FROM ledger_transaction AS posted
    WHERE posted.id = NEW.transaction_id
        AND CASE (SELECT count(*) FROM ledger_entry WHERE transaction_id = posted.id) - posted.entry_count
            WHEN 0 THEN (SELECT sum(minor) FROM ledger_entry WHERE transaction_id = posted.id) <> 0
            ELSE (SELECT count(*) FROM ledger_entry WHERE transaction_id = posted.id) > posted.entry_count
        END;
END;
CREATE VIEW ledger_unbalanced AS
    SELECT posted.id
    FROM ledger_transaction AS posted LEFT JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
    GROUP BY posted.id, posted.entry_count
    HAVING count(entry.account) <> posted.entry_count OR coalesce(sum(entry.minor), 0) <> 0;
ALTER TABLE purchase_order DROP COLUMN disputed_minor;
