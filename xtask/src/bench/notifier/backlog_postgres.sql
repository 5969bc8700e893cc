CREATE TEMPORARY TABLE share (payment BIGINT, merchant TEXT, endpoint TEXT);
INSERT INTO share VALUES @SHARES@;
INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT ('0b0b0b0b-0000-7000-9000-' || lpad(to_hex(payment), 12, '0'))::uuid, sequence,
        ('0b0b0b0b-0000-7000-8000-' || lpad(to_hex(payment), 8, '0') || lpad(to_hex(sequence), 4, '0'))::uuid, merchant::uuid, type,
        convert_to('{"Sequence":' || sequence || ',' || substr(replace(replace(replace('@BODY@', '@TYPE@', type),
            '@ORDER@', '0b0b0b0b-0000-7000-9000-' || lpad(to_hex(payment), 12, '0')), '@NUMBER@', payment::text), 2), 'UTF8'), now()
    FROM share, (VALUES @TYPES@) AS kind (sequence, type) ORDER BY sequence, payment;
INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, first_try, due_at)
    SELECT endpoint::uuid, ('0b0b0b0b-0000-7000-9000-' || lpad(to_hex(payment), 12, '0'))::uuid, FALSE, 1, @LAST@,
        CASE WHEN @WAITS@ THEN 4 ELSE 0 END, CASE WHEN @WAITS@ THEN now() END,
        CASE WHEN @WAITS@ THEN now() + interval '1 hour' ELSE now() END
    FROM share ORDER BY payment;
DROP TABLE share;
-- As after a while of service, when the server has looked at its tables.
ANALYZE outbox_event; ANALYZE outbox_stream; CHECKPOINT;
