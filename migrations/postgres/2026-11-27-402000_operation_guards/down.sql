ALTER TABLE processor_op
    DROP CONSTRAINT processor_op_guards,
    ADD CONSTRAINT processor_op_kind_known CHECK (kind IN ('AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND')),
    ADD CONSTRAINT processor_op_state_known
        CHECK (state IN ('PREPARED', 'UNKNOWN', 'PENDING', 'APPROVED', 'DECLINED', 'ABANDONED')),
    ADD CONSTRAINT processor_op_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    ADD CONSTRAINT processor_op_amount_not_negative CHECK (amount_minor >= 0),
    ADD CONSTRAINT processor_op_epoch_not_negative CHECK (epoch >= 0),
    ADD CONSTRAINT processor_op_tries_not_negative CHECK (tries >= 0),
    ADD CONSTRAINT processor_op_authorization_fits_kind CHECK ((kind = 'AUTHORIZE') = (authorization_id IS NULL)),
    ADD CONSTRAINT processor_op_refund_fits_kind CHECK ((kind = 'REFUND') = (refund_id IS NOT NULL)),
    ADD CONSTRAINT processor_op_channel_known CHECK (channel IN ('NOBODY', 'ORDER', 'CHECKOUT_PAYMENT', 'CHECKOUT')),
    ADD CONSTRAINT processor_op_processor_reference_length
        CHECK ((length(processor_reference) >= 1) AND (length(processor_reference) <= 255)),
    ADD CONSTRAINT processor_op_processor_id_length CHECK ((length(processor_id) >= 1) AND (length(processor_id) <= 32));
DROP FUNCTION dropin_check_processor_op;
