ALTER TABLE session DROP CONSTRAINT session_order_fkey;
DROP VIEW ledger_unbalanced;
DROP TABLE stash, outbox_parked, outbox_stream, outbox_event, history, ledger_entry, ledger_transaction, processor_op, purchase_order,
    session, merchant_reference, billing_profile, endpoint, api_user, merchant_origin, merchant_currency, merchant;
DROP FUNCTION dropin_ledger_balances();
DROP FUNCTION dropin_refuse_change();
