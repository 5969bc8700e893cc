-- The end of the number of the card that an Order was paid with, by which operators look for it with its day. Orders of programs of before have none.
ALTER TABLE purchase_order ADD COLUMN card_last_four TEXT CONSTRAINT purchase_order_card_last_four_digits CHECK (card_last_four GLOB '[0-9][0-9][0-9][0-9]');
CREATE INDEX purchase_order_by_card ON purchase_order (card_last_four, created_at, id) WHERE card_last_four IS NOT NULL;
