-- Streams that were asked for and wait at an endpoint, for payments of a list; held against whoever delivers.
--
-- $1 endpoint
-- $2 payments: their ids with commas between

SELECT id, endpoint_id, payment_id, detached, next_sequence, last_sequence, attempt, uncounted, first_try, leased,
    due_at
FROM outbox_stream
WHERE endpoint_id = $1
    AND detached
    AND replayed
    AND payment_id IN (SELECT value FROM json_each('["' || replace($2, ',', '","') || '"]'))
ORDER BY id;
