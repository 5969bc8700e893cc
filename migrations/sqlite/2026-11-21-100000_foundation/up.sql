-- Ids are lower-case hyphenated text, instants microseconds since 1970, amounts 64-bit minor units beside their currency. The same tables
-- and constraint names as for PostgreSQL. The lists in CHECK constraints are compared with the domain's by a test.

-- Merchants and who may act for them -------------------------------------------------------------------------------------------------

CREATE TABLE merchant (
    id TEXT NOT NULL CONSTRAINT merchant_pkey PRIMARY KEY,
    name TEXT NOT NULL,
    session_lifetime_micros INTEGER NOT NULL CONSTRAINT merchant_lifetime_positive CHECK (session_lifetime_micros > 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE merchant_currency (
    merchant_id TEXT NOT NULL CONSTRAINT merchant_currency_merchant_fkey REFERENCES merchant (id),
    position INTEGER NOT NULL,
    currency TEXT NOT NULL CONSTRAINT merchant_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    CONSTRAINT merchant_currency_pkey PRIMARY KEY (merchant_id, currency)
) STRICT;

CREATE TABLE merchant_origin (
    merchant_id TEXT NOT NULL CONSTRAINT merchant_origin_merchant_fkey REFERENCES merchant (id),
    position INTEGER NOT NULL,
    origin TEXT NOT NULL,
    CONSTRAINT merchant_origin_pkey PRIMARY KEY (merchant_id, origin)
) STRICT;

CREATE TABLE api_user (
    id TEXT NOT NULL CONSTRAINT api_user_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT api_user_merchant_fkey REFERENCES merchant (id),
    username TEXT NOT NULL CONSTRAINT api_user_username_key UNIQUE,
    password BLOB NOT NULL
) STRICT;

CREATE TABLE endpoint (
    id TEXT NOT NULL CONSTRAINT endpoint_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT endpoint_merchant_fkey REFERENCES merchant (id),
    url TEXT NOT NULL,
    secret BLOB NOT NULL
) STRICT;
CREATE INDEX endpoint_by_merchant ON endpoint (merchant_id);

-- What is to be paid -------------------------------------------------------------------------------------------------------------------

CREATE TABLE billing_profile (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL CONSTRAINT billing_profile_pkey UNIQUE,
    merchant_id TEXT NOT NULL CONSTRAINT billing_profile_merchant_fkey REFERENCES merchant (id),
    reference TEXT,
    details TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
-- The newest profile of a merchant with a reference is the one with the highest position.
CREATE INDEX billing_profile_by_reference ON billing_profile (merchant_id, reference, position) WHERE reference IS NOT NULL;

-- Used once, taken for ever; shared by everything that carries a reference of the merchant's.
CREATE TABLE merchant_reference (
    merchant_id TEXT NOT NULL CONSTRAINT merchant_reference_merchant_fkey REFERENCES merchant (id),
    reference TEXT NOT NULL,
    owner_kind TEXT NOT NULL CONSTRAINT merchant_reference_owner_known CHECK (owner_kind IN ('SESSION', 'CHECKOUT')),
    owner_id TEXT NOT NULL,
    CONSTRAINT merchant_reference_pkey PRIMARY KEY (merchant_id, reference)
) STRICT;

CREATE TABLE session (
    id TEXT NOT NULL CONSTRAINT session_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT session_merchant_fkey REFERENCES merchant (id),
    revision INTEGER NOT NULL CONSTRAINT session_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT session_state_known
        CHECK (state IN ('CREATED', 'PROCESSING', 'REDIRECTED', 'COMPLETED', 'CANCELLED', 'FAILED')),
    order_id TEXT CONSTRAINT session_order_fkey REFERENCES purchase_order (id),
    attempt_id TEXT,
    cancel_reason TEXT CONSTRAINT session_cancel_reason_known CHECK (cancel_reason IN ('MERCHANT', 'EXPIRED')),
    failure_reason TEXT CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'PROCESSOR_UNAVAILABLE')),
    currency TEXT NOT NULL CONSTRAINT session_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    total_minor INTEGER NOT NULL CONSTRAINT session_total_not_negative CHECK (total_minor >= 0),
    billing_profile_id TEXT NOT NULL CONSTRAINT session_billing_profile_fkey REFERENCES billing_profile (id),
    terms TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- An attempt and its Order exist exactly in the states that follow a submit, a reason exactly in the state it explains.
    CONSTRAINT session_attempt_fits_state CHECK (
        (state IN ('PROCESSING', 'REDIRECTED', 'COMPLETED', 'FAILED')) = (order_id IS NOT NULL)
        AND (order_id IS NULL) = (attempt_id IS NULL)
    ),
    CONSTRAINT session_reason_fits_state CHECK (
        (state = 'CANCELLED') = (cancel_reason IS NOT NULL) AND (state = 'FAILED') = (failure_reason IS NOT NULL)
    )
) STRICT;
CREATE INDEX session_unpaid_by_expiry ON session (expires_at, id) WHERE state = 'CREATED';

-- Payments -----------------------------------------------------------------------------------------------------------------------------

CREATE TABLE purchase_order (
    id TEXT NOT NULL CONSTRAINT purchase_order_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT purchase_order_merchant_fkey REFERENCES merchant (id),
    -- A Session is paid once: a second attempt is another Session.
    session_id TEXT CONSTRAINT purchase_order_session_key UNIQUE CONSTRAINT purchase_order_session_fkey REFERENCES session (id),
    merchant_reference TEXT NOT NULL,
    revision INTEGER NOT NULL CONSTRAINT purchase_order_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT purchase_order_state_known CHECK (state IN
        ('PROCESSING', 'PAYMENT_AUTHORIZED', 'PROCESSED', 'PROCESSING_FAILED', 'CANCELLED', 'DECLINED', 'COMMIT_ACCEPTED')),
    under_review INTEGER NOT NULL CHECK (under_review IN (0, 1)),
    shown INTEGER NOT NULL CHECK (shown IN (0, 1)),
    currency TEXT NOT NULL CONSTRAINT purchase_order_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    total_minor INTEGER NOT NULL CONSTRAINT purchase_order_total_not_negative CHECK (total_minor >= 0),
    authorized_minor INTEGER NOT NULL CONSTRAINT purchase_order_authorized_not_negative CHECK (authorized_minor >= 0),
    captured_minor INTEGER NOT NULL CONSTRAINT purchase_order_captured_not_negative CHECK (captured_minor >= 0),
    capture_pending_minor INTEGER NOT NULL
        CONSTRAINT purchase_order_capture_pending_not_negative CHECK (capture_pending_minor >= 0),
    refunded_minor INTEGER NOT NULL CONSTRAINT purchase_order_refunded_not_negative CHECK (refunded_minor >= 0),
    refund_pending_minor INTEGER NOT NULL
        CONSTRAINT purchase_order_refund_pending_not_negative CHECK (refund_pending_minor >= 0),
    auto_capture INTEGER NOT NULL CHECK (auto_capture IN (0, 1)),
    payment_method TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    capture_before INTEGER,
    CONSTRAINT purchase_order_authorized_within_total CHECK (authorized_minor <= total_minor),
    CONSTRAINT purchase_order_captured_within_authorized CHECK (captured_minor + capture_pending_minor <= authorized_minor),
    CONSTRAINT purchase_order_refunded_within_captured CHECK (refunded_minor + refund_pending_minor <= captured_minor)
) STRICT;

CREATE TABLE processor_op (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL CONSTRAINT processor_op_pkey UNIQUE,
    order_id TEXT NOT NULL CONSTRAINT processor_op_order_fkey REFERENCES purchase_order (id),
    kind TEXT NOT NULL CONSTRAINT processor_op_kind_known CHECK (kind IN ('AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND')),
    state TEXT NOT NULL CONSTRAINT processor_op_state_known
        CHECK (state IN ('PREPARED', 'UNKNOWN', 'PENDING', 'APPROVED', 'DECLINED', 'ABANDONED')),
    currency TEXT NOT NULL CONSTRAINT processor_op_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    amount_minor INTEGER NOT NULL CONSTRAINT processor_op_amount_not_negative CHECK (amount_minor >= 0),
    authorization_id TEXT CONSTRAINT processor_op_authorization_fkey REFERENCES processor_op (id),
    epoch INTEGER NOT NULL CONSTRAINT processor_op_epoch_not_negative CHECK (epoch >= 0),
    tries INTEGER NOT NULL CONSTRAINT processor_op_tries_not_negative CHECK (tries >= 0),
    due_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    CONSTRAINT processor_op_authorization_fits_kind CHECK ((kind = 'AUTHORIZE') = (authorization_id IS NULL))
) STRICT;
CREATE INDEX processor_op_due ON processor_op (due_at) WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING');
CREATE INDEX processor_op_by_order ON processor_op (order_id, position);
CREATE UNIQUE INDEX processor_op_one_authorization ON processor_op (order_id) WHERE kind = 'AUTHORIZE';
CREATE UNIQUE INDEX processor_op_one_open_ending ON processor_op (order_id)
    WHERE kind IN ('CAPTURE', 'VOID') AND state IN ('PREPARED', 'UNKNOWN', 'PENDING');

-- The ledger: append-only, and every transaction sums to zero ---------------------------------------------------------------------------

CREATE TABLE ledger_transaction (
    id TEXT NOT NULL CONSTRAINT ledger_transaction_pkey PRIMARY KEY,
    order_id TEXT NOT NULL CONSTRAINT ledger_transaction_order_fkey REFERENCES purchase_order (id),
    currency TEXT NOT NULL CONSTRAINT ledger_transaction_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    entry_count INTEGER NOT NULL CONSTRAINT ledger_transaction_has_two_sides CHECK (entry_count >= 2),
    posted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_transaction_by_order ON ledger_transaction (order_id);

CREATE TABLE ledger_entry (
    transaction_id TEXT NOT NULL CONSTRAINT ledger_entry_transaction_fkey REFERENCES ledger_transaction (id),
    account TEXT NOT NULL
        CONSTRAINT ledger_entry_account_known CHECK (account IN ('SHOPPER', 'AUTHORIZED', 'CAPTURED', 'REFUNDED')),
    minor INTEGER NOT NULL,
    CONSTRAINT ledger_entry_pkey PRIMARY KEY (transaction_id, account)
) STRICT;


CREATE TRIGGER ledger_transaction_no_update BEFORE UPDATE ON ledger_transaction BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
CREATE TRIGGER ledger_transaction_no_delete BEFORE DELETE ON ledger_transaction BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
CREATE TRIGGER ledger_entry_no_update BEFORE UPDATE ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
CREATE TRIGGER ledger_entry_no_delete BEFORE DELETE ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
-- SQLite has no deferred triggers: the last of the declared entries must balance the others, and there is none after it. A transaction that
-- never gets its last entry is only found by `ledger_unbalanced`.
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_balanced')
    FROM ledger_transaction AS posted
    WHERE posted.id = NEW.transaction_id
        AND CASE (SELECT count(*) FROM ledger_entry WHERE transaction_id = posted.id) - posted.entry_count
            WHEN 0 THEN (SELECT sum(minor) FROM ledger_entry WHERE transaction_id = posted.id) <> 0
            ELSE (SELECT count(*) FROM ledger_entry WHERE transaction_id = posted.id) > posted.entry_count
        END;
END;

-- Transactions that do not add up; must always be empty.
CREATE VIEW ledger_unbalanced AS
    SELECT posted.id
    FROM ledger_transaction AS posted LEFT JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
    GROUP BY posted.id, posted.entry_count
    HAVING count(entry.account) <> posted.entry_count OR coalesce(sum(entry.minor), 0) <> 0;

-- What happened --------------------------------------------------------------------------------------------------------------------------

CREATE TABLE history (
    position INTEGER CONSTRAINT history_pkey PRIMARY KEY AUTOINCREMENT,
    merchant_id TEXT NOT NULL CONSTRAINT history_merchant_fkey REFERENCES merchant (id),
    subject_kind TEXT NOT NULL CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER')),
    subject_id TEXT NOT NULL,
    actor_kind TEXT NOT NULL CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'SYSTEM')),
    actor_name TEXT,
    what TEXT NOT NULL,
    state_before TEXT,
    state_after TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT history_actor_named CHECK ((actor_kind = 'MERCHANT') = (actor_name IS NOT NULL))
) STRICT;
CREATE INDEX history_by_subject ON history (subject_id, position);
CREATE TRIGGER history_no_update BEFORE UPDATE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;
CREATE TRIGGER history_no_delete BEFORE DELETE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;

