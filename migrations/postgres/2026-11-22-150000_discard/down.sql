-- The programs of before would take them for sent: they are parked again rather than lost.
INSERT INTO outbox_parked (endpoint_id, event_id, attempts, parked_at)
    SELECT endpoint_id, event_id, 0, discarded_at FROM outbox_discarded
    ON CONFLICT (endpoint_id, event_id) DO NOTHING;
DROP TABLE outbox_discarded;
