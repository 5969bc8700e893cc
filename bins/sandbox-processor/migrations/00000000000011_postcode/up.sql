-- Whether a postcode was sent for the card's issuer to compare; the postcode itself is not kept. There is no down.sql, as before.

DROP TRIGGER operations_final;

-- Kept so that a repeat can be compared with it, and the answer given again.
ALTER TABLE operations ADD COLUMN has_postcode INTEGER NOT NULL DEFAULT 0
    CONSTRAINT operations_has_postcode CHECK (has_postcode IN (0, 1) AND (has_postcode = 0 OR kind = 'AUTHORIZE'));

-- As before, but for the new column.
CREATE TRIGGER operations_final BEFORE UPDATE ON operations
    WHEN OLD.outcome <> 'PENDING' OR NEW.outcome = 'ABANDONED'
      OR NEW.key IS NOT OLD.key OR NEW.reference IS NOT OLD.reference OR NEW.kind IS NOT OLD.kind
      OR NEW.amount IS NOT OLD.amount OR NEW.currency IS NOT OLD.currency OR NEW.order_id IS NOT OLD.order_id
      OR NEW.authorization_key IS NOT OLD.authorization_key OR NEW.last4 IS NOT OLD.last4
      OR NEW.method IS NOT OLD.method OR NEW.return_url IS NOT OLD.return_url
      OR NEW.shopper_country IS NOT OLD.shopper_country OR NEW.review_allowed IS NOT OLD.review_allowed
      OR NEW.challenge IS NOT OLD.challenge OR NEW.has_code IS NOT OLD.has_code OR NEW.exemption IS NOT OLD.exemption
      OR NEW.scheme IS NOT OLD.scheme OR NEW.has_postcode IS NOT OLD.has_postcode
      OR NEW.under_review < OLD.under_review
      OR NEW.page_token IS NOT OLD.page_token OR NEW.form_token IS NOT OLD.form_token
      OR NEW.received < OLD.received
      OR (NEW.outcome = 'PENDING' AND NOT (OLD.stage IS 'PAGE' AND NEW.stage IS 'REVIEW')
          AND NOT (OLD.stage IS 'TRANSFER' AND NEW.stage IS 'TRANSFER' AND NEW.received > OLD.received))
BEGIN
    SELECT RAISE(ABORT, 'only a pending operation changes, and only forward');
END;
