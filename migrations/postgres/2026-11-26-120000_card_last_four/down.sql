DROP INDEX purchase_order_by_card;
ALTER TABLE purchase_order DROP COLUMN card_last_four;
