INSERT INTO outbox_event (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    VALUES ('@PAYMENT@', @SEQUENCE@, '@EVENT@', '@MERCHANT@', '@TYPE@', CAST('@BODY@' AS BLOB), @NOW@);
INSERT INTO outbox_stream (endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, due_at)
    VALUES ('@ENDPOINT@', '@PAYMENT@', FALSE, @SEQUENCE@, @SEQUENCE@, 0, @NOW@)
    ON CONFLICT (endpoint_id, payment_id) WHERE NOT detached DO UPDATE SET last_sequence = excluded.last_sequence,
    due_at = CASE WHEN outbox_stream.next_sequence > outbox_stream.last_sequence
        THEN max(outbox_stream.due_at, excluded.due_at) ELSE outbox_stream.due_at END;
