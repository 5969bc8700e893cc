-- How many notifications wait for each endpoint, counted up to a million. Reads every stream that is not idle, and
-- what comes behind others because it was asked for.

SELECT endpoint_id, CAST(sum(waiting) AS BIGINT)
FROM (
    SELECT endpoint_id, last_sequence - next_sequence + 1 AS waiting FROM outbox_stream
    WHERE next_sequence <= last_sequence
    UNION ALL
    SELECT s.endpoint_id, 1 FROM outbox_replay_rest AS r
    JOIN outbox_stream AS s ON s.id = r.stream_id LIMIT 1000000
) AS stream
GROUP BY endpoint_id;
