CREATE TEMPORARY TABLE share (payment BIGINT, merchant TEXT, endpoint TEXT);
BEGIN IMMEDIATE;
INSERT INTO share VALUES @SHARES@;
INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT printf('0b0b0b0b-0000-7000-9000-%012x', payment), column1, printf('0b0b0b0b-0000-7000-8000-%08x%04x', payment, column1), merchant,
        column2, CAST('{"Sequence":' || column1 || ',' || substr(replace(replace(replace('@BODY@', '@TYPE@', column2),
            '@ORDER@', printf('0b0b0b0b-0000-7000-9000-%012x', payment)), '@NUMBER@', payment), 2) AS BLOB), @NOW@
    FROM share, (VALUES @TYPES@) ORDER BY column1, payment;
INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, first_try, due_at)
    SELECT endpoint, printf('0b0b0b0b-0000-7000-9000-%012x', payment), FALSE, 1, @LAST@,
        CASE WHEN @WAITS@ THEN 4 ELSE 0 END, CASE WHEN @WAITS@ THEN @NOW@ END,
        @NOW@ + CASE WHEN @WAITS@ THEN 3600000000 ELSE 0 END
    FROM share ORDER BY payment;
DROP TABLE share;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
