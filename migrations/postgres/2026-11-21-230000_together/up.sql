-- Steps of many payments share a statement.

-- What such a statement calls when somebody else was faster with one of them: all of it is undone, and each is done alone.
CREATE FUNCTION dropin_again() RETURNS BIGINT[] LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'somebody else was faster' USING ERRCODE = 'serialization_failure';
END $$;

-- A ledger transaction is posted with its entries by one statement, at whose end all that it posted is judged at once; nothing can be added
-- to a transaction later. It was judged once per row before.
DROP TRIGGER ledger_transaction_balanced ON ledger_transaction;
DROP TRIGGER ledger_entry_balanced ON ledger_entry;
DROP FUNCTION dropin_ledger_balances();

CREATE FUNCTION dropin_ledger_balances() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM posted CROSS JOIN LATERAL (
            SELECT count(*) AS found, coalesce(sum(minor), 0) AS balance FROM ledger_entry WHERE transaction_id = posted.id
        ) AS entries WHERE entries.found <> posted.entry_count OR entries.balance <> 0
    ) THEN
        RAISE EXCEPTION 'a ledger transaction is not balanced' USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entry_balanced';
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION dropin_ledger_entries_balance() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT transaction_id AS id FROM added) AS posted CROSS JOIN LATERAL (
            SELECT count(*) AS found, coalesce(sum(minor), 0) AS balance FROM ledger_entry WHERE transaction_id = posted.id
        ) AS entries
        WHERE entries.found <> (SELECT entry_count FROM ledger_transaction WHERE id = posted.id) OR entries.balance <> 0
    ) THEN
        RAISE EXCEPTION 'a ledger transaction is not balanced' USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entry_balanced';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER ledger_transaction_balanced AFTER INSERT ON ledger_transaction REFERENCING NEW TABLE AS posted
    FOR EACH STATEMENT EXECUTE FUNCTION dropin_ledger_balances();
CREATE TRIGGER ledger_entry_balanced AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION dropin_ledger_entries_balance();
