ALTER TABLE purchase_order DROP COLUMN card_hash;
