-- Whether the account was made in a sandbox; every account of before was.
ALTER TABLE merchant ADD COLUMN sandbox INTEGER NOT NULL DEFAULT 1 CONSTRAINT merchant_sandbox_boolean CHECK (sandbox IN (0, 1));

-- Permissions are words with commas between, read as strictly as everything else; every user of before had them all.
ALTER TABLE api_user ADD COLUMN permissions TEXT NOT NULL DEFAULT 'session:write,session:read,order:read,order:capture,order:refund,checkout'
    CONSTRAINT api_user_permissions_some CHECK (permissions <> '');
ALTER TABLE api_user ADD COLUMN previous_password BLOB;
ALTER TABLE api_user ADD COLUMN previous_until INTEGER
    CONSTRAINT api_user_previous_whole CHECK ((previous_password IS NULL) = (previous_until IS NULL));
ALTER TABLE api_user ADD COLUMN revoked_at INTEGER;
CREATE INDEX api_user_by_merchant ON api_user (merchant_id);

ALTER TABLE endpoint ADD COLUMN previous_secret BLOB;
ALTER TABLE endpoint ADD COLUMN previous_until INTEGER
    CONSTRAINT endpoint_previous_whole CHECK ((previous_secret IS NULL) = (previous_until IS NULL));
ALTER TABLE endpoint ADD COLUMN removed_at INTEGER;

-- What waits for an endpoint that is removed is parked without a try.
CREATE TABLE outbox_parked_new (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint_id TEXT NOT NULL CONSTRAINT outbox_parked_endpoint_fkey REFERENCES endpoint (id),
    event_id TEXT NOT NULL CONSTRAINT outbox_parked_event_fkey REFERENCES outbox_event (event_id),
    attempts INTEGER NOT NULL CONSTRAINT outbox_parked_attempts_not_negative CHECK (attempts >= 0),
    parked_at INTEGER NOT NULL,
    CONSTRAINT outbox_parked_pkey UNIQUE (endpoint_id, event_id)
) STRICT;
INSERT INTO outbox_parked_new (position, endpoint_id, event_id, attempts, parked_at)
    SELECT position, endpoint_id, event_id, attempts, parked_at FROM outbox_parked ORDER BY position;
DROP TABLE outbox_parked;
ALTER TABLE outbox_parked_new RENAME TO outbox_parked;
CREATE INDEX outbox_parked_by_event ON outbox_parked (event_id);
