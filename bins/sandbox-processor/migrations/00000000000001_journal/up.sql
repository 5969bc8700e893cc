-- The sandbox processor's books. Amounts are integers in the currency's minor unit; instants are microseconds since 1970.
-- There is no down.sql: a journal that can be taken back is none.

-- What was asked under a key, and what became of it. The key is the caller's idempotency key.
CREATE TABLE operations (
    key               TEXT    NOT NULL PRIMARY KEY CHECK (length(key) = 36 AND key = lower(key)),
    reference         TEXT    NOT NULL UNIQUE DEFAULT ('sbx_' || lower(hex(randomblob(12)))),
    kind              TEXT    NOT NULL CHECK (kind IN ('AUTHORIZE', 'CAPTURE', 'VOID', 'REFUND')),
    outcome           TEXT    NOT NULL CHECK (outcome IN ('APPROVED', 'DECLINED', 'PENDING', 'ABANDONED')),
    reason            TEXT    CHECK ((reason IS NOT NULL) = (outcome = 'DECLINED')),
    retryable         INTEGER CHECK ((retryable IS NOT NULL) = (outcome = 'DECLINED') AND coalesce(retryable, 0) IN (0, 1)),
    amount            INTEGER CHECK (amount > 0),
    currency          TEXT    CHECK ((currency IS NULL) = (amount IS NULL) AND length(coalesce(currency, 'XXX')) = 3),
    order_id          TEXT,
    authorization_key TEXT    CHECK (length(authorization_key) = 36),
    last4             TEXT    CHECK (length(last4) = 4),
    due_at            INTEGER CHECK ((due_at IS NOT NULL) = (outcome = 'PENDING')),
    due_outcome       TEXT    CHECK ((due_outcome IS NOT NULL) = (outcome = 'PENDING')
                                     AND coalesce(due_outcome, 'APPROVED') IN ('APPROVED', 'DECLINED')),
    CHECK (outcome IN ('DECLINED', 'ABANDONED') OR amount IS NOT NULL),
    CHECK (outcome <> 'ABANDONED' OR (amount IS NULL AND authorization_key IS NULL AND last4 IS NULL)),
    CHECK (outcome = 'ABANDONED' OR (kind = 'AUTHORIZE') = (authorization_key IS NULL))
) STRICT;

CREATE INDEX operations_due ON operations (due_at) WHERE due_at IS NOT NULL;

-- An authorization is used up by one capture (whatever its amount) or by one void, never by two of them.
CREATE UNIQUE INDEX operations_one_use ON operations (authorization_key)
    WHERE kind IN ('CAPTURE', 'VOID') AND outcome IN ('APPROVED', 'PENDING');

CREATE TRIGGER operations_final BEFORE UPDATE ON operations
    WHEN OLD.outcome <> 'PENDING' OR NEW.outcome NOT IN ('APPROVED', 'DECLINED')
      OR NEW.key IS NOT OLD.key OR NEW.reference IS NOT OLD.reference OR NEW.kind IS NOT OLD.kind
      OR NEW.amount IS NOT OLD.amount OR NEW.currency IS NOT OLD.currency OR NEW.order_id IS NOT OLD.order_id
      OR NEW.authorization_key IS NOT OLD.authorization_key OR NEW.last4 IS NOT OLD.last4
BEGIN
    SELECT RAISE(ABORT, 'only a pending operation changes, and only its outcome');
END;

CREATE TRIGGER operations_kept BEFORE DELETE ON operations BEGIN
    SELECT RAISE(ABORT, 'operations are never deleted');
END;

-- INSERT OR REPLACE deletes without asking the delete trigger.
CREATE TRIGGER operations_once BEFORE INSERT ON operations
    WHEN EXISTS (SELECT 1 FROM operations WHERE key = NEW.key OR reference = NEW.reference)
BEGIN
    SELECT RAISE(ABORT, 'a key is used once');
END;

-- The money of one approved authorization.
CREATE TABLE authorizations (
    key             TEXT    NOT NULL PRIMARY KEY REFERENCES operations (key),
    scenario        TEXT    NOT NULL,
    currency        TEXT    NOT NULL CHECK (length(currency) = 3),
    authorized      INTEGER NOT NULL CHECK (authorized > 0),
    captured        INTEGER NOT NULL DEFAULT 0 CHECK (captured >= 0),
    capture_pending INTEGER NOT NULL DEFAULT 0 CHECK (capture_pending >= 0),
    refunded        INTEGER NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    refund_pending  INTEGER NOT NULL DEFAULT 0 CHECK (refund_pending >= 0),
    voided          INTEGER NOT NULL DEFAULT 0 CHECK (voided IN (0, 1)),
    CHECK (captured + capture_pending <= authorized),
    CHECK (refunded + refund_pending <= captured),
    CHECK (voided = 0 OR captured + capture_pending = 0)
) STRICT;

CREATE TRIGGER authorizations_fixed BEFORE UPDATE ON authorizations
    WHEN NEW.key IS NOT OLD.key OR NEW.scenario IS NOT OLD.scenario OR NEW.currency IS NOT OLD.currency
      OR NEW.authorized IS NOT OLD.authorized OR NEW.captured < OLD.captured OR NEW.refunded < OLD.refunded
      OR NEW.voided < OLD.voided
BEGIN
    SELECT RAISE(ABORT, 'what was authorized, captured, refunded or voided stays so');
END;

CREATE TRIGGER authorizations_kept BEFORE DELETE ON authorizations BEGIN
    SELECT RAISE(ABORT, 'authorizations are never deleted');
END;

-- What happened, in order: one row per effect or change of outcome, written in the transaction that makes it.
CREATE TABLE journal (
    number            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at                INTEGER NOT NULL,
    key               TEXT    NOT NULL REFERENCES operations (key),
    kind              TEXT    NOT NULL,
    outcome           TEXT    NOT NULL,
    amount            INTEGER CHECK (amount > 0),
    currency          TEXT,
    order_id          TEXT,
    authorization_key TEXT,
    last4             TEXT
) STRICT;

CREATE UNIQUE INDEX journal_one_pending ON journal (key) WHERE outcome = 'PENDING';
CREATE UNIQUE INDEX journal_one_final ON journal (key) WHERE outcome <> 'PENDING';

CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_no_replace BEFORE INSERT ON journal
    WHEN EXISTS (SELECT 1 FROM journal
                 WHERE number = NEW.number
                    OR (key = NEW.key AND (outcome = 'PENDING') = (NEW.outcome = 'PENDING')))
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only, with one entry for one key and effect');
END;
