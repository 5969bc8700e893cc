-- Takes a key, unless it counts already for another request. Waits for whoever is taking it right now: a transaction
-- that is undone frees it.
--
-- $1 merchant
-- $2 digest: SHA-256 of the key and where it was sent
-- $3 fingerprint: SHA-256 of the request
-- $4 operation: whose outcome the response will be
-- $5 status: of the response, with etag and body, where it is known
-- $6 etag
-- $7 body
-- $8 at: when the key begins to count
-- $9 until: when it ends

INSERT INTO answer (merchant_id, digest, fingerprint, operation_id, status, etag, body, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (merchant_id, digest) DO UPDATE
SET fingerprint = excluded.fingerprint, operation_id = excluded.operation_id, status = excluded.status,
    etag = excluded.etag, body = excluded.body, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE answer.expires_at <= excluded.created_at;
