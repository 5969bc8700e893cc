-- The newest Sessions and Orders of checkouts that took a reference which begins so.
--
-- $1 from: the beginning, which is the least of what begins so
-- $2 to: what comes after all that begins so
-- $3 scanned: most references that are looked at
-- $4 limit: most that are found

SELECT named.owner_kind, named.owner_id
FROM (
    SELECT owner_kind, owner_id FROM merchant_reference
    WHERE reference COLLATE "C" >= $1 AND reference COLLATE "C" < $2 LIMIT $3
) AS named
LEFT JOIN session ON session.id = named.owner_id
LEFT JOIN purchase_order ON purchase_order.id = named.owner_id
WHERE session.id IS NOT NULL OR purchase_order.id IS NOT NULL
ORDER BY coalesce(session.created_at, purchase_order.created_at) DESC, named.owner_id DESC LIMIT $4;
