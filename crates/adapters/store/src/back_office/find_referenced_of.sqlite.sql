-- The newest Sessions and Orders of checkouts of some merchants that took a reference which begins so.
--
-- $1 merchants: their ids, a list as JSON
-- $2 from: the beginning, which is the least of what begins so
-- $3 to: what comes after all that begins so
-- $4 scanned: most references that are looked at
-- $5 limit: most that are found

SELECT named.owner_kind, named.owner_id
FROM (
    SELECT owner_kind, owner_id FROM merchant_reference
    WHERE merchant_id IN (SELECT value FROM json_each($1)) AND reference >= $2 AND reference < $3 LIMIT $4
) AS named
LEFT JOIN session ON session.id = named.owner_id
LEFT JOIN purchase_order ON purchase_order.id = named.owner_id
WHERE session.id IS NOT NULL OR purchase_order.id IS NOT NULL
ORDER BY coalesce(session.created_at, purchase_order.created_at) DESC, named.owner_id DESC LIMIT $5;
