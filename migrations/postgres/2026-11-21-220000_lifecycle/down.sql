-- What the program of before has no name for is told in the nearest one it has; refunds and checkouts are forgotten.
DROP TABLE checkout;
DELETE FROM answer WHERE operation_id IN (SELECT id FROM processor_op WHERE kind = 'REFUND');
DELETE FROM processor_op WHERE kind = 'REFUND';
DROP INDEX processor_op_one_open_refund;
ALTER TABLE processor_op DROP COLUMN refund_id, DROP COLUMN channel;
DROP TABLE refund;
DROP INDEX purchase_order_lapsing;
ALTER TABLE purchase_order
    DROP COLUMN page, DROP COLUMN bank_details, DROP COLUMN voiding, DROP COLUMN capture_promised_minor, DROP COLUMN return_url;
ALTER TABLE purchase_order RENAME COLUMN expires_at TO capture_before;

ALTER TABLE history DISABLE TRIGGER history_append_only;
UPDATE history SET actor_kind = 'SYSTEM', actor_name = NULL WHERE actor_kind = 'OPERATOR';
ALTER TABLE history ENABLE TRIGGER history_append_only;
ALTER TABLE history
    DROP CONSTRAINT history_actor_known,
    DROP CONSTRAINT history_actor_named,
    ADD CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'SYSTEM')),
    ADD CONSTRAINT history_actor_named CHECK ((actor_kind = 'MERCHANT') = (actor_name IS NOT NULL));

UPDATE session SET failure_reason = 'PAYMENT_DECLINED'
    WHERE failure_reason IN ('CANCELLED_BY_SHOPPER', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED');
ALTER TABLE session
    DROP CONSTRAINT session_failure_reason_known,
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'PROCESSOR_UNAVAILABLE'));
