-- What comes behind the next events of streams, in order.
--
-- $1 streams: their numbers with commas between
-- $2 limit: most events

SELECT s.id, e.sequence, e.event_type FROM outbox_stream AS s
JOIN outbox_event AS e ON e.payment_id = s.payment_id
    AND e.sequence > s.next_sequence
    AND e.sequence <= s.last_sequence
WHERE s.id = ANY (string_to_array($1, ',')::bigint[]) ORDER BY s.id, e.sequence LIMIT $2;
