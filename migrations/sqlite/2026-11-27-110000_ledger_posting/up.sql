-- A ledger transaction is one row with a column for each account, which a CHECK holds at zero. It was a row and one more for each account before,
-- judged by triggers.
DROP VIEW ledger_unbalanced;

CREATE TABLE ledger_posting (
    id TEXT NOT NULL CONSTRAINT ledger_posting_pkey PRIMARY KEY,
    order_id TEXT NOT NULL CONSTRAINT ledger_posting_order_fkey REFERENCES purchase_order (id),
    currency TEXT NOT NULL CONSTRAINT ledger_posting_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    -- What each account gained or lost.
    shopper_minor INTEGER NOT NULL,
    authorized_minor INTEGER NOT NULL,
    captured_minor INTEGER NOT NULL,
    refunded_minor INTEGER NOT NULL,
    disputed_minor INTEGER NOT NULL,
    charged_back_minor INTEGER NOT NULL,
    posted_at INTEGER NOT NULL,
    CONSTRAINT ledger_posting_balanced CHECK (
        shopper_minor + authorized_minor + captured_minor + refunded_minor + disputed_minor + charged_back_minor = 0
    )
) STRICT;
INSERT INTO ledger_posting (id, order_id, currency,
        shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor, charged_back_minor, posted_at)
    SELECT posted.id, posted.order_id, posted.currency,
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'SHOPPER'), 0),
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'AUTHORIZED'), 0),
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'CAPTURED'), 0),
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'REFUNDED'), 0),
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'DISPUTED'), 0),
        coalesce(sum(entry.minor) FILTER (WHERE entry.account = 'CHARGED_BACK'), 0),
        posted.posted_at
    FROM ledger_transaction AS posted JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
    GROUP BY posted.id;
CREATE INDEX ledger_posting_by_order ON ledger_posting (order_id);
CREATE TRIGGER ledger_posting_no_update BEFORE UPDATE ON ledger_posting BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_posting_append_only');
END;
CREATE TRIGGER ledger_posting_no_delete BEFORE DELETE ON ledger_posting BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_posting_append_only');
END;
CREATE TRIGGER ledger_posting_no_replace BEFORE INSERT ON ledger_posting WHEN EXISTS (
    SELECT 1 FROM ledger_posting WHERE id = NEW.id
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_posting_append_only');
END;
DROP TABLE ledger_entry;
DROP TABLE ledger_transaction;
