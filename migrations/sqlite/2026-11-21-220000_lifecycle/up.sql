-- The whole life of an Order: hosted pages and transfers that are waited for, voids, promises, refunds and the server-to-server checkout.
-- Runs with `PRAGMA foreign_keys = OFF`, which can only be set outside of the transaction: tables that others refer to are exchanged.

CREATE TABLE session_new (
    id TEXT NOT NULL CONSTRAINT session_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT session_merchant_fkey REFERENCES merchant (id),
    revision INTEGER NOT NULL CONSTRAINT session_revision_positive CHECK (revision > 0),
    state TEXT NOT NULL CONSTRAINT session_state_known
        CHECK (state IN ('CREATED', 'PROCESSING', 'REDIRECTED', 'COMPLETED', 'CANCELLED', 'FAILED')),
    order_id TEXT CONSTRAINT session_order_fkey REFERENCES purchase_order (id),
    attempt_id TEXT,
    cancel_reason TEXT CONSTRAINT session_cancel_reason_known CHECK (cancel_reason IN ('MERCHANT', 'EXPIRED')),
    failure_reason TEXT CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CANCELLED_BY_SHOPPER', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED',
        'PROCESSOR_UNAVAILABLE')),
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
INSERT INTO session_new (id, merchant_id, revision, state, order_id, attempt_id, cancel_reason, failure_reason,
        currency, total_minor, billing_profile_id, terms, created_at, updated_at, expires_at)
    SELECT id, merchant_id, revision, state, order_id, attempt_id, cancel_reason, failure_reason,
        currency, total_minor, billing_profile_id, terms, created_at, updated_at, expires_at
    FROM session ORDER BY rowid;
DROP TABLE session;
ALTER TABLE session_new RENAME TO session;
CREATE INDEX session_unpaid_by_expiry ON session (expires_at, id) WHERE state = 'CREATED';

CREATE TABLE history_new (
    position INTEGER CONSTRAINT history_pkey PRIMARY KEY AUTOINCREMENT,
    merchant_id TEXT NOT NULL CONSTRAINT history_merchant_fkey REFERENCES merchant (id),
    subject_kind TEXT NOT NULL CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER')),
    subject_id TEXT NOT NULL,
    actor_kind TEXT NOT NULL CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM')),
    actor_name TEXT,
    what TEXT NOT NULL,
    state_before TEXT,
    state_after TEXT NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT history_actor_named CHECK ((actor_kind IN ('MERCHANT', 'OPERATOR')) = (actor_name IS NOT NULL))
) STRICT;
INSERT INTO history_new
        (position, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at)
    SELECT position, merchant_id, subject_kind, subject_id, actor_kind, actor_name, what, state_before, state_after, happened_at
    FROM history ORDER BY position;
DROP TABLE history;
ALTER TABLE history_new RENAME TO history;
CREATE INDEX history_by_subject ON history (subject_id, position);
CREATE TRIGGER history_no_update BEFORE UPDATE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;
CREATE TRIGGER history_no_delete BEFORE DELETE ON history BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;

-- When it ends by itself: the hosted page's, the transfer's or the capture window's end.
ALTER TABLE purchase_order RENAME COLUMN capture_before TO expires_at;
-- The hosted page is only there while it is waited for.
ALTER TABLE purchase_order ADD COLUMN page TEXT
    CONSTRAINT purchase_order_page_fits_state CHECK (page IS NULL OR state = 'PROCESSING');
-- The merchant learns of the Order with the account that the money is transferred to.
ALTER TABLE purchase_order ADD COLUMN bank_details TEXT
    CONSTRAINT purchase_order_bank_details_shown CHECK (bank_details IS NULL OR shown);
ALTER TABLE purchase_order ADD COLUMN voiding TEXT
    CONSTRAINT purchase_order_voiding_known CHECK (voiding IN ('MERCHANT', 'EXPIRED', 'REVIEW'));
ALTER TABLE purchase_order ADD COLUMN capture_promised_minor INTEGER
    CONSTRAINT purchase_order_capture_promised_positive CHECK (capture_promised_minor > 0);
ALTER TABLE purchase_order ADD COLUMN return_url TEXT;
-- Whose time is over: read every few seconds, so those that cannot end now are left out.
CREATE INDEX purchase_order_lapsing ON purchase_order (expires_at, id)
    WHERE state IN ('PROCESSING', 'PAYMENT_AUTHORIZED') AND expires_at IS NOT NULL AND voiding IS NULL AND capture_pending_minor = 0;

-- What is in progress or succeeded stands in the amounts of its Order, whose constraints hold the sum.
CREATE TABLE refund (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL CONSTRAINT refund_pkey UNIQUE,
    order_id TEXT NOT NULL CONSTRAINT refund_order_fkey REFERENCES purchase_order (id),
    merchant_id TEXT NOT NULL CONSTRAINT refund_merchant_fkey REFERENCES merchant (id),
    reference TEXT NOT NULL,
    currency TEXT NOT NULL CONSTRAINT refund_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    amount_minor INTEGER NOT NULL CONSTRAINT refund_amount_positive CHECK (amount_minor > 0),
    description TEXT,
    state TEXT NOT NULL CONSTRAINT refund_state_known CHECK (state IN ('IN_PROGRESS', 'SUCCEEDED', 'FAILED')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CONSTRAINT refund_reference_key UNIQUE (order_id, reference)
) STRICT;

ALTER TABLE processor_op ADD COLUMN refund_id TEXT CONSTRAINT processor_op_refund_fkey REFERENCES refund (id)
    CONSTRAINT processor_op_refund_fits_kind CHECK ((kind = 'REFUND') = (refund_id IS NOT NULL));
-- Which API asked; every operation of before was asked for by this one.
ALTER TABLE processor_op ADD COLUMN channel TEXT NOT NULL DEFAULT 'ORDER'
    CONSTRAINT processor_op_channel_known CHECK (channel IN ('NOBODY', 'ORDER', 'CHECKOUT_PAYMENT', 'CHECKOUT'));
-- A refund is asked for again only after it was refused for now.
CREATE UNIQUE INDEX processor_op_one_open_refund ON processor_op (refund_id)
    WHERE refund_id IS NOT NULL AND state IN ('PREPARED', 'UNKNOWN', 'PENDING');

-- What the merchant said of consumer and items in a server-to-server checkout.
CREATE TABLE checkout (
    order_id TEXT NOT NULL CONSTRAINT checkout_pkey PRIMARY KEY CONSTRAINT checkout_order_fkey REFERENCES purchase_order (id),
    merchant_id TEXT NOT NULL CONSTRAINT checkout_merchant_fkey REFERENCES merchant (id),
    document TEXT NOT NULL
) STRICT;

-- Foreign keys are not looked after while tables are exchanged, so this stands in for that; it fails the whole migration.
CREATE TEMP TABLE unanswered (references_without_a_row INTEGER NOT NULL CHECK (references_without_a_row = 0)) STRICT;
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('session');
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('purchase_order');
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('history');
DROP TABLE unanswered;
