DROP TABLE outbox_attempt;
ALTER TABLE outbox_stream DROP COLUMN leased;
ALTER TABLE outbox_stream DROP COLUMN uncounted;
ALTER TABLE endpoint DROP COLUMN retry;
ALTER TABLE endpoint DROP COLUMN event_types;
