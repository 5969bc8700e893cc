-- What a merchant shows the wallet's provider: certificate and private key together, sealed under the master key.
CREATE TABLE wallet_identity (
    merchant_id UUID
        CONSTRAINT wallet_identity_pkey PRIMARY KEY
        CONSTRAINT wallet_identity_merchant_fkey REFERENCES merchant (id),
    merchant_identifier TEXT NOT NULL,
    country TEXT NOT NULL CONSTRAINT wallet_identity_country_code CHECK (country ~ '^[A-Z]{2}$'),
    sealed BYTEA NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    set_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX wallet_identity_by_expiry ON wallet_identity (expires_at);

-- Where a merchant shows the wallet's button, with the file that proves the domain is its own.
CREATE TABLE wallet_domain (
    merchant_id UUID NOT NULL CONSTRAINT wallet_domain_merchant_fkey REFERENCES merchant (id),
    domain TEXT NOT NULL,
    file TEXT NOT NULL,
    state TEXT NOT NULL CONSTRAINT wallet_domain_state_known CHECK (state IN ('REGISTERED', 'VERIFIED', 'FAILED')),
    checked_at TIMESTAMPTZ
        CONSTRAINT wallet_domain_checked_whole CHECK ((checked_at IS NULL) = (state = 'REGISTERED')),
    failure TEXT CONSTRAINT wallet_domain_failure_whole CHECK ((failure IS NULL) = (state <> 'FAILED')),
    registered_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT wallet_domain_pkey PRIMARY KEY (merchant_id, domain)
);
CREATE INDEX wallet_domain_by_name ON wallet_domain (domain, registered_at);
