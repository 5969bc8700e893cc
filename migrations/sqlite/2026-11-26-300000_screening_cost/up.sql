-- Counting a try writes fewer and smaller rows. Programs of before cannot count beside this one: their payments go on without counts.

-- How often something was seen lately: one row holds all windows of a key. A merchant's own row is named by its id; every change of a row of the
-- merchant's changes that one, too.
CREATE TABLE velocity_counter (
    -- The first half of a hash that is keyed outside the database.
    hash BLOB NOT NULL CONSTRAINT velocity_counter_pkey PRIMARY KEY,
    counts BLOB NOT NULL,
    -- Counts up with each write.
    revision INTEGER NOT NULL,
    -- From then on nothing of it counts.
    counts_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX velocity_counter_over ON velocity_counter (counts_until);
INSERT OR IGNORE INTO velocity_counter (hash, counts, revision, counts_until)
    SELECT substr(hash, 1, 16), counts, revision, counts_until FROM velocity_count WHERE kind NOT IN ('MERCHANT', 'SESSION');
DROP TABLE velocity_count;

-- A Session is counted by its tries.
ALTER TABLE payment_try ADD COLUMN session_hash BLOB;
ALTER TABLE payment_try ADD COLUMN amount_cents INTEGER;
CREATE INDEX payment_try_by_session ON payment_try (session_hash) WHERE session_hash IS NOT NULL;

-- What was counted for a payment stands beside the other facts, packed.
ALTER TABLE screening ADD COLUMN velocity BLOB;
