CREATE TABLE outbox_parked_old (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_parked_endpoint_fkey REFERENCES endpoint (id),
    event_id TEXT NOT NULL CONSTRAINT outbox_parked_event_fkey REFERENCES outbox_event (event_id),
    attempts INTEGER NOT NULL CONSTRAINT outbox_parked_attempts_positive CHECK (attempts > 0),
    parked_at INTEGER NOT NULL,
    CONSTRAINT outbox_parked_pkey UNIQUE (endpoint_id, event_id)
) STRICT;
INSERT INTO outbox_parked_old (position, endpoint_id, event_id, attempts, parked_at)
    SELECT position, endpoint_id, event_id, max(attempts, 1), parked_at FROM outbox_parked ORDER BY position;
DROP TABLE outbox_parked;
ALTER TABLE outbox_parked_old RENAME TO outbox_parked;
CREATE INDEX outbox_parked_by_event ON outbox_parked (event_id);
ALTER TABLE endpoint DROP COLUMN removed_at;
ALTER TABLE endpoint DROP COLUMN previous_until;
ALTER TABLE endpoint DROP COLUMN previous_secret;
DROP INDEX api_user_by_merchant;
ALTER TABLE api_user DROP COLUMN revoked_at;
ALTER TABLE api_user DROP COLUMN previous_until;
ALTER TABLE api_user DROP COLUMN previous_password;
ALTER TABLE api_user DROP COLUMN permissions;
ALTER TABLE merchant DROP COLUMN sandbox;
