-- Disputes that the sandbox plays. There is no down.sql, as before.

CREATE TABLE disputes (
    number            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    reference         TEXT    NOT NULL UNIQUE DEFAULT ('sbx_dp_' || lower(hex(randomblob(12)))),
    authorization_key TEXT    NOT NULL UNIQUE REFERENCES authorizations (key),
    state             TEXT    NOT NULL DEFAULT 'NEEDS_RESPONSE'
        CHECK (state IN ('NEEDS_RESPONSE', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED')),
    amount            INTEGER NOT NULL CHECK (amount > 0),
    currency          TEXT    NOT NULL CHECK (length(currency) = 3),
    -- From then on the shopper's bank has told of it; until then nobody hears of it.
    opened_at         INTEGER NOT NULL,
    -- Until then it takes an answer.
    due_at            INTEGER NOT NULL CHECK (due_at > opened_at),
    -- What the answer was given under, and when the bank decides by it. Of the evidence nothing is kept.
    answer_key        TEXT    UNIQUE CHECK (length(answer_key) = 36),
    decided_at        INTEGER,
    decision          TEXT    CHECK (decision IN ('WON', 'LOST') AND (decision IS NULL) = (decided_at IS NULL))
) STRICT;

CREATE TRIGGER disputes_final BEFORE UPDATE ON disputes
    WHEN OLD.state IN ('WON', 'LOST', 'ACCEPTED') OR NEW.number IS NOT OLD.number OR NEW.reference IS NOT OLD.reference
      OR NEW.authorization_key IS NOT OLD.authorization_key OR NEW.amount IS NOT OLD.amount OR NEW.currency IS NOT OLD.currency
      OR NEW.opened_at IS NOT OLD.opened_at OR NEW.due_at IS NOT OLD.due_at
      OR (OLD.answer_key IS NOT NULL AND NEW.answer_key IS NOT OLD.answer_key)
BEGIN
    SELECT RAISE(ABORT, 'what is decided about a dispute stays so');
END;

CREATE TRIGGER disputes_kept BEFORE DELETE ON disputes BEGIN
    SELECT RAISE(ABORT, 'disputes are never deleted');
END;
