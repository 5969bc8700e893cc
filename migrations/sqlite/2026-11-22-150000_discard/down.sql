-- The programs of before would take them for sent: they are parked again rather than lost.
INSERT OR IGNORE INTO outbox_parked (endpoint_id, event_id, attempts, parked_at)
    SELECT endpoint_id, event_id, 0, discarded_at FROM outbox_discarded;
DROP TABLE outbox_discarded;
