-- Counting a try writes fewer and smaller rows. Programs of before cannot count beside this one: their payments go on without counts.

-- In one order, before anything else: programs of before lock the first two one after the other.
LOCK TABLE payment_try, velocity_count, screening, merchant IN ACCESS EXCLUSIVE MODE;

-- How often something was seen lately: one row holds all windows of a key. A merchant's own row is named by its id; every change of a row of the
-- merchant's changes that one, too.
CREATE TABLE velocity_counter (
    -- The first half of a hash that is keyed outside the database.
    hash BYTEA CONSTRAINT velocity_counter_pkey PRIMARY KEY,
    counts BYTEA NOT NULL,
    -- Counts up with each write.
    revision BIGINT NOT NULL,
    -- From then on nothing of it counts.
    counts_until TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
-- A busy row is written with every payment: neither compressed nor moved elsewhere, and never above 4 KiB.
ALTER TABLE velocity_counter ALTER COLUMN counts SET STORAGE PLAIN;
CREATE INDEX velocity_counter_over ON velocity_counter (counts_until);
INSERT INTO velocity_counter (hash, counts, revision, counts_until)
    SELECT substring(hash FROM 1 FOR 16), counts, revision, counts_until FROM velocity_count WHERE kind NOT IN ('MERCHANT', 'SESSION')
    ON CONFLICT (hash) DO NOTHING;
DROP TABLE velocity_count;

-- A Session is counted by its tries.
ALTER TABLE payment_try ADD COLUMN session_hash BYTEA, ADD COLUMN amount_cents BIGINT;
CREATE INDEX payment_try_by_session ON payment_try (session_hash) WHERE session_hash IS NOT NULL;

-- What was counted for a payment stands beside the other facts, packed.
ALTER TABLE screening ADD COLUMN velocity BYTEA, DROP CONSTRAINT screening_merchant_fkey;
