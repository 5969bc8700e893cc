CREATE INDEX outbox_stream_due ON outbox_stream (endpoint_id, due_at) WHERE next_sequence <= last_sequence;
DROP INDEX outbox_stream_by_kind;
