-- What an endpoint has of its own: the events that it is told of, and when it is tried again. NULL is everything, and the deployment's schedule.
ALTER TABLE endpoint
    ADD COLUMN event_types TEXT,
    ADD COLUMN retry TEXT;

-- attempt is the fence and only counts up; uncounted says how many of those tries the schedule does not count (a look whether a dead endpoint is
-- back, a try that our own death ended). leased says that the stream was claimed and nothing was written since.
ALTER TABLE outbox_stream
    ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0
        CONSTRAINT outbox_stream_uncounted_are_tries CHECK (uncounted >= 0 AND uncounted <= attempt),
    ADD COLUMN leased BOOLEAN NOT NULL DEFAULT FALSE;

-- What came of each try. took is in microseconds; status is NULL where no answer came, and why then says what happened instead.
CREATE TABLE outbox_attempt (
    endpoint_id UUID NOT NULL,
    event_id UUID NOT NULL,
    attempt INTEGER NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    took BIGINT NOT NULL,
    status INTEGER,
    why TEXT,
    answer BYTEA
);
CREATE INDEX outbox_attempt_by_event ON outbox_attempt (event_id);
CREATE INDEX outbox_attempt_by_age ON outbox_attempt USING brin (started_at);
