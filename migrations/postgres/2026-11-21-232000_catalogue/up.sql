-- What is particular about the payment methods that a merchant offers: which it does not, where it narrows them, its client ids with the
-- pay-later provider. NULL where nothing is.
ALTER TABLE merchant ADD COLUMN methods JSONB CONSTRAINT merchant_methods_object CHECK (jsonb_typeof(methods) = 'object');
