DROP TABLE merchant_screening_rules;
ALTER TABLE merchant DROP COLUMN screening_rules_revision;
ALTER TABLE merchant DROP COLUMN screening;
