ALTER TABLE operations DROP COLUMN payment_reference;
