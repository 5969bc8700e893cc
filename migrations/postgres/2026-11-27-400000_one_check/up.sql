-- One CHECK for a table of many guards that every payment writes, in place of up to twenty. PostgreSQL reads the text of each CHECK anew for each
-- statement; the call of a function is a short text, and the function is read once for a connection. It refuses by the names that the guards
-- had, and that they have on SQLite.
--
-- Programs of before notice nothing. Rows of before obey: the guards are the same.
LOCK TABLE session, purchase_order, processor_op, history IN ACCESS EXCLUSIVE MODE;

CREATE FUNCTION dropin_refuse_row(table_name TEXT, broken TEXT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RAISE check_violation USING MESSAGE = format('new row for relation "%s" violates check constraint "%s"', table_name, broken),
        CONSTRAINT = broken, TABLE = table_name;
END $$;

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
    RETURN dropin_refuse_row('session', broken);
END $$;

CREATE FUNCTION dropin_check_purchase_order(
    state TEXT, revision BIGINT, currency TEXT, total_minor BIGINT, authorized_minor BIGINT, captured_minor BIGINT,
    capture_pending_minor BIGINT, refunded_minor BIGINT, refund_pending_minor BIGINT, disputed_minor BIGINT,
    capture_promised_minor BIGINT, voiding TEXT, failure TEXT, page TEXT, shown BOOLEAN, bank_details JSONB, card_last_four TEXT
) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken TEXT := CASE
        WHEN authorized_minor < 0 THEN 'purchase_order_authorized_not_negative'
        WHEN captured_minor < 0 THEN 'purchase_order_captured_not_negative'
        WHEN capture_pending_minor < 0 THEN 'purchase_order_capture_pending_not_negative'
        WHEN refunded_minor < 0 THEN 'purchase_order_refunded_not_negative'
        WHEN refund_pending_minor < 0 THEN 'purchase_order_refund_pending_not_negative'
        WHEN total_minor < 0 THEN 'purchase_order_total_not_negative'
        WHEN disputed_minor < 0 THEN 'disputed_not_negative'
        WHEN authorized_minor > total_minor THEN 'purchase_order_authorized_within_total'
        WHEN captured_minor + capture_pending_minor > authorized_minor THEN 'purchase_order_captured_within_authorized'
        WHEN refunded_minor + refund_pending_minor > captured_minor THEN 'purchase_order_refunded_within_captured'
        WHEN capture_promised_minor <= 0 THEN 'purchase_order_capture_promised_positive'
        WHEN state NOT IN ('PROCESSING', 'PAYMENT_AUTHORIZED', 'PROCESSED', 'PROCESSING_FAILED', 'CANCELLED', 'DECLINED',
            'COMMIT_ACCEPTED') THEN 'purchase_order_state_known'
        WHEN voiding NOT IN ('MERCHANT', 'EXPIRED', 'REVIEW') THEN 'purchase_order_voiding_known'
        WHEN failure NOT IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CARD_REFUSED', 'CANCELLED_BY_SHOPPER',
            'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE', 'PAYMENT_STOPPED')
            THEN 'purchase_order_failure_known'
        WHEN failure IS NOT NULL AND state <> 'PROCESSING_FAILED' THEN 'purchase_order_failure_fits_state'
        WHEN page IS NOT NULL AND state <> 'PROCESSING' THEN 'purchase_order_page_fits_state'
        WHEN bank_details IS NOT NULL AND NOT shown THEN 'purchase_order_bank_details_shown'
        WHEN card_last_four !~ '^[0-9]{4}$' THEN 'purchase_order_card_last_four_digits'
        WHEN revision <= 0 THEN 'purchase_order_revision_positive'
        WHEN currency !~ '^[A-Z]{3}$' THEN 'purchase_order_currency_code'
    END;
BEGIN
    IF broken IS NULL THEN RETURN TRUE; END IF;
    RETURN dropin_refuse_row('purchase_order', broken);
END $$;

