DROP INDEX outbox_event_by_age;
-- What still waits behind another is parked again rather than lost.
INSERT OR IGNORE INTO outbox_parked (endpoint_id, event_id, attempts, parked_at)
    SELECT DISTINCT s.endpoint_id, e.event_id, 0, unixepoch() * 1000000 FROM outbox_replay_rest AS rest
        JOIN outbox_stream AS s ON s.id = rest.stream_id
        JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = rest.sequence;
DROP TABLE outbox_replay_rest;
DROP INDEX outbox_stream_detached;
ALTER TABLE outbox_stream DROP COLUMN replayed;
DROP TABLE outbox_replay;
