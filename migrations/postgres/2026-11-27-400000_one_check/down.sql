LOCK TABLE session, purchase_order, processor_op, history IN ACCESS EXCLUSIVE MODE;

ALTER TABLE session
    DROP CONSTRAINT session_guards,
    ADD CONSTRAINT session_revision_positive CHECK (revision > 0) NOT VALID,
    ADD CONSTRAINT session_state_known
        CHECK (state IN ('CREATED', 'PROCESSING', 'REDIRECTED', 'COMPLETED', 'CANCELLED', 'FAILED')) NOT VALID,
    ADD CONSTRAINT session_cancel_reason_known CHECK (cancel_reason IN ('MERCHANT', 'EXPIRED')) NOT VALID,
    ADD CONSTRAINT session_currency_code CHECK (currency ~ '^[A-Z]{3}$') NOT VALID,
    ADD CONSTRAINT session_total_not_negative CHECK (total_minor >= 0) NOT VALID,
    ADD CONSTRAINT session_attempt_fits_state CHECK (((state IN ('PROCESSING', 'REDIRECTED', 'COMPLETED',
        'FAILED')) = (order_id IS NOT NULL)) AND ((order_id IS NULL) = (attempt_id IS NULL))) NOT VALID,
    ADD CONSTRAINT session_reason_fits_state
        CHECK (((state = 'CANCELLED') = (cancel_reason IS NOT NULL)) AND ((state = 'FAILED') = (failure_reason IS NOT NULL))) NOT VALID,
    ADD CONSTRAINT session_attempts_allowed_bounded CHECK ((attempts_allowed >= 1) AND (attempts_allowed <= 20)) NOT VALID,
    ADD CONSTRAINT session_last_failure_known CHECK (last_failure IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD',
        'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE',
        'PAYMENT_STOPPED')) NOT VALID,
    ADD CONSTRAINT session_attempts_counted CHECK ((attempts_failed >= 0) AND (attempts_failed <= attempts_allowed)) NOT VALID,
    ADD CONSTRAINT session_last_attempt_told
        CHECK (((attempts_failed = 0) = (last_attempt_id IS NULL)) AND ((last_attempt_id IS NULL) = (last_failure IS NULL))) NOT VALID,
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD',
        'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE',
        'PAYMENT_STOPPED')) NOT VALID;

ALTER TABLE purchase_order
    DROP CONSTRAINT purchase_order_guards,
    ADD CONSTRAINT purchase_order_revision_positive CHECK (revision > 0) NOT VALID,
    ADD CONSTRAINT purchase_order_state_known CHECK (state IN ('PROCESSING', 'PAYMENT_AUTHORIZED', 'PROCESSED', 'PROCESSING_FAILED',
        'CANCELLED', 'DECLINED', 'COMMIT_ACCEPTED')) NOT VALID,
    ADD CONSTRAINT purchase_order_currency_code CHECK (currency ~ '^[A-Z]{3}$') NOT VALID,
    ADD CONSTRAINT purchase_order_total_not_negative CHECK (total_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_authorized_not_negative CHECK (authorized_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_captured_not_negative CHECK (captured_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_capture_pending_not_negative CHECK (capture_pending_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_refunded_not_negative CHECK (refunded_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_refund_pending_not_negative CHECK (refund_pending_minor >= 0) NOT VALID,
    ADD CONSTRAINT purchase_order_authorized_within_total CHECK (authorized_minor <= total_minor) NOT VALID,
    ADD CONSTRAINT purchase_order_captured_within_authorized CHECK ((captured_minor + capture_pending_minor) <= authorized_minor) NOT VALID,
    ADD CONSTRAINT purchase_order_refunded_within_captured CHECK ((refunded_minor + refund_pending_minor) <= captured_minor) NOT VALID,
    ADD CONSTRAINT purchase_order_page_fits_state CHECK ((page IS NULL) OR (state = 'PROCESSING')) NOT VALID,
    ADD CONSTRAINT purchase_order_bank_details_shown CHECK ((bank_details IS NULL) OR shown) NOT VALID,
    ADD CONSTRAINT purchase_order_voiding_known CHECK (voiding IN ('MERCHANT', 'EXPIRED', 'REVIEW')) NOT VALID,
    ADD CONSTRAINT purchase_order_capture_promised_positive CHECK (capture_promised_minor > 0) NOT VALID,
    ADD CONSTRAINT purchase_order_failure_known CHECK (failure IN ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD',
        'CARD_REFUSED', 'CANCELLED_BY_SHOPPER', 'OTHER_WAY_CHOSEN', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED', 'PROCESSOR_UNAVAILABLE',
        'PAYMENT_STOPPED')) NOT VALID,
    ADD CONSTRAINT purchase_order_failure_fits_state CHECK ((failure IS NULL) OR (state = 'PROCESSING_FAILED')) NOT VALID,
    ADD CONSTRAINT purchase_order_card_last_four_digits CHECK (card_last_four ~ '^[0-9]{4}$') NOT VALID,
    ADD CONSTRAINT disputed_not_negative CHECK (disputed_minor >= 0) NOT VALID;

ALTER TABLE processor_op
    DROP CONSTRAINT processor_op_guards,
    ADD CONSTRAINT processor_op_kind_known CHECK (kind IN ('AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND')) NOT VALID,
    ADD CONSTRAINT processor_op_state_known
        CHECK (state IN ('PREPARED', 'UNKNOWN', 'PENDING', 'APPROVED', 'DECLINED', 'ABANDONED')) NOT VALID,
    ADD CONSTRAINT processor_op_currency_code CHECK (currency ~ '^[A-Z]{3}$') NOT VALID,
    ADD CONSTRAINT processor_op_amount_not_negative CHECK (amount_minor >= 0) NOT VALID,
    ADD CONSTRAINT processor_op_epoch_not_negative CHECK (epoch >= 0) NOT VALID,
    ADD CONSTRAINT processor_op_tries_not_negative CHECK (tries >= 0) NOT VALID,
    ADD CONSTRAINT processor_op_authorization_fits_kind CHECK ((kind = 'AUTHORIZE') = (authorization_id IS NULL)) NOT VALID,
    ADD CONSTRAINT processor_op_refund_fits_kind CHECK ((kind = 'REFUND') = (refund_id IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT processor_op_channel_known CHECK (channel IN ('NOBODY', 'ORDER', 'CHECKOUT_PAYMENT', 'CHECKOUT')) NOT VALID,
    ADD CONSTRAINT processor_op_processor_reference_length
        CHECK ((length(processor_reference) >= 1) AND (length(processor_reference) <= 255)) NOT VALID,
    ADD CONSTRAINT processor_op_processor_id_length CHECK ((length(processor_id) >= 1) AND (length(processor_id) <= 32)) NOT VALID;

ALTER TABLE history
    DROP CONSTRAINT history_guards,
    ADD CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM')) NOT VALID,
    ADD CONSTRAINT history_actor_named CHECK ((actor_kind IN ('MERCHANT', 'OPERATOR')) = (actor_name IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER', 'CONTRACT')) NOT VALID;

DROP FUNCTION dropin_check_session;
DROP FUNCTION dropin_check_purchase_order;
DROP FUNCTION dropin_check_processor_op;
DROP FUNCTION dropin_check_history;
DROP FUNCTION dropin_refuse_row;
