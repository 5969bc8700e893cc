-- The audit log: every act of a person, an API user or a command that changes anything, in the transaction of its effect. Programs of before write
-- none.

CREATE TABLE audit_log (
    position BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_log_pkey PRIMARY KEY,
    id UUID NOT NULL CONSTRAINT audit_log_id_key UNIQUE,
    -- NULL for what is the deployment's.
    merchant_id UUID CONSTRAINT audit_log_merchant_fkey REFERENCES merchant (id),
    actor_kind TEXT NOT NULL CONSTRAINT audit_log_actor_known CHECK (actor_kind IN ('MERCHANT', 'OPERATOR', 'COMMAND_LINE', 'SYSTEM')),
    actor_name TEXT,
    address TEXT,
    note TEXT,
    -- Codes of the domain, without a list here: a later version has more, and a log must not refuse an act.
    action TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    -- JSON as text: seals are over the exact bytes.
    value_before TEXT,
    value_after TEXT,
    happened_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT audit_log_actor_named CHECK ((actor_kind = 'SYSTEM') = (actor_name IS NULL))
);
CREATE INDEX audit_log_by_time ON audit_log (happened_at, position);
CREATE INDEX audit_log_by_merchant ON audit_log (merchant_id, happened_at, position);
CREATE INDEX audit_log_by_subject ON audit_log (subject_id, happened_at, position);

-- The seals, one for each entry, chained by merchant. chain_id is the merchant's id, or the nil UUID for the deployment.
CREATE TABLE audit_seal (
    entry_id UUID CONSTRAINT audit_seal_pkey PRIMARY KEY CONSTRAINT audit_seal_entry_fkey REFERENCES audit_log (id),
    chain_id UUID NOT NULL,
    sequence BIGINT NOT NULL CONSTRAINT audit_seal_sequence_from_one CHECK (sequence > 0),
    key_id TEXT NOT NULL,
    mac BYTEA NOT NULL CONSTRAINT audit_seal_mac_length CHECK (octet_length(mac) = 32),
    sealed_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT audit_seal_chain_key UNIQUE (chain_id, sequence)
);

-- What waits for its seal.
CREATE TABLE audit_unsealed (
    position BIGINT CONSTRAINT audit_unsealed_pkey PRIMARY KEY
);

-- The one that seals. Whoever takes over counts the epoch up, and one of an older epoch writes nothing any more.
CREATE TABLE audit_sealer (
    id INTEGER CONSTRAINT audit_sealer_pkey PRIMARY KEY CONSTRAINT audit_sealer_single CHECK (id = 1),
    epoch BIGINT NOT NULL,
    lease_until TIMESTAMPTZ NOT NULL
);
INSERT INTO audit_sealer (id, epoch, lease_until) VALUES (1, 0, '1970-01-01T00:00:00Z');

CREATE FUNCTION dropin_queue_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_unsealed (position) VALUES (NEW.position);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_log_queued AFTER INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION dropin_queue_audit_entry();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION dropin_refuse_change();
CREATE TRIGGER audit_seal_append_only BEFORE UPDATE OR DELETE ON audit_seal FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();
CREATE TRIGGER audit_seal_no_truncate BEFORE TRUNCATE ON audit_seal FOR EACH STATEMENT EXECUTE FUNCTION dropin_refuse_change();
