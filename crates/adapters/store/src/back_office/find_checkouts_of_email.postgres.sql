-- The newest Orders of checkouts whose consumer has that e-mail address.
--
-- $1 email: in lower case
-- $2 any_merchant: whether all merchants count
-- $3 merchants: their ids, a list as JSON, where not all count
-- $4 scanned: most checkouts that are looked at
-- $5 limit: most that are found

SELECT made.id
FROM (
    SELECT order_id FROM checkout
    WHERE lower((document -> 'Consumer' ->> 'Email') COLLATE "C") = $1
        AND (
            $2
            OR merchant_id = ANY (
                ARRAY(SELECT CAST(value AS uuid) FROM json_array_elements_text(CAST($3 AS json)) AS value)
            )
        )
    LIMIT $4
) AS named
JOIN purchase_order AS made ON made.id = named.order_id ORDER BY made.created_at DESC, made.id DESC LIMIT $5;
