-- The deployment that the database belongs to, in one row: its mode and which master key its secrets were made with, both written by the first
-- program that starts. written_at is updated to prove that a write works.
CREATE TABLE deployment (
    id INTEGER CONSTRAINT deployment_pkey PRIMARY KEY CONSTRAINT deployment_single CHECK (id = 1),
    mode TEXT CONSTRAINT deployment_mode_known CHECK (mode IN ('SANDBOX', 'PRODUCTION')),
    master_key TEXT,
    written_at TIMESTAMPTZ
);
INSERT INTO deployment (id) VALUES (1);
