-- Disputes (chargebacks). Programs of before neither write nor read any of this; a refund that one of them makes while an Order is disputed counts no
-- dispute.

-- What disputes hold or took of an Order. Nothing limits it: a bank does not ask. Whoever changes a dispute changes its Order with it.
ALTER TABLE purchase_order ADD COLUMN disputed_minor BIGINT NOT NULL DEFAULT 0
    CONSTRAINT disputed_not_negative CHECK (disputed_minor >= 0);

-- Every row of before has one of the four accounts, so none has to be looked at again.
ALTER TABLE ledger_entry
    DROP CONSTRAINT ledger_entry_account_known,
    ADD CONSTRAINT ledger_entry_account_known
        CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED', 'DISPUTED', 'CHARGED_BACK')) NOT VALID;

CREATE TABLE dispute (
    id UUID CONSTRAINT dispute_pkey PRIMARY KEY,
    order_id UUID NOT NULL CONSTRAINT dispute_order_fkey REFERENCES purchase_order (id),
    merchant_id UUID NOT NULL CONSTRAINT dispute_merchant_fkey REFERENCES merchant (id),
    -- Which of the deployment's processors told of it, and its own id of it.
    processor TEXT NOT NULL CONSTRAINT dispute_processor_length CHECK (length(processor) BETWEEN 1 AND 64),
    reference TEXT NOT NULL CONSTRAINT dispute_reference_length CHECK (length(reference) BETWEEN 1 AND 255),
    revision BIGINT NOT NULL CONSTRAINT dispute_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT dispute_state_known
        CHECK (state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED')),
    reason TEXT NOT NULL CONSTRAINT dispute_reason_known CHECK (reason IN ('FRAUDULENT', 'DUPLICATE', 'PRODUCT_NOT_RECEIVED',
        'PRODUCT_UNACCEPTABLE', 'SUBSCRIPTION_CANCELLED', 'CREDIT_NOT_PROCESSED', 'UNRECOGNIZED', 'GENERAL')),
    currency TEXT NOT NULL CONSTRAINT dispute_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    amount_minor BIGINT NOT NULL CONSTRAINT dispute_amount_positive CHECK (amount_minor > 0),
    due_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    -- When its processor is asked next how it stands, while it is undecided.
    look_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT dispute_reference_key UNIQUE (processor, reference)
);
CREATE INDEX dispute_by_order ON dispute (order_id, id);
CREATE INDEX dispute_by_merchant ON dispute (merchant_id, id);
CREATE INDEX dispute_undecided ON dispute (processor, look_at, id) WHERE state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW');

-- Answers to disputes, each written down before its processor is told. Its id is the processor's idempotency key.
CREATE TABLE dispute_answer (
    id UUID CONSTRAINT dispute_answer_pkey PRIMARY KEY,
    dispute_id UUID NOT NULL CONSTRAINT dispute_answer_dispute_fkey REFERENCES dispute (id),
    merchant_id UUID NOT NULL CONSTRAINT dispute_answer_merchant_fkey REFERENCES merchant (id),
    kind TEXT NOT NULL CONSTRAINT dispute_answer_kind_known CHECK (kind IN ('ACCEPT', 'EVIDENCE')),
    state TEXT NOT NULL CONSTRAINT dispute_answer_state_known CHECK (state IN ('OPEN', 'TAKEN', 'REFUSED')),
    tries INTEGER NOT NULL CONSTRAINT dispute_answer_tries_not_negative CHECK (tries >= 0),
    due_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX dispute_answer_one_open ON dispute_answer (dispute_id) WHERE state = 'OPEN';
CREATE INDEX dispute_answer_due ON dispute_answer (due_at, id) WHERE state = 'OPEN';

-- What was handed in, sealed under the master ring.
CREATE TABLE dispute_evidence (
    answer_id UUID CONSTRAINT dispute_evidence_pkey PRIMARY KEY
        CONSTRAINT dispute_evidence_answer_fkey REFERENCES dispute_answer (id),
    sealed BYTEA NOT NULL
);
-- It is encrypted: nothing of it can be compressed.
ALTER TABLE dispute_evidence ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- How far each processor's list of disputes has been read.
CREATE TABLE dispute_position (
    processor TEXT CONSTRAINT dispute_position_pkey PRIMARY KEY,
    position TEXT NOT NULL CONSTRAINT dispute_position_length CHECK (length(position) BETWEEN 1 AND 255)
);
