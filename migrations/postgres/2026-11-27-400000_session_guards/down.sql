ALTER TABLE session
    DROP CONSTRAINT session_guards,
    ADD CONSTRAINT session_revision_positive CHECK (revision > 0),
    ADD CONSTRAINT session_state_known
        CHECK (state IN ('CREATED', 'PROCESSING', 'REDIRECTED', 'COMPLETED', 'CANCELLED', 'FAILED')),
    ADD CONSTRAINT session_cancel_reason_known CHECK (cancel_reason IN ('MERCHANT', 'EXPIRED')),
    ADD CONSTRAINT session_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    ADD CONSTRAINT session_total_not_negative CHECK (total_minor >= 0),
    ADD CONSTRAINT session_attempt_fits_state CHECK (((state IN ('PROCESSING', 'REDIRECTED', 'COMPLETED',
        'FAILED')) = (order_id IS NOT NULL)) AND ((order_id IS NULL) = (attempt_id IS NULL))),
    ADD CONSTRAINT session_reason_fits_state
        CHECK (((state = 'CANCELLED') = (cancel_reason IS NOT NULL)) AND ((state = 'FAILED') = (failure_reason IS NOT NULL))),
    ADD CONSTRAINT session_attempts_allowed_bounded CHECK ((attempts_allowed >= 1) AND (attempts_allowed <= 20)),
    ADD CONSTRAINT session_last_failure_known CHECK (last_failure IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD',
        'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE',
        'PAYMENT_STOPPED')),
    ADD CONSTRAINT session_attempts_counted CHECK ((attempts_failed >= 0) AND (attempts_failed <= attempts_allowed)),
    ADD CONSTRAINT session_last_attempt_told
        CHECK (((attempts_failed = 0) = (last_attempt_id IS NULL)) AND ((last_attempt_id IS NULL) = (last_failure IS NULL))),
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD',
        'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE',
        'PAYMENT_STOPPED'));
DROP FUNCTION dropin_check_session;
