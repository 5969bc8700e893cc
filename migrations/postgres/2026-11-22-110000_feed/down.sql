DROP INDEX outbox_event_feed;
ALTER TABLE outbox_event DROP COLUMN tick, DROP COLUMN position;
DROP FUNCTION dropin_set_event_clock();
DROP FUNCTION dropin_tick();
DROP TABLE event_clock;
