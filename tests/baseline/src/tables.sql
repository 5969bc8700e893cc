-- A Session and its billing profile as simply as they can be kept; 2,000 of them have known ids, to be looked for.
CREATE TABLE profile (
    id UUID PRIMARY KEY,
    merchant_id UUID NOT NULL,
    details JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE session (
    id UUID PRIMARY KEY,
    merchant_id UUID NOT NULL,
    reference TEXT NOT NULL,
    state TEXT NOT NULL,
    currency TEXT NOT NULL,
    total_minor BIGINT NOT NULL,
    profile_id UUID NOT NULL REFERENCES profile (id),
    terms JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (merchant_id, reference)
);
INSERT INTO profile (id, merchant_id, details)
    SELECT lpad(to_hex(number), 32, '0')::uuid, '00000000-0000-0000-0000-000000000000', :'details' FROM generate_series(1, 2000) AS number;
INSERT INTO session (id, merchant_id, reference, state, currency, total_minor, profile_id, terms)
    SELECT id, merchant_id, 'known-' || id, 'CREATED', 'USD', 4089, id, :'terms' FROM profile;
VACUUM ANALYZE;
