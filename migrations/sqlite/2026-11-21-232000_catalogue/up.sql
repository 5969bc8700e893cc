-- What is particular about the payment methods that a merchant offers: which it does not, where it narrows them, its client ids with the
-- pay-later provider. NULL where nothing is.
ALTER TABLE merchant ADD COLUMN methods TEXT CONSTRAINT merchant_methods_object CHECK (json_type(methods) = 'object');
