-- What the shopper writes on a transfer, and our page that shows a checkout's shopper where to transfer the money to.
ALTER TABLE purchase_order ADD COLUMN transfer_reference TEXT;
ALTER TABLE purchase_order ADD COLUMN transfer_page TEXT;
-- An Order never comes back to PROCESSING, so that only a new one can be refused.
CREATE UNIQUE INDEX purchase_order_open_transfer_key ON purchase_order (merchant_id, transfer_reference)
    WHERE transfer_reference IS NOT NULL AND state = 'PROCESSING';
