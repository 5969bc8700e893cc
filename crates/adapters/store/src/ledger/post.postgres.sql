-- Posts transactions to the ledger.
--
-- $1 to $11, posting: A ledger transaction; `number` names the batched row that it belongs to.

INSERT INTO ledger_posting (
    id, order_id, currency, shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor,
    charged_back_minor, posted_at
)
SELECT posting.id, posting.order_id, posting.currency, posting.shopper, posting.authorized, posting.captured,
    posting.refunded, posting.disputed, posting.charged_back, posting.posted_at
FROM unnest(
    $1::bigint[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::timestamptz[]
) AS posting (
    number, id, order_id, currency, shopper, authorized, captured, refunded, disputed, charged_back, posted_at
);
