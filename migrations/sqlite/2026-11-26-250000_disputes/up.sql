-- Disputes (chargebacks). Programs of before neither write nor read any of this.

-- What disputes hold or took of an Order. Nothing limits it: a bank does not ask. Whoever changes a dispute changes its Order with it.
ALTER TABLE purchase_order ADD COLUMN disputed_minor INTEGER NOT NULL DEFAULT 0
    CONSTRAINT disputed_not_negative CHECK (disputed_minor >= 0);

-- Two more accounts, and all else as before. The view and the triggers go with the table and come again.
DROP VIEW ledger_unbalanced;
CREATE TABLE ledger_entry_next (
    transaction_id TEXT NOT NULL CONSTRAINT ledger_entry_transaction_fkey REFERENCES ledger_transaction (id),
    account TEXT NOT NULL CONSTRAINT ledger_entry_account_known
        CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'DISPUTED', 'CHARGED_BACK')),
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

CREATE TABLE dispute (
    id TEXT NOT NULL CONSTRAINT dispute_pkey PRIMARY KEY,
    order_id TEXT NOT NULL CONSTRAINT dispute_order_fkey REFERENCES purchase_order (id),
    merchant_id TEXT NOT NULL CONSTRAINT dispute_merchant_fkey REFERENCES merchant (id),
    -- Which of the deployment's processors told of it, and its own id of it.
    processor TEXT NOT NULL CONSTRAINT dispute_processor_length CHECK (length(processor) BETWEEN 1 AND 64),
    reference TEXT NOT NULL CONSTRAINT dispute_reference_length CHECK (length(reference) BETWEEN 1 AND 255),
    revision INTEGER NOT NULL CONSTRAINT dispute_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT dispute_state_known
        CHECK (state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED')),
    reason TEXT NOT NULL CONSTRAINT dispute_reason_known CHECK (reason IN ('FRAUDULENT', 'DUPLICATE', 'PRODUCT_NOT_RECEIVED',
        'PRODUCT_UNACCEPTABLE', 'SUBSCRIPTION_CANCELLED', 'CREDIT_NOT_PROCESSED', 'UNRECOGNIZED', 'GENERAL')),
    currency TEXT NOT NULL CONSTRAINT dispute_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    amount_minor INTEGER NOT NULL CONSTRAINT dispute_amount_positive CHECK (amount_minor > 0),
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- When its processor is asked next how it stands, while it is undecided.
    look_at INTEGER NOT NULL,
    CONSTRAINT dispute_reference_key UNIQUE (processor, reference)
) STRICT;
CREATE INDEX dispute_by_order ON dispute (order_id, id);
CREATE INDEX dispute_by_merchant ON dispute (merchant_id, id);
CREATE INDEX dispute_undecided ON dispute (processor, look_at, id) WHERE state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW');

-- Answers to disputes, each written down before its processor is told. Its id is the processor's idempotency key.
CREATE TABLE dispute_answer (
    id TEXT NOT NULL CONSTRAINT dispute_answer_pkey PRIMARY KEY,
    dispute_id TEXT NOT NULL CONSTRAINT dispute_answer_dispute_fkey REFERENCES dispute (id),
    merchant_id TEXT NOT NULL CONSTRAINT dispute_answer_merchant_fkey REFERENCES merchant (id),
    kind TEXT NOT NULL CONSTRAINT dispute_answer_kind_known CHECK (kind IN ('ACCEPT', 'EVIDENCE')),
    state TEXT NOT NULL CONSTRAINT dispute_answer_state_known CHECK (state IN ('OPEN', 'TAKEN', 'REFUSED')),
    tries INTEGER NOT NULL CONSTRAINT dispute_answer_tries_not_negative CHECK (tries >= 0),
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX dispute_answer_one_open ON dispute_answer (dispute_id) WHERE state = 'OPEN';
CREATE INDEX dispute_answer_due ON dispute_answer (due_at, id) WHERE state = 'OPEN';

-- What was handed in, sealed under the master ring.
CREATE TABLE dispute_evidence (
    answer_id TEXT NOT NULL CONSTRAINT dispute_evidence_pkey PRIMARY KEY
        CONSTRAINT dispute_evidence_answer_fkey REFERENCES dispute_answer (id),
    sealed BLOB NOT NULL
) STRICT;

-- How far each processor's list of disputes has been read.
CREATE TABLE dispute_position (
    processor TEXT NOT NULL CONSTRAINT dispute_position_pkey PRIMARY KEY,
    position TEXT NOT NULL CONSTRAINT dispute_position_length CHECK (length(position) BETWEEN 1 AND 255)
) STRICT;
