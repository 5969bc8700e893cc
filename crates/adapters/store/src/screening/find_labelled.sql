-- Screenings of Orders about which a person has decided, and how.
--
-- $1 merchant
-- $2 since: Orders made at or after it
-- $3 limit: most of them, the newest

SELECT screening.order_id, screening.verdict, screening.facts, screening.velocity, history.what FROM screening
JOIN history ON history.subject_id = screening.order_id
WHERE screening.merchant_id = $1
    AND screening.ordered_at >= $2
    AND screening.facts IS NOT NULL
    AND history.what IN ('REVIEW_APPROVED', 'REVIEW_DECLINED')
ORDER BY screening.ordered_at DESC, screening.order_id DESC LIMIT $3;
