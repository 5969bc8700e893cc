-- Contracts: saved cards, subscriptions and payments that a merchant begins. Programs of before neither write nor read any of this.

CREATE TABLE contract (
    id UUID CONSTRAINT contract_pkey PRIMARY KEY,
    merchant_id UUID NOT NULL CONSTRAINT contract_merchant_fkey REFERENCES merchant (id),
    revision BIGINT NOT NULL CONSTRAINT contract_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT contract_state_known CHECK (state IN ('OPENING', 'ACTIVE', 'SUSPENDED', 'CLOSED')),
    suspend_reason TEXT CONSTRAINT contract_suspend_reason_known
        CHECK (suspend_reason IN ('CARD_EXPIRED', 'CARD_INVALID', 'ISSUER_STOPPED')),
    close_reason TEXT CONSTRAINT contract_close_reason_known CHECK (close_reason IN
        ('OPENING_FAILED', 'MERCHANT', 'SHOPPER', 'OPERATOR', 'CARD_LOST', 'ACCOUNT_CLOSED', 'AUTHORIZATION_REVOKED')),
    failure TEXT CONSTRAINT contract_failure_known CHECK (failure IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN',
        'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')),
    kind TEXT NOT NULL CONSTRAINT contract_kind_known CHECK (kind IN ('ONE_CLICK', 'RECURRING', 'UNSCHEDULED')),
    -- Of one that a Session opens, the Session and the Order of the attempt; of one that openContract opens, its ReferenceId.
    session_id UUID CONSTRAINT contract_session_fkey REFERENCES session (id),
    order_id UUID,
    reference TEXT,
    payment_method TEXT NOT NULL,
    currency TEXT NOT NULL CONSTRAINT contract_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    billing_profile_reference TEXT,
    consent_text_version TEXT NOT NULL,
    consent_locale TEXT NOT NULL,
    consent_at TIMESTAMPTZ NOT NULL,
    card_scheme TEXT,
    card_last_four TEXT,
    card_expiry TEXT,
    card_number_since TIMESTAMPTZ,
    card_updated_at TIMESTAMPTZ,
    card_expiry_told_at TIMESTAMPTZ,
    network_transaction_id TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    -- When its card is looked at next; of an ACTIVE one only.
    due_at TIMESTAMPTZ,
    CONSTRAINT contract_reason_fits_state CHECK (
        (state = 'SUSPENDED') = (suspend_reason IS NOT NULL) AND (state = 'CLOSED') = (close_reason IS NOT NULL)
        AND coalesce(close_reason = 'OPENING_FAILED', FALSE) = (failure IS NOT NULL)
    ),
    CONSTRAINT contract_origin_is_one CHECK (
        (session_id IS NULL) = (reference IS NOT NULL) AND (session_id IS NULL) = (order_id IS NULL)
    ),
    CONSTRAINT contract_card_is_whole CHECK (
        (card_scheme IS NULL) = (card_last_four IS NULL) AND (card_scheme IS NULL) = (card_expiry IS NULL)
        AND (card_scheme IS NULL) = (card_number_since IS NULL) AND (card_scheme IS NULL) = (card_updated_at IS NULL)
    ),
    CONSTRAINT contract_due_while_active CHECK ((state = 'ACTIVE') = (due_at IS NOT NULL))
);
CREATE UNIQUE INDEX contract_reference_key ON contract (merchant_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX contract_by_profile ON contract (merchant_id, billing_profile_reference, created_at, id)
    WHERE billing_profile_reference IS NOT NULL;
CREATE INDEX contract_due ON contract (due_at, id) WHERE due_at IS NOT NULL;

-- What a processor gave in place of a card, sealed under the ring of stored credentials. A row of its own, so that it is gone with its contract's end.
CREATE TABLE contract_credential (
    contract_id UUID CONSTRAINT contract_credential_pkey PRIMARY KEY
        CONSTRAINT contract_credential_contract_fkey REFERENCES contract (id),
    merchant_id UUID NOT NULL CONSTRAINT contract_credential_merchant_fkey REFERENCES merchant (id),
    key_id TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    -- Set when nobody may charge it any more: until then at the latest somebody deletes it at its processor.
    delete_at TIMESTAMPTZ
);
CREATE INDEX contract_credential_to_delete ON contract_credential (delete_at) WHERE delete_at IS NOT NULL;

-- The tries to charge a contract, by which the schemes' limits are kept.
CREATE TABLE contract_try (
    order_id UUID CONSTRAINT contract_try_pkey PRIMARY KEY CONSTRAINT contract_try_order_fkey REFERENCES purchase_order (id),
    contract_id UUID NOT NULL CONSTRAINT contract_try_contract_fkey REFERENCES contract (id),
    tried_at TIMESTAMPTZ NOT NULL,
    result TEXT NOT NULL CONSTRAINT contract_try_result_known CHECK (result IN ('UNKNOWN', 'APPROVED', 'DECLINED')),
    category TEXT,
    asked_wait_micros BIGINT CONSTRAINT contract_try_wait_not_negative CHECK (asked_wait_micros >= 0),
    CONSTRAINT contract_try_category_fits_result CHECK ((result = 'DECLINED') = (category IS NOT NULL))
);
CREATE INDEX contract_try_by_contract ON contract_try (contract_id, tried_at);

-- The contract that an Order opens or is made under.
ALTER TABLE purchase_order ADD COLUMN contract_id UUID CONSTRAINT purchase_order_contract_fkey REFERENCES contract (id);
CREATE INDEX purchase_order_by_contract ON purchase_order (contract_id, created_at, id) WHERE contract_id IS NOT NULL;

ALTER TABLE history
    DROP CONSTRAINT history_subject_known,
    ADD CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER', 'CONTRACT'));
