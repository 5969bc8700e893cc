-- The status of the events of a list, at each endpoint.
--
-- What every endpoint of a merchant has of an event: the payment's stream there (main), one that is detached and at
-- the event (alone), one that has to come to it (behind), what is parked or discarded, and what is known of tries.
-- Found by the event's and the endpoint's keys, so that it costs as much as there are of both.
--
-- $1 events: their ids with commas between

SELECT e.event_id, e.event_type, e.sequence, ep.id, ep.removed_at IS NOT NULL,
    coalesce(e.happened_at <= ep.removed_at, FALSE), ep.event_types, main.next_sequence, main.last_sequence,
    main.attempt - main.uncounted, main.due_at, alone.attempt - alone.uncounted, alone.due_at, behind.id IS NOT NULL,
    parked.attempts, parked.parked_at, discarded.event_id IS NOT NULL,
    coalesce(e.happened_at > (SELECT min(a.started_at) FROM outbox_attempt AS a), FALSE),
    (SELECT count(*) FROM outbox_attempt AS a WHERE a.event_id = e.event_id AND a.endpoint_id = ep.id), (
        SELECT max(a.started_at) FROM outbox_attempt AS a
        WHERE a.event_id = e.event_id AND a.endpoint_id = ep.id AND a.status = 200
    )
FROM outbox_event AS e
JOIN endpoint AS ep ON ep.merchant_id = e.merchant_id
LEFT JOIN outbox_stream AS main ON main.endpoint_id = ep.id AND main.payment_id = e.payment_id AND NOT main.detached
LEFT JOIN outbox_stream AS alone ON alone.endpoint_id = ep.id
    AND alone.payment_id = e.payment_id
    AND alone.detached
    AND alone.next_sequence = e.sequence
LEFT JOIN outbox_stream AS behind ON behind.endpoint_id = ep.id
    AND behind.payment_id = e.payment_id
    AND behind.detached
    AND EXISTS (
        SELECT 1 FROM outbox_replay_rest AS rest WHERE rest.stream_id = behind.id AND rest.sequence = e.sequence
    )
LEFT JOIN outbox_parked AS parked ON parked.endpoint_id = ep.id AND parked.event_id = e.event_id
LEFT JOIN outbox_discarded AS discarded ON discarded.event_id = e.event_id AND discarded.endpoint_id = ep.id
WHERE e.event_id IN (SELECT value FROM json_each('["' || replace($1, ',', '","') || '"]')) ORDER BY e.event_id, ep.id;
