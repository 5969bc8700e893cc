-- When notifications were last written or tried, and how many were.
--
-- $1 since: what happened or was tried earlier is not counted
-- $2 limit: most notifications, and most tries, that are counted

SELECT merchant_id, max(moment), count(*)
FROM (
    SELECT merchant_id, moment
    FROM (
        SELECT merchant_id, happened_at AS moment FROM outbox_event WHERE happened_at >= $1
        ORDER BY happened_at DESC LIMIT $2
    ) AS written
    UNION ALL
    SELECT endpoint.merchant_id, moment
    FROM (
        SELECT endpoint_id, started_at + took * INTERVAL '1 microsecond' AS moment FROM outbox_attempt
        WHERE started_at >= $1 ORDER BY started_at DESC LIMIT $2
    ) AS tried
    JOIN endpoint ON endpoint.id = tried.endpoint_id
) AS activity
GROUP BY merchant_id;
