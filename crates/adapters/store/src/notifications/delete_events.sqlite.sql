-- Deletes those events of a list that are over.
--
-- An event is over when there is a newer one of its payment, which says where the payment's numbers go on; no stream
-- is at it or has to come to it; and it is not parked.
--
-- $1 events: their ids with commas between

DELETE FROM outbox_event AS e
WHERE e.event_id IN (SELECT value FROM json_each('["' || replace($1, ',', '","') || '"]'))
    AND EXISTS (
        SELECT 1 FROM outbox_event AS newer WHERE newer.payment_id = e.payment_id AND newer.sequence > e.sequence
    )
    AND NOT EXISTS (SELECT 1 FROM outbox_parked AS parked WHERE parked.event_id = e.event_id)
    AND NOT EXISTS (
        SELECT 1 FROM endpoint AS ep
        JOIN outbox_stream AS s ON s.endpoint_id = ep.id AND s.payment_id = e.payment_id AND NOT s.detached
        WHERE ep.merchant_id = e.merchant_id AND e.sequence BETWEEN s.next_sequence AND s.last_sequence
    )
    AND NOT EXISTS (
        SELECT 1 FROM endpoint AS ep
        JOIN outbox_stream AS s ON s.endpoint_id = ep.id AND s.payment_id = e.payment_id AND s.detached
        WHERE ep.merchant_id = e.merchant_id
            AND (
                s.next_sequence = e.sequence
                OR EXISTS (
                    SELECT 1 FROM outbox_replay_rest AS rest
                    WHERE rest.stream_id = s.id AND rest.sequence = e.sequence
                )
            )
    )
RETURNING event_id;
