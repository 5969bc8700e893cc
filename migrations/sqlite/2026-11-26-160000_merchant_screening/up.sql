-- Whether a merchant's payments are screened, and its own rules of screening. Merchants of before are not screened until an operator says so: an upgrade
-- begins to decline nobody's payments.

ALTER TABLE merchant ADD COLUMN screening INTEGER NOT NULL DEFAULT 0
    CONSTRAINT merchant_screening_boolean CHECK (screening IN (0, 1));
-- Counts every change of the rules, so that no reader takes older ones for newer ones.
ALTER TABLE merchant ADD COLUMN screening_rules_revision INTEGER NOT NULL DEFAULT 0
    CONSTRAINT merchant_screening_rules_revision_counts CHECK (0 <= screening_rules_revision);

-- Apart from the merchant, which is read all the time: a text has up to 256 KiB.
CREATE TABLE merchant_screening_rules (
    merchant_id TEXT NOT NULL CONSTRAINT merchant_screening_rules_pkey PRIMARY KEY
        CONSTRAINT merchant_screening_rules_merchant_fkey REFERENCES merchant (id),
    rules TEXT NOT NULL
) STRICT;
