DROP FUNCTION dropin_set_event_clock();
DROP FUNCTION dropin_feed(UUID, BIGINT, BIGINT, BIGINT);
DROP INDEX outbox_event_feed;
ALTER TABLE outbox_event DROP COLUMN tick, DROP COLUMN position;
DROP TABLE event_clock;
DROP SEQUENCE event_clock_ahead;