-- Notifications --------------------------------------------------------------------------------------------------------------------------

CREATE TABLE outbox_event (
    payment_id TEXT NOT NULL,
    sequence INTEGER NOT NULL CONSTRAINT outbox_event_sequence_from_one CHECK (sequence > 0),
    event_id TEXT NOT NULL CONSTRAINT outbox_event_id_key UNIQUE,
    merchant_id TEXT NOT NULL CONSTRAINT outbox_event_merchant_fkey REFERENCES merchant (id),
    event_type TEXT NOT NULL,
    body BLOB NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT outbox_event_pkey PRIMARY KEY (payment_id, sequence)
) STRICT;
-- DELETE stays possible: old events are dropped by age one day.
CREATE TRIGGER outbox_event_no_update BEFORE UPDATE ON outbox_event BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_event_append_only');
END;

-- One stream per endpoint and payment. due_at is readiness, lease and retry time in one. A detached stream holds one event that goes its own
-- way: one that has failed for an hour, or one that is replayed.
CREATE TABLE outbox_stream (
    id INTEGER CONSTRAINT outbox_stream_pkey PRIMARY KEY AUTOINCREMENT,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_stream_endpoint_fkey REFERENCES endpoint (id),
    payment_id TEXT NOT NULL,
    detached INTEGER NOT NULL CHECK (detached IN (0, 1)),
    next_sequence INTEGER NOT NULL CONSTRAINT outbox_stream_sequence_from_one CHECK (next_sequence > 0),
    last_sequence INTEGER NOT NULL,
    attempt INTEGER NOT NULL CONSTRAINT outbox_stream_attempt_not_negative CHECK (attempt >= 0),
    first_try INTEGER,
    due_at INTEGER NOT NULL,
    CONSTRAINT outbox_stream_range CHECK (next_sequence <= last_sequence + 1),
    CONSTRAINT outbox_stream_detached_is_single CHECK (NOT detached OR next_sequence = last_sequence)
) STRICT;
CREATE UNIQUE INDEX outbox_stream_of_payment ON outbox_stream (endpoint_id, payment_id) WHERE NOT detached;
CREATE INDEX outbox_stream_due ON outbox_stream (endpoint_id, due_at) WHERE next_sequence <= last_sequence;

CREATE TABLE outbox_parked (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_parked_endpoint_fkey REFERENCES endpoint (id),
    event_id TEXT NOT NULL CONSTRAINT outbox_parked_event_fkey REFERENCES outbox_event (event_id),
    attempts INTEGER NOT NULL CONSTRAINT outbox_parked_attempts_positive CHECK (attempts > 0),
    parked_at INTEGER NOT NULL,
    CONSTRAINT outbox_parked_pkey UNIQUE (endpoint_id, event_id)
) STRICT;
CREATE INDEX outbox_parked_by_event ON outbox_parked (event_id);

-- Cards on their way to one authorization: ciphertext only, the key never stands here ------------------------------------------------------

CREATE TABLE stash (
    merchant_id TEXT NOT NULL CONSTRAINT stash_merchant_fkey REFERENCES merchant (id),
    stash_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    key_id TEXT NOT NULL,
    ciphertext BLOB NOT NULL,
    scheme TEXT,
    usable INTEGER NOT NULL CHECK (usable IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT stash_pkey PRIMARY KEY (merchant_id, stash_id, fingerprint)
) STRICT;
CREATE INDEX stash_by_expiry ON stash (expires_at);
