-- One CHECK that calls a function, in place of twelve. PostgreSQL reads the text of each CHECK anew for each statement; a call is a short text, and a
-- connection reads the function once. It refuses by the names that the guards had, and that they have on SQLite (docs/adr/0020). A table has a
-- migration of its own, since payments lock these tables in more than one order.
--
-- Programs of before notice nothing. Rows of before obey: the guards are the same; `guards_validated` notes that.
CREATE FUNCTION dropin_check_session(
    state TEXT, revision BIGINT, currency TEXT, total_minor BIGINT, order_id UUID, attempt_id UUID, cancel_reason TEXT,
    failure_reason TEXT, attempts_allowed INTEGER, attempts_failed INTEGER, last_attempt_id UUID, last_failure TEXT
) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken TEXT := CASE
        WHEN state NOT IN ('CREATED', 'PROCESSING', 'REDIRECTED', 'COMPLETED', 'CANCELLED', 'FAILED') THEN 'session_state_known'
        WHEN cancel_reason NOT IN ('MERCHANT', 'EXPIRED') THEN 'session_cancel_reason_known'
        WHEN failure_reason NOT IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER',
            'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')
            THEN 'session_failure_reason_known'
        WHEN last_failure NOT IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER',
            'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')
            THEN 'session_last_failure_known'
        WHEN (state IN ('PROCESSING', 'REDIRECTED', 'COMPLETED', 'FAILED')) <> (order_id IS NOT NULL)
            OR (order_id IS NULL) <> (attempt_id IS NULL) THEN 'session_attempt_fits_state'
        WHEN (state = 'CANCELLED') <> (cancel_reason IS NOT NULL) OR (state = 'FAILED') <> (failure_reason IS NOT NULL)
            THEN 'session_reason_fits_state'
        WHEN attempts_allowed NOT BETWEEN 1 AND 20 THEN 'session_attempts_allowed_bounded'
        WHEN attempts_failed NOT BETWEEN 0 AND attempts_allowed THEN 'session_attempts_counted'
        WHEN (attempts_failed = 0) <> (last_attempt_id IS NULL) OR (last_attempt_id IS NULL) <> (last_failure IS NULL)
            THEN 'session_last_attempt_told'
        WHEN total_minor < 0 THEN 'session_total_not_negative'
        WHEN revision <= 0 THEN 'session_revision_positive'
        WHEN currency !~ '^[A-Z]{3}$' THEN 'session_currency_code'
    END;
BEGIN
    IF broken IS NULL THEN RETURN TRUE; END IF;
    RAISE check_violation USING MESSAGE = format('new row for relation "session" violates check constraint "%s"', broken),
        CONSTRAINT = broken, TABLE = 'session';
END $$;

ALTER TABLE session
    ADD CONSTRAINT session_guards CHECK (dropin_check_session(
        state, revision, currency, total_minor, order_id, attempt_id, cancel_reason, failure_reason, attempts_allowed,
        attempts_failed, last_attempt_id, last_failure
    )) NOT VALID,
    DROP CONSTRAINT session_state_known, DROP CONSTRAINT session_cancel_reason_known,
    DROP CONSTRAINT session_failure_reason_known, DROP CONSTRAINT session_last_failure_known,
    DROP CONSTRAINT session_attempt_fits_state, DROP CONSTRAINT session_reason_fits_state,
    DROP CONSTRAINT session_attempts_allowed_bounded, DROP CONSTRAINT session_attempts_counted,
    DROP CONSTRAINT session_last_attempt_told, DROP CONSTRAINT session_total_not_negative,
    DROP CONSTRAINT session_revision_positive, DROP CONSTRAINT session_currency_code;
