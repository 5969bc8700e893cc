DROP TRIGGER ledger_entry_balanced ON ledger_entry;
DROP TRIGGER ledger_transaction_balanced ON ledger_transaction;
DROP FUNCTION dropin_ledger_entries_balance();
DROP FUNCTION dropin_ledger_balances();
DROP FUNCTION dropin_again();

CREATE FUNCTION dropin_ledger_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    posted UUID;
    declared INTEGER;
    found INTEGER;
    balance NUMERIC;
BEGIN
    IF TG_TABLE_NAME = 'ledger_entry' THEN
        posted := NEW.transaction_id;
    ELSE
        posted := NEW.id;
    END IF;
    SELECT entry_count INTO declared FROM ledger_transaction WHERE id = posted;
    SELECT count(*), coalesce(sum(minor), 0) INTO found, balance FROM ledger_entry WHERE transaction_id = posted;
    IF found <> declared OR balance <> 0 THEN
        RAISE EXCEPTION 'a ledger transaction is not balanced' USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entry_balanced';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_transaction_balanced AFTER INSERT ON ledger_transaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dropin_ledger_balances();
CREATE CONSTRAINT TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dropin_ledger_balances();
