-- Ways to pay that need the shopper, or time: hosted pages, a provider's review, bank transfers. There is no down.sql, as before.

DROP TRIGGER operations_final;
DROP TRIGGER operations_once;
DROP TRIGGER journal_no_update;
DROP TRIGGER journal_no_replace;
DROP INDEX journal_one_pending;

-- None in a tombstone, and in what was declined because its authorization is unknown: nothing named one.
ALTER TABLE operations ADD COLUMN method TEXT DEFAULT 'CARD'
    CONSTRAINT operations_method CHECK (method IN ('CARD', 'PAYPAL', 'IDEAL', 'PAYLATER', 'BANKTRANSFER'));
UPDATE operations SET method = NULL WHERE outcome = 'ABANDONED';

-- What the caller said, kept so that a repeat can be compared with it.
ALTER TABLE operations ADD COLUMN return_url TEXT
    CONSTRAINT operations_return_url CHECK (return_url IS NULL OR kind = 'AUTHORIZE');
ALTER TABLE operations ADD COLUMN shopper_country TEXT
    CONSTRAINT operations_shopper_country CHECK (shopper_country IS NULL OR (kind = 'AUTHORIZE' AND length(shopper_country) = 2));
ALTER TABLE operations ADD COLUMN review_allowed INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operations_review_allowed CHECK (review_allowed IN (0, 1));

-- Approved, and somebody at the shop should look at it before it captures.
ALTER TABLE operations ADD COLUMN under_review INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operations_under_review CHECK (under_review IN (0, 1)
        AND (under_review = 0 OR (kind = 'AUTHORIZE' AND outcome = 'APPROVED' AND review_allowed = 1)));

-- What a pending authorization waits for: the shopper on a page, the provider, or money.
ALTER TABLE operations ADD COLUMN stage TEXT
    CONSTRAINT operations_stage CHECK ((stage IS NOT NULL) = (kind = 'AUTHORIZE' AND outcome = 'PENDING')
        AND coalesce(stage, 'PAGE') IN ('PAGE', 'REVIEW', 'TRANSFER'));

-- What has arrived of a bank transfer so far, in minor units; it is approved when it is all there.
ALTER TABLE operations ADD COLUMN received INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operations_received CHECK (received >= 0
        AND (received = 0 OR (kind = 'AUTHORIZE' AND method IS 'BANKTRANSFER'))
        AND (outcome <> 'APPROVED' OR kind <> 'AUTHORIZE' OR method IS NOT 'BANKTRANSFER' OR received >= amount)
        AND (outcome <> 'PENDING' OR amount > received));

-- The page's address, and what its forms must carry. Neither can be guessed, and neither is the key.
ALTER TABLE operations ADD COLUMN page_token TEXT
    CONSTRAINT operations_page_token CHECK ((page_token IS NULL OR length(page_token) = 32)
        AND (stage IS NULL OR page_token IS NOT NULL));
ALTER TABLE operations ADD COLUMN form_token TEXT
    CONSTRAINT operations_form_token CHECK ((form_token IS NULL) = (page_token IS NULL)
        AND (form_token IS NULL OR form_token <> page_token));

CREATE UNIQUE INDEX operations_one_page ON operations (page_token) WHERE page_token IS NOT NULL;

CREATE TRIGGER operations_final BEFORE UPDATE ON operations
    WHEN OLD.outcome <> 'PENDING' OR NEW.outcome = 'ABANDONED'
      OR NEW.key IS NOT OLD.key OR NEW.reference IS NOT OLD.reference OR NEW.kind IS NOT OLD.kind
      OR NEW.amount IS NOT OLD.amount OR NEW.currency IS NOT OLD.currency OR NEW.order_id IS NOT OLD.order_id
      OR NEW.authorization_key IS NOT OLD.authorization_key OR NEW.last4 IS NOT OLD.last4
      OR NEW.method IS NOT OLD.method OR NEW.return_url IS NOT OLD.return_url
      OR NEW.shopper_country IS NOT OLD.shopper_country OR NEW.review_allowed IS NOT OLD.review_allowed
      OR NEW.under_review IS NOT OLD.under_review
      OR NEW.page_token IS NOT OLD.page_token OR NEW.form_token IS NOT OLD.form_token
      OR NEW.received < OLD.received
      -- What stays pending goes forward: into review, or more of the money has arrived.
      OR (NEW.outcome = 'PENDING' AND NOT (OLD.stage IS 'PAGE' AND NEW.stage IS 'REVIEW')
          AND NOT (OLD.stage IS 'TRANSFER' AND NEW.stage IS 'TRANSFER' AND NEW.received > OLD.received))
BEGIN
    SELECT RAISE(ABORT, 'only a pending operation changes, and only forward');
END;

CREATE TRIGGER operations_once BEFORE INSERT ON operations
    WHEN EXISTS (SELECT 1 FROM operations WHERE key = NEW.key OR reference = NEW.reference OR page_token = NEW.page_token)
      OR (NEW.method IS NULL AND NEW.outcome IN ('APPROVED', 'PENDING'))
BEGIN
    SELECT RAISE(ABORT, 'a key is used once, and what is done has a method');
END;

-- Money is booked for an authorization that was approved, and is taken at once where the method pays at once.
CREATE TRIGGER authorizations_approved BEFORE INSERT ON authorizations
    WHEN NOT EXISTS (SELECT 1 FROM operations
                     WHERE key = NEW.key AND kind = 'AUTHORIZE' AND outcome = 'APPROVED'
                       AND amount = NEW.authorized AND currency = NEW.currency
                       AND (method NOT IN ('IDEAL', 'BANKTRANSFER') OR NEW.captured = NEW.authorized))
BEGIN
    SELECT RAISE(ABORT, 'only an approved authorization has money, and one that pays at once has all of it');
END;

ALTER TABLE journal ADD COLUMN method TEXT DEFAULT 'CARD';
UPDATE journal SET method = NULL WHERE outcome = 'ABANDONED';
ALTER TABLE journal ADD COLUMN stage TEXT;
ALTER TABLE journal ADD COLUMN received INTEGER NOT NULL DEFAULT 0;

-- While an operation is pending it reaches each stage, and each sum of money, once.
CREATE UNIQUE INDEX journal_one_pending ON journal (key, coalesce(stage, ''), received) WHERE outcome = 'PENDING';

CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;

CREATE TRIGGER journal_no_replace BEFORE INSERT ON journal
    WHEN EXISTS (SELECT 1 FROM journal
                 WHERE number = NEW.number
                    OR (key = NEW.key AND outcome <> 'PENDING')
                    OR (key = NEW.key AND outcome = NEW.outcome AND stage IS NEW.stage AND received = NEW.received))
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only, with one entry for one key and effect');
END;
