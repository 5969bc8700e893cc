-- What somebody asked for stands back for what is new: either is found by itself, however much there is of the other.
CREATE INDEX outbox_stream_by_kind ON outbox_stream (endpoint_id, replayed, due_at) WHERE next_sequence <= last_sequence;
DROP INDEX outbox_stream_due;
