-- What there is of Orders: revision, operations, their tries, notifications, their tries, operators' requests, those
-- that wait.
--
-- $1 orders: their ids, a list as JSON

SELECT made.id, made.revision, (SELECT count(*) FROM processor_op WHERE order_id = made.id),
    (SELECT CAST(coalesce(sum(tries), 0) AS BIGINT) FROM processor_op WHERE order_id = made.id),
    (SELECT count(*) FROM outbox_event WHERE payment_id = coalesce(made.session_id, made.id)), (
        SELECT count(*) FROM outbox_event AS e
        JOIN outbox_attempt AS a ON a.event_id = e.event_id WHERE e.payment_id = coalesce(made.session_id, made.id)
    ), (SELECT count(*) FROM money_request WHERE order_id = made.id),
    (SELECT count(*) FROM money_request WHERE order_id = made.id AND state = 'WAITING')
FROM purchase_order AS made
WHERE made.id = ANY (ARRAY(SELECT CAST(value AS uuid) FROM json_array_elements_text(CAST($1 AS json)) AS value));
