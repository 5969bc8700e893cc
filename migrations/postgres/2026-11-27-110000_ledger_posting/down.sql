DROP TRIGGER ledger_entry_followed ON ledger_entry;
DROP FUNCTION dropin_ledger_follows();
ALTER TABLE ledger_transaction DISABLE TRIGGER USER;
ALTER TABLE ledger_entry DISABLE TRIGGER USER;
-- What moved nothing has two entries of nothing.
CREATE TEMPORARY TABLE not_there ON COMMIT DROP AS
    SELECT * FROM ledger_posting WHERE NOT EXISTS (SELECT FROM ledger_transaction AS posted WHERE posted.id = ledger_posting.id);
INSERT INTO ledger_transaction (id, order_id, currency, entry_count, posted_at)
    SELECT id, order_id, currency, greatest(2, num_nonnulls(nullif(shopper_minor, 0), nullif(authorized_minor, 0), nullif(captured_minor, 0),
        nullif(refunded_minor, 0), nullif(disputed_minor, 0), nullif(charged_back_minor, 0))), posted_at FROM not_there;
INSERT INTO ledger_entry (transaction_id, account, minor)
    SELECT id, 'SHOPPER', shopper_minor FROM not_there WHERE shopper_minor <> 0
    UNION ALL SELECT id, 'AUTHORIZED', authorized_minor FROM not_there WHERE authorized_minor <> 0
    UNION ALL SELECT id, 'CAPTURED', captured_minor FROM not_there WHERE captured_minor <> 0
    UNION ALL SELECT id, 'REFUNDED', refunded_minor FROM not_there WHERE refunded_minor <> 0
    UNION ALL SELECT id, 'DISPUTED', disputed_minor FROM not_there WHERE disputed_minor <> 0
    UNION ALL SELECT id, 'CHARGED_BACK', charged_back_minor FROM not_there WHERE charged_back_minor <> 0
    UNION ALL SELECT id, nothing.account, 0 FROM not_there, (VALUES ('SHOPPER'), ('AUTHORIZED')) AS nothing (account)
        WHERE shopper_minor = 0 AND authorized_minor = 0 AND captured_minor = 0
        AND refunded_minor = 0 AND disputed_minor = 0 AND charged_back_minor = 0;
ALTER TABLE ledger_transaction ENABLE TRIGGER USER;
ALTER TABLE ledger_entry ENABLE TRIGGER USER;
DROP TABLE ledger_posting;
CREATE VIEW ledger_unbalanced AS
    SELECT posted.id
    FROM ledger_transaction AS posted LEFT JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
    GROUP BY posted.id, posted.entry_count
    HAVING count(entry.account) <> posted.entry_count OR coalesce(sum(entry.minor), 0) <> 0;
