-- Events can be read in an order to which nothing is ever added before what was read already. Writers come one after the other, so that
-- a number that is never given twice is the order of their commits; PostgreSQL needs a clock of transactions besides. Whoever opens the
-- database moves the number ahead to the time in microseconds: a copy that was restored goes on above all that was read of the other.
-- Runs with `PRAGMA foreign_keys = OFF`: the table is exchanged, and parked notifications refer to it.

CREATE TABLE outbox_event_new (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    payment_id TEXT NOT NULL,
    sequence INTEGER NOT NULL CONSTRAINT outbox_event_sequence_from_one CHECK (sequence > 0),
    event_id TEXT NOT NULL CONSTRAINT outbox_event_id_key UNIQUE,
    merchant_id TEXT NOT NULL CONSTRAINT outbox_event_merchant_fkey REFERENCES merchant (id),
    event_type TEXT NOT NULL,
    body BLOB NOT NULL,
    happened_at INTEGER NOT NULL,
    CONSTRAINT outbox_event_pkey UNIQUE (payment_id, sequence)
) STRICT;
INSERT INTO outbox_event_new (payment_id, sequence, event_id, merchant_id, event_type, body, happened_at)
    SELECT payment_id, sequence, event_id, merchant_id, event_type, body, happened_at FROM outbox_event ORDER BY rowid;
DROP TABLE outbox_event;
ALTER TABLE outbox_event_new RENAME TO outbox_event;
-- DELETE stays possible: old events are dropped by age.
CREATE TRIGGER outbox_event_no_update BEFORE UPDATE ON outbox_event BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: outbox_event_append_only');
END;
-- With position behind it, as every index has.
CREATE INDEX outbox_event_feed ON outbox_event (merchant_id);

-- Foreign keys are not looked after while tables are exchanged, so this stands in for that; it fails the whole migration.
CREATE TEMP TABLE unanswered (references_without_a_row INTEGER NOT NULL CHECK (references_without_a_row = 0)) STRICT;
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('outbox_event');
INSERT INTO unanswered SELECT count(*) FROM pragma_foreign_key_check('outbox_parked');
DROP TABLE unanswered;
