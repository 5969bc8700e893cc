DROP TABLE outbox_attempt;
ALTER TABLE outbox_stream DROP COLUMN leased, DROP COLUMN uncounted;
ALTER TABLE endpoint DROP COLUMN retry, DROP COLUMN event_types;
