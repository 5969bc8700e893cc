-- Several attempts to pay one Session, one after the other; each is an Order of its own.

ALTER TABLE merchant
    ADD COLUMN attempts_allowed INTEGER NOT NULL DEFAULT 5
        CONSTRAINT merchant_attempts_allowed_bounded CHECK (attempts_allowed BETWEEN 1 AND 20);

ALTER TABLE session
    ADD COLUMN attempts_failed INTEGER NOT NULL DEFAULT 0,
    -- The merchant's setting when the Session was created.
    ADD COLUMN attempts_allowed INTEGER NOT NULL DEFAULT 5
        CONSTRAINT session_attempts_allowed_bounded CHECK (attempts_allowed BETWEEN 1 AND 20),
    ADD COLUMN last_attempt_id UUID,
    ADD COLUMN last_failure TEXT CONSTRAINT session_last_failure_known CHECK (last_failure IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN',
        'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')),
    ADD CONSTRAINT session_attempts_counted CHECK (attempts_failed BETWEEN 0 AND attempts_allowed),
    ADD CONSTRAINT session_last_attempt_told CHECK (
        (attempts_failed = 0) = (last_attempt_id IS NULL) AND (last_attempt_id IS NULL) = (last_failure IS NULL)
    ),
    DROP CONSTRAINT session_failure_reason_known,
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN',
        'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED'));

ALTER TABLE purchase_order
    -- As the shopper's browser named the attempt; none of a server-to-server checkout.
    ADD COLUMN attempt_id UUID,
    ADD COLUMN failure TEXT CONSTRAINT purchase_order_failure_known CHECK (failure IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN',
        'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')),
    ADD CONSTRAINT purchase_order_failure_fits_state CHECK (failure IS NULL OR state = 'PROCESSING_FAILED'),
    DROP CONSTRAINT purchase_order_session_key;
UPDATE purchase_order SET attempt_id = session.attempt_id,
    failure = CASE WHEN purchase_order.state = 'PROCESSING_FAILED' THEN session.failure_reason END
    FROM session WHERE session.order_id = purchase_order.id;
-- Of one Session, at most one attempt is alive or was paid: every other one has failed and is shown to nobody.
CREATE UNIQUE INDEX purchase_order_session_key ON purchase_order (session_id) WHERE shown OR state <> 'PROCESSING_FAILED';
CREATE UNIQUE INDEX purchase_order_attempt_key ON purchase_order (session_id, attempt_id);