CREATE FUNCTION dropin_check_processor_op(
    kind TEXT, state TEXT, channel TEXT, currency TEXT, amount_minor BIGINT, authorization_id UUID, refund_id UUID,
    processor_id TEXT, processor_reference TEXT, epoch BIGINT, tries INTEGER
) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken TEXT := CASE
        WHEN kind NOT IN ('AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND') THEN 'processor_op_kind_known'
        WHEN state NOT IN ('PREPARED', 'UNKNOWN', 'PENDING', 'APPROVED', 'DECLINED', 'ABANDONED') THEN 'processor_op_state_known'
        WHEN channel NOT IN ('NOBODY', 'ORDER', 'CHECKOUT_PAYMENT', 'CHECKOUT') THEN 'processor_op_channel_known'
        WHEN (kind = 'AUTHORIZE') <> (authorization_id IS NULL) THEN 'processor_op_authorization_fits_kind'
        WHEN (kind = 'REFUND') <> (refund_id IS NOT NULL) THEN 'processor_op_refund_fits_kind'
        WHEN amount_minor < 0 THEN 'processor_op_amount_not_negative'
        WHEN epoch < 0 THEN 'processor_op_epoch_not_negative'
        WHEN tries < 0 THEN 'processor_op_tries_not_negative'
        WHEN length(processor_id) NOT BETWEEN 1 AND 32 THEN 'processor_op_processor_id_length'
        WHEN length(processor_reference) NOT BETWEEN 1 AND 255 THEN 'processor_op_processor_reference_length'
        WHEN currency !~ '^[A-Z]{3}$' THEN 'processor_op_currency_code'
    END;
BEGIN
    IF broken IS NULL THEN RETURN TRUE; END IF;
    RETURN dropin_refuse_row('processor_op', broken);
END $$;

CREATE FUNCTION dropin_check_history(subject_kind TEXT, actor_kind TEXT, actor_name TEXT)
RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken TEXT := CASE
        WHEN actor_kind NOT IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM') THEN 'history_actor_known'
        WHEN (actor_kind IN ('MERCHANT', 'OPERATOR')) <> (actor_name IS NOT NULL) THEN 'history_actor_named'
        WHEN subject_kind NOT IN ('SESSION', 'ORDER', 'CONTRACT') THEN 'history_subject_known'
    END;
BEGIN
    IF broken IS NULL THEN RETURN TRUE; END IF;
    RETURN dropin_refuse_row('history', broken);
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

ALTER TABLE purchase_order
    ADD CONSTRAINT purchase_order_guards CHECK (dropin_check_purchase_order(
        state, revision, currency, total_minor, authorized_minor, captured_minor, capture_pending_minor, refunded_minor,
        refund_pending_minor, disputed_minor, capture_promised_minor, voiding, failure, page, shown, bank_details,
        card_last_four
    )) NOT VALID,
    DROP CONSTRAINT purchase_order_authorized_not_negative, DROP CONSTRAINT purchase_order_captured_not_negative,
    DROP CONSTRAINT purchase_order_capture_pending_not_negative, DROP CONSTRAINT purchase_order_refunded_not_negative,
    DROP CONSTRAINT purchase_order_refund_pending_not_negative, DROP CONSTRAINT purchase_order_total_not_negative,
    DROP CONSTRAINT disputed_not_negative, DROP CONSTRAINT purchase_order_authorized_within_total,
    DROP CONSTRAINT purchase_order_captured_within_authorized, DROP CONSTRAINT purchase_order_refunded_within_captured,
    DROP CONSTRAINT purchase_order_capture_promised_positive, DROP CONSTRAINT purchase_order_state_known,
    DROP CONSTRAINT purchase_order_voiding_known, DROP CONSTRAINT purchase_order_failure_known,
    DROP CONSTRAINT purchase_order_failure_fits_state, DROP CONSTRAINT purchase_order_page_fits_state,
    DROP CONSTRAINT purchase_order_bank_details_shown, DROP CONSTRAINT purchase_order_card_last_four_digits,
    DROP CONSTRAINT purchase_order_revision_positive, DROP CONSTRAINT purchase_order_currency_code;

ALTER TABLE processor_op
    ADD CONSTRAINT processor_op_guards CHECK (dropin_check_processor_op(
        kind, state, channel, currency, amount_minor, authorization_id, refund_id, processor_id, processor_reference,
        epoch, tries
    )) NOT VALID,
    DROP CONSTRAINT processor_op_kind_known, DROP CONSTRAINT processor_op_state_known,
    DROP CONSTRAINT processor_op_channel_known, DROP CONSTRAINT processor_op_authorization_fits_kind,
    DROP CONSTRAINT processor_op_refund_fits_kind, DROP CONSTRAINT processor_op_amount_not_negative,
    DROP CONSTRAINT processor_op_epoch_not_negative, DROP CONSTRAINT processor_op_tries_not_negative,
    DROP CONSTRAINT processor_op_processor_id_length, DROP CONSTRAINT processor_op_processor_reference_length,
    DROP CONSTRAINT processor_op_currency_code;

ALTER TABLE history
    ADD CONSTRAINT history_guards CHECK (dropin_check_history(subject_kind, actor_kind, actor_name)) NOT VALID,
    DROP CONSTRAINT history_actor_known, DROP CONSTRAINT history_actor_named, DROP CONSTRAINT history_subject_known;
