-- What the caller wants the shopper to write on a transfer.
ALTER TABLE operations ADD COLUMN payment_reference TEXT;
