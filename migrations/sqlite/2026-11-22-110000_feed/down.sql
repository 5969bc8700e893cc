CREATE TABLE outbox_event_old (
    payment_id TEXT NOT NULL,
    sequence INTEGER NOT NULL CONSTRAINT outbox_event_sequence_from_one CHECK (sequence > 0),
    event_id TEXT NOT NULL CONSTRAINT outbox_event_id_key UNIQUE,
    merchant_id TEXT NOT NULL CONSTRAINT outbox_event_merchant_fkey REFERENCES merchant (id),
    event_type TEXT NOT NULL,
    body BLOB NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT outbox_event_pkey PRIMARY KEY (payment_id, sequence)
) STRICT;
INSERT INTO outbox_event_old (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT payment_id, sequence, event_id, merchant_id, event_type, body, happened_at FROM outbox_event ORDER BY position;
DROP TABLE outbox_event;
ALTER TABLE outbox_event_old RENAME TO outbox_event;
CREATE TRIGGER outbox_event_no_update BEFORE UPDATE ON outbox_event BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_event_append_only');
END;
