-- One CHECK that calls a function, in place of twenty. PostgreSQL reads the text of each CHECK anew for each statement; a call is a short text, and a
-- connection reads the function once. It refuses by the names that the guards had, and that they have on SQLite (docs/adr/0020). A table has a
-- migration of its own, since payments lock these tables in more than one order.
--
-- Programs of before notice nothing. Rows of before obey: the guards are the same; `guards_validated` notes that.
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
    RAISE check_violation USING MESSAGE = format('new row for relation "purchase_order" violates check constraint "%s"', broken),
        CONSTRAINT = broken, TABLE = 'purchase_order';
END $$;

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
