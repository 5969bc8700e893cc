-- The newest Orders of some merchants whose card's number ends so. Has the words of the partial
-- index, so that this is used. The plus keeps SQLite from the merchant's index: far more Orders are
-- the merchant's than have a card that ends so.
--
-- $1 last_four: the end of the card's number
-- $2 since: Orders made at or after it
-- $3 until: and before it
-- $4 merchants: their ids, a list as JSON
-- $5 limit: most that are found

SELECT id FROM purchase_order
WHERE card_last_four IS NOT NULL
    AND card_last_four = $1
    AND created_at >= $2
    AND created_at < $3
    AND +merchant_id IN (SELECT value FROM json_each($4))
ORDER BY created_at DESC, id DESC LIMIT $5;
