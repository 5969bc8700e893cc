-- Accounts that merchants have of their own at the deployment's processors: key and secrets of events together, sealed under the master key.
CREATE TABLE processor_account (
    id TEXT NOT NULL CONSTRAINT processor_account_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL CONSTRAINT processor_account_merchant_fkey REFERENCES merchant (id),
    -- The name that operations, stored cards and disputes keep: the processor's, a dot and a word.
    processor TEXT NOT NULL
        CONSTRAINT processor_account_processor_key UNIQUE
        CONSTRAINT processor_account_processor_length CHECK (length(processor) BETWEEN 3 AND 32),
    -- The processor's own id of the account.
    account TEXT NOT NULL
        CONSTRAINT processor_account_account_key UNIQUE
        CONSTRAINT processor_account_account_length CHECK (length(account) BETWEEN 1 AND 255),
    has_events INTEGER NOT NULL CHECK (has_events IN (0, 1)),
    sealed BLOB NOT NULL,
    set_at INTEGER NOT NULL,
    -- No payment begins there any more; the key goes once what had begun is written down, and the row keeps the name.
    removed_at INTEGER
) STRICT;
CREATE INDEX processor_account_by_merchant ON processor_account (merchant_id, processor);
