-- What waits to be deleted at the processor stays there.
DROP TABLE discarded_credential;
ALTER TABLE contract_credential DROP COLUMN order_id;
