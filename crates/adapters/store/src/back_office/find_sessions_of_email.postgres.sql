-- The newest Sessions of billing profiles with that e-mail address.
--
-- $1 email: in lower case
-- $2 any_merchant: whether all merchants count
-- $3 merchants: their ids, a list as JSON, where not all count
-- $4 scanned: most profiles that are looked at
-- $5 limit: most that are found

SELECT session.id
FROM (
    SELECT id FROM billing_profile
    WHERE lower((details ->> 'email') COLLATE "C") = $1
        AND (
            $2
            OR merchant_id = ANY (
                ARRAY(SELECT CAST(value AS uuid) FROM json_array_elements_text(CAST($3 AS json)) AS value)
            )
        )
    ORDER BY position DESC LIMIT $4
) AS profile
JOIN session ON session.billing_profile_id = profile.id ORDER BY session.created_at DESC, session.id DESC LIMIT $5;
