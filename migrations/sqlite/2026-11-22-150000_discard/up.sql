-- Parked notifications that somebody said need not arrive any more, with who and when. Deleted with their events.
CREATE TABLE outbox_discarded (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_discarded_endpoint_fkey REFERENCES endpoint (id),
    discarded_at INTEGER NOT NULL,
    discarded_by TEXT NOT NULL,
    CONSTRAINT outbox_discarded_pkey PRIMARY KEY (event_id, endpoint_id)
) STRICT;
