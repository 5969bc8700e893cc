-- A Session of the program of before has one Order: the others, which failed and were shown to nobody, are kept without it. With foreign keys
-- off, as the way up.
CREATE TABLE purchase_order_new (
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
    expires_at INTEGER,
    page TEXT CONSTRAINT purchase_order_page_fits_state CHECK (page IS NULL OR state = 'PROCESSING'),
    bank_details TEXT CONSTRAINT purchase_order_bank_details_shown CHECK (bank_details IS NULL OR shown),
    voiding TEXT CONSTRAINT purchase_order_voiding_known CHECK (voiding IN ('MERCHANT', 'EXPIRED', 'REVIEW')),
    capture_promised_minor INTEGER CONSTRAINT purchase_order_capture_promised_positive CHECK (capture_promised_minor > 0),
    return_url TEXT,
    CONSTRAINT purchase_order_authorized_within_total CHECK (authorized_minor <= total_minor),
    CONSTRAINT purchase_order_captured_within_authorized CHECK (captured_minor + capture_pending_minor <= authorized_minor),
    CONSTRAINT purchase_order_refunded_within_captured CHECK (refunded_minor + refund_pending_minor <= captured_minor)
) STRICT;
INSERT INTO purchase_order_new (id, merchant_id, session_id, merchant_reference, revision, state, under_review, shown, currency,
        total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture,
        payment_method, created_at, updated_at, expires_at, page, bank_details, voiding, capture_promised_minor, return_url)
    SELECT id, merchant_id, CASE WHEN NOT shown AND state = 'PROCESSING_FAILED'
            AND NOT EXISTS (SELECT 1 FROM session WHERE session.order_id = purchase_order.id) THEN NULL ELSE session_id END, merchant_reference, revision, state, under_review, shown, currency,
        total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor, refund_pending_minor, auto_capture,
        payment_method, created_at, updated_at, expires_at, page, bank_details, voiding, capture_promised_minor, return_url
    FROM purchase_order ORDER BY rowid;
DROP TABLE purchase_order;
ALTER TABLE purchase_order_new RENAME TO purchase_order;
CREATE INDEX purchase_order_lapsing ON purchase_order (expires_at, id)
    WHERE state IN ('PROCESSING', 'PAYMENT_AUTHORIZED') AND expires_at IS NOT NULL AND voiding IS NULL AND capture_pending_minor = 0;

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
    SELECT id, merchant_id, revision, state, order_id, attempt_id, cancel_reason,
        CASE WHEN failure_reason IN ('CARD_REFUSED', 'OTHER_WAY_CHOSEN', 'PAYMENT_STOPPED') THEN 'PAYMENT_DECLINED' ELSE failure_reason END,
        currency, total_minor, billing_profile_id, terms, created_at, updated_at, expires_at
    FROM session ORDER BY rowid;
DROP TABLE session;
ALTER TABLE session_new RENAME TO session;
CREATE INDEX session_unpaid_by_expiry ON session (expires_at, id) WHERE state = 'CREATED';

ALTER TABLE merchant DROP COLUMN attempts_allowed;

-- Foreign keys are not looked after while tables are exchanged, so this stands in for that; it fails the whole migration.
CREATE TEMP TABLE unanswered (references_without_a_row INTEGER NOT NULL CHECK (references_without_a_row = 0)) STRICT;
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('session');
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('purchase_order');
DROP TABLE unanswered;
