DROP INDEX purchase_order_open_transfer_key;
ALTER TABLE purchase_order DROP COLUMN transfer_page;
ALTER TABLE purchase_order DROP COLUMN transfer_reference;
