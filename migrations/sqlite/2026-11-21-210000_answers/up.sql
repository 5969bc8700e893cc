-- What was answered to a request with an Idempotency-Key, so that a repeat gets the same. Rows live for a day; no payment depends on them,
-- and the merchant of each has just been authenticated, so only the operation is referred to.
CREATE TABLE answer (
    merchant_id TEXT NOT NULL,
    -- Of method, address and key.
    digest BLOB NOT NULL CONSTRAINT answer_digest_length CHECK (length(digest) = 32),
    -- Of what was asked: the same key with another one is refused.
    fingerprint BLOB NOT NULL CONSTRAINT answer_fingerprint_length CHECK (length(fingerprint) = 32),
    -- The operation that has to end before there is an answer, when a processor is asked.
    operation_id TEXT CONSTRAINT answer_operation_fkey REFERENCES processor_op (id),
    status INTEGER CONSTRAINT answer_status_range CHECK (status BETWEEN 200 AND 499),
    etag TEXT,
    body BLOB,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT answer_pkey PRIMARY KEY (merchant_id, digest),
    CONSTRAINT answer_is_whole CHECK ((status IS NULL) = (body IS NULL) AND (etag IS NULL OR status IS NOT NULL)),
    CONSTRAINT answer_is_awaited CHECK (status IS NOT NULL OR operation_id IS NOT NULL)
) STRICT;
CREATE INDEX answer_by_expiry ON answer (expires_at);
CREATE INDEX answer_by_operation ON answer (operation_id) WHERE operation_id IS NOT NULL;
