CREATE TABLE ledger_transaction (
    id TEXT NOT NULL CONSTRAINT ledger_transaction_pkey PRIMARY KEY,
    order_id TEXT NOT NULL CONSTRAINT ledger_transaction_order_fkey REFERENCES purchase_order (id),
    currency TEXT NOT NULL CONSTRAINT ledger_transaction_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    entry_count INTEGER NOT NULL CONSTRAINT ledger_transaction_has_two_sides CHECK (entry_count >= 2),
    posted_at INTEGER NOT NULL
) STRICT;
CREATE TABLE ledger_entry (
    transaction_id TEXT NOT NULL CONSTRAINT ledger_entry_transaction_fkey REFERENCES ledger_transaction (id),
    account TEXT NOT NULL CONSTRAINT ledger_entry_account_known
        CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'DISPUTED', 'CHARGED_BACK')),
    minor INTEGER NOT NULL,
    CONSTRAINT ledger_entry_pkey PRIMARY KEY (transaction_id, account)
) STRICT;
-- What moved nothing has two entries of nothing.
INSERT INTO ledger_transaction (id, order_id, currency, entry_count, posted_at)
    SELECT id, order_id, currency, max(2, (shopper_minor <> 0) + (authorized_minor <> 0) + (captured_minor <> 0) + 
        (refunded_minor <> 0) + (disputed_minor <> 0) + (charged_back_minor <> 0)), posted_at FROM ledger_posting;
INSERT INTO ledger_entry (transaction_id, account, minor)
    SELECT id, 'SHOPPER', shopper_minor FROM ledger_posting WHERE shopper_minor <> 0
    UNION ALL SELECT id, 'AUTHORIZED', authorized_minor FROM ledger_posting WHERE authorized_minor <> 0
    UNION ALL SELECT id, 'CAPTURED', captured_minor FROM ledger_posting WHERE captured_minor <> 0
    UNION ALL SELECT id, 'REFUNDED', refunded_minor FROM ledger_posting WHERE refunded_minor <> 0
    UNION ALL SELECT id, 'DISPUTED', disputed_minor FROM ledger_posting WHERE disputed_minor <> 0
    UNION ALL SELECT id, 'CHARGED_BACK', charged_back_minor FROM ledger_posting WHERE charged_back_minor <> 0
    UNION ALL SELECT id, 'SHOPPER', 0 FROM ledger_posting WHERE shopper_minor = 0 AND authorized_minor = 0 AND captured_minor = 0
        AND refunded_minor = 0 AND disputed_minor = 0 AND charged_back_minor = 0
    UNION ALL SELECT id, 'AUTHORIZED', 0 FROM ledger_posting WHERE shopper_minor = 0 AND authorized_minor = 0 AND captured_minor = 0
        AND refunded_minor = 0 AND disputed_minor = 0 AND charged_back_minor = 0;
DROP TABLE ledger_posting;
CREATE INDEX ledger_transaction_by_order ON ledger_transaction (order_id);
CREATE TRIGGER ledger_transaction_no_update BEFORE UPDATE ON ledger_transaction BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
CREATE TRIGGER ledger_transaction_no_delete BEFORE DELETE ON ledger_transaction BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
CREATE TRIGGER ledger_transaction_no_replace BEFORE INSERT ON ledger_transaction WHEN EXISTS (
    SELECT 1 FROM ledger_transaction WHERE id = NEW.id
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
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
