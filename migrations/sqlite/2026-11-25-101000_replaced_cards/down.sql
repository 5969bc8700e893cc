-- What waits to be deleted at the processor stays there. A column with a foreign key is not dropped: the table is exchanged, with foreign keys off.
DROP TABLE discarded_credential;
CREATE TABLE contract_credential_new (
    contract_id TEXT NOT NULL CONSTRAINT contract_credential_pkey PRIMARY KEY
        CONSTRAINT contract_credential_contract_fkey REFERENCES contract (id),
    merchant_id TEXT NOT NULL CONSTRAINT contract_credential_merchant_fkey REFERENCES merchant (id),
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    -- Set when nobody may charge it any more: until then at the latest somebody deletes it at its processor.
    delete_at INTEGER
) STRICT;
INSERT INTO contract_credential_new SELECT contract_id, merchant_id, key_id, sealed, delete_at FROM contract_credential;
DROP TABLE contract_credential;
ALTER TABLE contract_credential_new RENAME TO contract_credential;
CREATE INDEX contract_credential_to_delete ON contract_credential (delete_at) WHERE delete_at IS NOT NULL;
