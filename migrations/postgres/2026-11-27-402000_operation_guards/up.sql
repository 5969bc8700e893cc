-- One CHECK that calls a function, in place of eleven. PostgreSQL reads the text of each CHECK anew for each statement; a call is a short text, and a
-- connection reads the function once. It refuses by the names that the guards had, and that they have on SQLite (docs/adr/0020). A table has a
-- migration of its own, since payments lock these tables in more than one order.
--
-- Programs of before notice nothing. Rows of before obey: the guards are the same; `guards_validated` notes that.
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
    RAISE check_violation USING MESSAGE = format('new row for relation "processor_op" violates check constraint "%s"', broken),
        CONSTRAINT = broken, TABLE = 'processor_op';
END $$;

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
