-- Who asked for notifications to be sent again: one row for each endpoint that they go to. ends_at is when the last of them is due, so that what is
-- asked for next comes behind them.
CREATE TABLE outbox_replay (
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_replay_endpoint_fkey REFERENCES endpoint (id),
    asked_at INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    wanted TEXT NOT NULL,
    events INTEGER NOT NULL CONSTRAINT outbox_replay_some CHECK (events > 0),
    ends_at INTEGER NOT NULL,
    CONSTRAINT outbox_replay_pkey PRIMARY KEY (id, endpoint_id)
) STRICT;
CREATE INDEX outbox_replay_by_end ON outbox_replay (endpoint_id, ends_at);

-- A stream that somebody asked for: others of its payment may come behind its event.
ALTER TABLE outbox_stream ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0
    CONSTRAINT outbox_stream_replayed_is_detached CHECK (replayed IN (0, 1) AND (detached OR NOT replayed));
CREATE INDEX outbox_stream_detached ON outbox_stream (endpoint_id, payment_id) WHERE detached;

-- The events that come behind the one that such a stream is at, each when the one before is over.
CREATE TABLE outbox_replay_rest (
    stream_id INTEGER NOT NULL CONSTRAINT outbox_replay_rest_stream_fkey REFERENCES outbox_stream (id),
    sequence INTEGER NOT NULL,
    CONSTRAINT outbox_replay_rest_pkey PRIMARY KEY (stream_id, sequence)
) STRICT;

CREATE INDEX outbox_event_by_age ON outbox_event (happened_at);
