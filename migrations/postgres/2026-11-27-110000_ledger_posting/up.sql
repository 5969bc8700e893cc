-- A ledger transaction is one row with a column for each account, which a CHECK holds at zero. It was a row and one more for each account before,
-- judged by triggers. What programs of before post is posted here, too, until the last of them is gone; a later release drops their tables.
DROP VIEW ledger_unbalanced;

CREATE TABLE ledger_posting (
    id UUID CONSTRAINT ledger_posting_pkey PRIMARY KEY,
    order_id UUID NOT NULL,
    currency TEXT NOT NULL CONSTRAINT ledger_posting_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    -- What each account gained or lost.
    shopper_minor BIGINT NOT NULL,
    authorized_minor BIGINT NOT NULL,
    captured_minor BIGINT NOT NULL,
    refunded_minor BIGINT NOT NULL,
    disputed_minor BIGINT NOT NULL,
    charged_back_minor BIGINT NOT NULL,
    posted_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ledger_posting_balanced CHECK (
        shopper_minor + authorized_minor + captured_minor + refunded_minor + disputed_minor + charged_back_minor = 0
    )
);

-- Payments go on meanwhile: some 20 s for a million transactions.
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
CREATE TRIGGER ledger_posting_append_only BEFORE UPDATE OR DELETE ON ledger_posting
    FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();

-- From here on programs of before wait: for what they have posted since, and for the reference to Orders, which each of their rows has already.
-- In the order in which they lock.
LOCK TABLE purchase_order, ledger_transaction, ledger_entry IN SHARE ROW EXCLUSIVE MODE;
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
    WHERE NOT EXISTS (SELECT FROM ledger_posting AS known WHERE known.id = posted.id) GROUP BY posted.id;
ALTER TABLE ledger_posting ADD CONSTRAINT ledger_posting_order_fkey FOREIGN KEY (order_id) REFERENCES purchase_order (id) NOT VALID;

-- A program of before posts a transaction and all its entries by one statement. Its role may not have been granted the new table yet.
CREATE FUNCTION dropin_ledger_follows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET enable_seqscan = off AS $$
BEGIN
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
        WHERE posted.id IN (SELECT transaction_id FROM added) GROUP BY posted.id;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_followed AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION dropin_ledger_follows();
