-- A new refund, unless its Order has one with that reference.
--
-- $1 id
-- $2 order
-- $3 merchant
-- $4 reference
-- $5 currency
-- $6 amount
-- $7 description
-- $8 state
-- $9 created_at
-- $10 updated_at
-- $11 settlement_currency
-- $12 settlement: what the processor settles, in settlement_currency

INSERT INTO refund (
    id, order_id, merchant_id, reference, currency, amount_minor, description, state, created_at, updated_at,
    settlement_currency, settlement_minor
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (order_id, reference) DO NOTHING;
