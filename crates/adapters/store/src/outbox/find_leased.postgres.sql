-- The next notification of streams that are under that very lease, and who is to get it.
--
-- $1 streams: their numbers with commas between
-- $2 lease_until: when that lease ends, which tells it from another

SELECT s.id, s.id, s.endpoint_id, s.payment_id, s.next_sequence, s.attempt, s.first_try, s.uncounted, FALSE,
    endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_until, endpoint.removed_at IS NOT NULL,
    endpoint.event_types, endpoint.retry, (SELECT sandbox FROM merchant WHERE merchant.id = endpoint.merchant_id),
    e.event_id, e.merchant_id, e.event_type, e.body, e.happened_at
FROM outbox_stream AS s
JOIN endpoint ON endpoint.id = s.endpoint_id
LEFT JOIN outbox_event AS e ON e.payment_id = s.payment_id AND e.sequence = s.next_sequence
WHERE s.id = ANY (string_to_array($1, ',')::bigint[]) AND s.due_at = $2 AND s.next_sequence <= s.last_sequence
ORDER BY s.id;
