-- Facts without their counts are no facts.
UPDATE screening SET facts = NULL WHERE velocity IS NOT NULL;
ALTER TABLE screening DROP COLUMN velocity;
DROP INDEX payment_try_by_session;
ALTER TABLE payment_try DROP COLUMN session_hash;
ALTER TABLE payment_try DROP COLUMN amount_cents;
DROP TABLE velocity_counter;
CREATE TABLE velocity_count (
    merchant_id TEXT NOT NULL,
    kind TEXT NOT NULL CONSTRAINT velocity_count_kind_known CHECK (kind IN ('CARD', 'DEVICE', 'IP', 'NETWORK', 'EMAIL', 'PROFILE', 'SESSION', 'MERCHANT')),
    hash BLOB NOT NULL,
    counts BLOB NOT NULL,
    revision INTEGER NOT NULL CONSTRAINT velocity_count_revision_positive CHECK (revision > 0),
    counts_until INTEGER NOT NULL,
    CONSTRAINT velocity_count_pkey PRIMARY KEY (merchant_id, kind, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX velocity_count_over ON velocity_count (counts_until);
