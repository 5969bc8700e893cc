-- Facts without their counts are no facts.
UPDATE screening SET facts = NULL WHERE velocity IS NOT NULL;
ALTER TABLE screening DROP COLUMN velocity,
    ADD CONSTRAINT screening_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
DROP INDEX payment_try_by_session;
ALTER TABLE payment_try DROP COLUMN session_hash, DROP COLUMN amount_cents;
DROP TABLE velocity_counter;
CREATE TABLE velocity_count (
    merchant_id UUID NOT NULL,
    kind TEXT NOT NULL CONSTRAINT velocity_count_kind_known CHECK (kind IN ('CARD', 'DEVICE', 'IP', 'NETWORK', 'EMAIL', 'PROFILE', 'SESSION', 'MERCHANT')),
    hash BYTEA NOT NULL,
    counts BYTEA NOT NULL,
    revision BIGINT NOT NULL CONSTRAINT velocity_count_revision_positive CHECK (revision > 0),
    counts_until TIMESTAMPTZ NOT NULL,
    CONSTRAINT velocity_count_pkey PRIMARY KEY (merchant_id, kind, hash)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE velocity_count ALTER COLUMN counts SET STORAGE PLAIN;
CREATE INDEX velocity_count_over ON velocity_count (counts_until);
