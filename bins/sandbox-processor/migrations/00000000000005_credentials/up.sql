-- Stored credentials: cards that are charged again by a reference, and verifications, which charge nothing. There is no down.sql, as before.

-- A verification has the amount zero. SQLite cannot change a CHECK; where one is only loosened it documents this way (lang_altertable.html, the second
-- procedure), which rewrites no row. writable_schema ends with the schema read anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
        'INTEGER CHECK (amount > 0)', 'INTEGER CHECK (amount > 0 OR (amount = 0 AND kind = ''AUTHORIZE'' AND method IS ''CARD''))'),
        'amount > received))', 'amount > received OR amount = 0))')
    WHERE type = 'table' AND name IN ('operations', 'journal');
PRAGMA writable_schema = RESET;

-- What an authorization said of a stored credential, beside its operation; kept so that a repeat can be compared with it.
CREATE TABLE credential_terms (
    key                    TEXT NOT NULL PRIMARY KEY REFERENCES operations (key),
    -- Whose shopper's card it is, in the caller's words. Another merchant's credential is one that does not exist.
    merchant               TEXT NOT NULL CHECK (length(merchant) BETWEEN 1 AND 64),
    -- What the card is stored for, where it is.
    store                  TEXT CHECK (store IN ('ONE_CLICK', 'RECURRING', 'UNSCHEDULED')),
    expiry                 TEXT CHECK ((expiry IS NOT NULL) = (store IS NOT NULL) AND coalesce(expiry, '2099-12') GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
    -- What is paid with, known or not.
    credential             TEXT CHECK ((credential IS NULL) = (store IS NOT NULL) AND coalesce(credential, 'crd_') GLOB 'crd_*'),
    credential_use         TEXT CHECK ((credential_use IS NULL) = (credential IS NULL)
                                       AND coalesce(credential_use, 'FIRST') IN ('FIRST', 'ONE_CLICK', 'RECURRING', 'UNSCHEDULED')),
    linked_transaction_id  TEXT CHECK (linked_transaction_id IS NULL OR credential IS NOT NULL),
    -- The card network's name of this payment.
    network_transaction_id TEXT NOT NULL UNIQUE CHECK (length(network_transaction_id) = 15),
    -- What the issuer said when it declined at once: ISO 8583 field 39, and Mastercard's merchant advice.
    response_code          TEXT CHECK (length(response_code) = 2),
    advice_code            TEXT CHECK (length(advice_code) = 2)
) STRICT;

CREATE INDEX credential_terms_credential ON credential_terms (credential) WHERE credential IS NOT NULL;

CREATE TRIGGER credential_terms_fixed BEFORE UPDATE ON credential_terms BEGIN
    SELECT RAISE(ABORT, 'what was asked stays so');
END;

CREATE TRIGGER credential_terms_kept BEFORE DELETE ON credential_terms BEGIN
    SELECT RAISE(ABORT, 'what was asked is never deleted');
END;

CREATE TRIGGER credential_terms_once BEFORE INSERT ON credential_terms
    WHEN EXISTS (SELECT 1 FROM credential_terms WHERE key = NEW.key OR network_transaction_id = NEW.network_transaction_id)
BEGIN
    SELECT RAISE(ABORT, 'a key is used once');
END;

-- A card that may be charged again. Of the number the last four digits are kept; they tell the published number, and so how it behaves.
CREATE TABLE credentials (
    number     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    reference  TEXT    NOT NULL UNIQUE DEFAULT ('crd_' || lower(hex(randomblob(16)))) CHECK (length(reference) = 36),
    -- The authorization that stored it.
    key        TEXT    NOT NULL UNIQUE REFERENCES credential_terms (key),
    merchant   TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('ONE_CLICK', 'RECURRING', 'UNSCHEDULED')),
    last4      TEXT    NOT NULL CHECK (length(last4) = 4),
    expiry     TEXT    NOT NULL CHECK (expiry GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
    stored_at  INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;

CREATE INDEX credentials_alive ON credentials (merchant, number) WHERE deleted_at IS NULL;

CREATE TRIGGER credentials_fixed BEFORE UPDATE ON credentials
    WHEN OLD.deleted_at IS NOT NULL OR NEW.deleted_at IS NULL
      OR NEW.number IS NOT OLD.number OR NEW.reference IS NOT OLD.reference OR NEW.key IS NOT OLD.key
      OR NEW.merchant IS NOT OLD.merchant OR NEW.kind IS NOT OLD.kind OR NEW.last4 IS NOT OLD.last4
      OR NEW.expiry IS NOT OLD.expiry OR NEW.stored_at IS NOT OLD.stored_at
BEGIN
    SELECT RAISE(ABORT, 'a credential is deleted once, and does not change');
END;

CREATE TRIGGER credentials_kept BEFORE DELETE ON credentials BEGIN
    SELECT RAISE(ABORT, 'a deleted credential leaves its row, so that it is refused and not unknown');
END;

-- A card is stored by an approved authorization that asked for it.
CREATE TRIGGER credentials_approved BEFORE INSERT ON credentials
    WHEN NOT EXISTS (SELECT 1 FROM operations o JOIN credential_terms t ON t.key = o.key
                     WHERE o.key = NEW.key AND o.kind = 'AUTHORIZE' AND o.outcome = 'APPROVED' AND o.last4 = NEW.last4
                       AND t.store = NEW.kind AND t.merchant = NEW.merchant AND t.expiry = NEW.expiry)
      OR EXISTS (SELECT 1 FROM credentials WHERE key = NEW.key OR reference = NEW.reference OR number = NEW.number)
BEGIN
    SELECT RAISE(ABORT, 'only an approved authorization that asked for it stores a card, once');
END;
