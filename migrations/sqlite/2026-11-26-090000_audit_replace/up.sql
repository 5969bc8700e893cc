-- INSERT OR REPLACE deletes what it replaces without asking the triggers that keep rows from being deleted.

CREATE TRIGGER audit_log_no_replace BEFORE INSERT ON audit_log WHEN EXISTS (
    SELECT 1 FROM audit_log WHERE id = NEW.id OR position = NEW.position
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: audit_log_append_only');
END;
CREATE TRIGGER audit_seal_no_replace BEFORE INSERT ON audit_seal WHEN EXISTS (
    SELECT 1 FROM audit_seal WHERE entry_id = NEW.entry_id OR (chain_id = NEW.chain_id AND sequence = NEW.sequence)
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: audit_seal_append_only');
END;
CREATE TRIGGER history_no_replace BEFORE INSERT ON history WHEN EXISTS (
    SELECT 1 FROM history WHERE position = NEW.position
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: history_append_only');
END;
CREATE TRIGGER ledger_transaction_no_replace BEFORE INSERT ON ledger_transaction WHEN EXISTS (
    SELECT 1 FROM ledger_transaction WHERE id = NEW.id
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_transaction_append_only');
END;
CREATE TRIGGER ledger_entry_no_replace BEFORE INSERT ON ledger_entry WHEN EXISTS (
    SELECT 1 FROM ledger_entry WHERE transaction_id = NEW.transaction_id AND account = NEW.account
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ledger_entry_append_only');
END;
CREATE TRIGGER outbox_event_no_replace BEFORE INSERT ON outbox_event WHEN EXISTS (
    SELECT 1 FROM outbox_event WHERE position = NEW.position OR event_id = NEW.event_id OR (payment_id = NEW.payment_id AND sequence = NEW.sequence)
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_event_append_only');
END;
CREATE TRIGGER rate_table_no_replace BEFORE INSERT ON rate_table WHEN EXISTS (
    SELECT 1 FROM rate_table WHERE position = NEW.position
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_table_append_only');
END;
CREATE TRIGGER rate_offer_no_replace BEFORE INSERT ON rate_offer WHEN EXISTS (
    SELECT 1 FROM rate_offer WHERE id = NEW.id OR (merchant_id = NEW.merchant_id AND set_number = NEW.set_number AND currency = NEW.currency)
) BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_offer_append_only');
END;
-- Of programs that offer at once one writes its set, and the others leave it as it is.
CREATE TRIGGER rate_offer_set_no_replace BEFORE INSERT ON rate_offer_set WHEN EXISTS (
    SELECT 1 FROM rate_offer_set WHERE merchant_id = NEW.merchant_id AND number = NEW.number
) BEGIN
    SELECT RAISE(IGNORE);
END;

-- What one actor did, and who did one thing.
CREATE INDEX audit_log_by_actor ON audit_log (actor_name, happened_at, position);
CREATE INDEX audit_log_by_action ON audit_log (action, happened_at, position);
