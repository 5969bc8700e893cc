-- A new card takes the place of a contract's. A program of before writes no order_id, and forgets what it replaces.

-- The Order whose authorization stored it; the first Order of a contract opened it.
ALTER TABLE contract_credential
    ADD COLUMN order_id UUID CONSTRAINT contract_credential_order_fkey REFERENCES purchase_order (id);
UPDATE contract_credential SET order_id =
    (SELECT id FROM purchase_order WHERE purchase_order.contract_id = contract_credential.contract_id ORDER BY created_at, id LIMIT 1);

-- Credentials that never were or are no more what a contract is charged by, until they are deleted at their processor.
CREATE TABLE discarded_credential (
    -- The Order whose authorization stored it.
    order_id UUID CONSTRAINT discarded_credential_pkey PRIMARY KEY
        CONSTRAINT discarded_credential_order_fkey REFERENCES purchase_order (id),
    contract_id UUID NOT NULL CONSTRAINT discarded_credential_contract_fkey REFERENCES contract (id),
    merchant_id UUID NOT NULL CONSTRAINT discarded_credential_merchant_fkey REFERENCES merchant (id),
    key_id TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    delete_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX discarded_credential_to_delete ON discarded_credential (delete_at);
