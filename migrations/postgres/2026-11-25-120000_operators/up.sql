-- Operators of the admin panel, their sessions, and refunds that they ask for. Programs of before neither write nor read any of this.

CREATE TABLE operator (
    id UUID CONSTRAINT operator_pkey PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    -- The address in small letters: no two operators have the same.
    email_key TEXT NOT NULL CONSTRAINT operator_email_key UNIQUE,
    state TEXT NOT NULL CONSTRAINT operator_state_known CHECK (state IN ('INVITED', 'ACTIVE', 'DISABLED')),
    -- Roles with commas between.
    roles TEXT NOT NULL CONSTRAINT operator_has_a_role CHECK (roles <> ''),
    -- Every merchant, or those of operator_merchant.
    is_of_deployment BOOLEAN NOT NULL,
    -- argon2id in the PHC string format.
    password TEXT,
    -- Sealed under the master ring.
    authenticator BYTEA,
    used_step BIGINT,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT operator_password_fits_state CHECK (
        (state <> 'INVITED' OR password IS NULL) AND (state <> 'ACTIVE' OR password IS NOT NULL)
    ),
    CONSTRAINT operator_authenticator_is_whole CHECK ((authenticator IS NULL) = (used_step IS NULL))
);

CREATE TABLE operator_merchant (
    operator_id UUID NOT NULL CONSTRAINT operator_merchant_operator_fkey REFERENCES operator (id),
    merchant_id UUID NOT NULL CONSTRAINT operator_merchant_merchant_fkey REFERENCES merchant (id),
    CONSTRAINT operator_merchant_pkey PRIMARY KEY (operator_id, merchant_id)
);

-- How much an operator may refund within 24 hours.
CREATE TABLE operator_refund_limit (
    operator_id UUID NOT NULL CONSTRAINT operator_refund_limit_operator_fkey REFERENCES operator (id),
    currency TEXT NOT NULL CONSTRAINT operator_refund_limit_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    limit_minor BIGINT NOT NULL CONSTRAINT operator_refund_limit_not_negative CHECK (limit_minor >= 0),
    CONSTRAINT operator_refund_limit_pkey PRIMARY KEY (operator_id, currency)
);

-- One-time links that were not used. One without an operator is for the first operator of the deployment.
CREATE TABLE operator_invitation (
    token_hash BYTEA CONSTRAINT operator_invitation_pkey PRIMARY KEY,
    operator_id UUID CONSTRAINT operator_invitation_operator_key UNIQUE
        CONSTRAINT operator_invitation_operator_fkey REFERENCES operator (id),
    expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE operator_session (
    id UUID CONSTRAINT operator_session_pkey PRIMARY KEY,
    operator_id UUID NOT NULL CONSTRAINT operator_session_operator_fkey REFERENCES operator (id),
    token_hash BYTEA NOT NULL CONSTRAINT operator_session_token_key UNIQUE,
    stage TEXT NOT NULL CONSTRAINT operator_session_stage_known CHECK (stage IN ('SECOND_FACTOR', 'SIGNED_IN')),
    wrong_codes INTEGER NOT NULL CONSTRAINT operator_session_wrong_codes_not_negative CHECK (wrong_codes >= 0),
    created_at TIMESTAMPTZ NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    client TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX operator_session_by_operator ON operator_session (operator_id, created_at);

-- Recovery codes that were not used, hashed under the master key.
CREATE TABLE operator_recovery_code (
    operator_id UUID NOT NULL CONSTRAINT operator_recovery_code_operator_fkey REFERENCES operator (id),
    code_hash BYTEA NOT NULL,
    CONSTRAINT operator_recovery_code_pkey PRIMARY KEY (operator_id, code_hash)
);

-- Above which amount a merchant's refunds need two operators.
CREATE TABLE merchant_approval_limit (
    merchant_id UUID NOT NULL CONSTRAINT merchant_approval_limit_merchant_fkey REFERENCES merchant (id),
    currency TEXT NOT NULL CONSTRAINT merchant_approval_limit_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    limit_minor BIGINT NOT NULL CONSTRAINT merchant_approval_limit_not_negative CHECK (limit_minor >= 0),
    CONSTRAINT merchant_approval_limit_pkey PRIMARY KEY (merchant_id, currency)
);

-- What operators asked for that moves money.
CREATE TABLE money_request (
    id UUID CONSTRAINT money_request_pkey PRIMARY KEY,
    kind TEXT NOT NULL CONSTRAINT money_request_kind_known CHECK (kind IN ('REFUND')),
    merchant_id UUID NOT NULL CONSTRAINT money_request_merchant_fkey REFERENCES merchant (id),
    order_id UUID NOT NULL CONSTRAINT money_request_order_fkey REFERENCES purchase_order (id),
    currency TEXT NOT NULL CONSTRAINT money_request_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    amount_minor BIGINT NOT NULL CONSTRAINT money_request_amount_positive CHECK (amount_minor > 0),
    note TEXT NOT NULL CONSTRAINT money_request_has_a_note CHECK (note <> ''),
    requested_by UUID NOT NULL CONSTRAINT money_request_requester_fkey REFERENCES operator (id),
    requested_at TIMESTAMPTZ NOT NULL,
    state TEXT NOT NULL CONSTRAINT money_request_state_known CHECK (state IN ('WAITING', 'GRANTED', 'REFUSED', 'RELEASED')),
    decided_by UUID CONSTRAINT money_request_decider_fkey REFERENCES operator (id),
    decided_at TIMESTAMPTZ,
    CONSTRAINT money_request_decision_fits_state CHECK (
        (state <> 'WAITING' OR (decided_by IS NULL AND decided_at IS NULL))
        AND (state NOT IN ('REFUSED', 'RELEASED') OR decided_at IS NOT NULL)
        AND (decided_by IS NULL OR decided_at IS NOT NULL)
    ),
    -- Nobody approves what it asked for itself.
    CONSTRAINT money_request_has_a_second_operator CHECK (
        state NOT IN ('GRANTED', 'RELEASED') OR decided_by IS NULL OR decided_by <> requested_by
    )
);
CREATE INDEX money_request_by_order ON money_request (order_id, requested_at);
CREATE INDEX money_request_by_operator ON money_request (requested_by, requested_at);
CREATE INDEX money_request_by_merchant ON money_request (merchant_id, requested_at);
CREATE INDEX money_request_waiting ON money_request (requested_at) WHERE state = 'WAITING';
