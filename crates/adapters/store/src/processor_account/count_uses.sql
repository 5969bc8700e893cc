-- How many Orders, contracts and disputes need an account.
--
-- $1 merchant: whose account it is
-- $2 processor: the name of the account

SELECT (
    SELECT count(*) FROM purchase_order AS o
    WHERE o.merchant_id = $1
        AND EXISTS (SELECT 1 FROM processor_op AS p WHERE p.order_id = o.id AND p.processor_id = $2)
        AND (
            o.state NOT IN ('PROCESSED', 'PROCESSING_FAILED', 'CANCELLED', 'DECLINED')
            OR o.refunded_minor + o.disputed_minor < o.captured_minor
            OR 0 < o.capture_pending_minor
            OR EXISTS (
                SELECT 1 FROM processor_op AS p
                WHERE p.order_id = o.id AND p.state IN ('PREPARED', 'UNKNOWN', 'PENDING')
            )
        )
), (
    SELECT count(*) FROM contract_credential AS c
    JOIN contract AS k ON k.id = c.contract_id
    WHERE c.merchant_id = $1
        AND EXISTS (
            SELECT 1 FROM purchase_order AS o
            JOIN processor_op AS p ON p.order_id = o.id
            WHERE p.processor_id = $2 AND (o.contract_id = c.contract_id OR o.id = k.order_id)
        )
), (
    SELECT count(*) FROM discarded_credential AS d
    WHERE EXISTS (SELECT 1 FROM processor_op AS p WHERE p.order_id = d.order_id AND p.processor_id = $2)
), (SELECT count(*) FROM dispute WHERE processor = $2 AND state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW'));
