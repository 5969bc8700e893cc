-- The keyed hash of a card number, so that a card which its issuer forbids to try again is known again in the same Session. Kept while the attempt
-- waits for the shopper, and of one that failed for that reason (the domain's rule: a CHECK would stop the programs of before, which do not name it).
ALTER TABLE purchase_order ADD COLUMN card_hash BLOB;
