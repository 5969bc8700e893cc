-- Whether the account was made in a sandbox; every account of before was.
ALTER TABLE merchant ADD COLUMN sandbox BOOLEAN NOT NULL DEFAULT TRUE;

-- Permissions are words with commas between, read as strictly as everything else; every user of before had them all.
ALTER TABLE api_user
    ADD COLUMN permissions TEXT NOT NULL DEFAULT 'session:write,session:read,order:read,order:capture,order:refund,checkout'
        CONSTRAINT api_user_permissions_some CHECK (permissions <> ''),
    ADD COLUMN previous_password BYTEA,
    ADD COLUMN previous_until TIMESTAMPTZ
        CONSTRAINT api_user_previous_whole CHECK ((previous_password IS NULL) = (previous_until IS NULL)),
    ADD COLUMN revoked_at TIMESTAMPTZ;
CREATE INDEX api_user_by_merchant ON api_user (merchant_id);

ALTER TABLE endpoint
    ADD COLUMN previous_secret BYTEA,
    ADD COLUMN previous_until TIMESTAMPTZ
        CONSTRAINT endpoint_previous_whole CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
    ADD COLUMN removed_at TIMESTAMPTZ;

-- What waits for an endpoint that is removed is parked without a try.
ALTER TABLE outbox_parked
    DROP CONSTRAINT outbox_parked_attempts_positive,
    ADD CONSTRAINT outbox_parked_attempts_not_negative CHECK (attempts >= 0);
