-- A Session of the program of before has one Order: the others, which failed and were shown to nobody, are kept without it.
DROP INDEX purchase_order_attempt_key;
DROP INDEX purchase_order_session_key;
UPDATE purchase_order SET session_id = NULL WHERE NOT shown AND state = 'PROCESSING_FAILED'
    AND NOT EXISTS (SELECT FROM session WHERE session.order_id = purchase_order.id);
ALTER TABLE purchase_order
    DROP COLUMN attempt_id,
    DROP COLUMN failure,
    ADD CONSTRAINT purchase_order_session_key UNIQUE (session_id);

UPDATE session SET failure_reason = 'PAYMENT_DECLINED'
    WHERE failure_reason IN ('CARD_REFUSED', 'OTHER_WAY_CHOSEN', 'PAYMENT_STOPPED');
ALTER TABLE session
    DROP COLUMN attempts_failed,
    DROP COLUMN attempts_allowed,
    DROP COLUMN last_attempt_id,
    DROP COLUMN last_failure,
    DROP CONSTRAINT session_failure_reason_known,
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CANCELLED_BY_SHOPPER', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED',
        'PROCESSOR_UNAVAILABLE'));

ALTER TABLE merchant DROP COLUMN attempts_allowed;
