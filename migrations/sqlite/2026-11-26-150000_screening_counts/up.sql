-- What payments are screened by. Programs of before neither write nor read any of this.

-- How often something was seen lately: one row holds all windows of a key. The hash is keyed outside the database.
CREATE TABLE velocity_count (
    merchant_id TEXT NOT NULL,
    kind TEXT NOT NULL CONSTRAINT velocity_count_kind_known CHECK (kind IN ('CARD', 'DEVICE', 'IP', 'NETWORK', 'EMAIL', 'PROFILE', 'SESSION', 'MERCHANT')),
    hash BLOB NOT NULL,
    counts BLOB NOT NULL,
    -- Counts up with each write.
    revision INTEGER NOT NULL CONSTRAINT velocity_count_revision_positive CHECK (revision > 0),
    -- From then on nothing of it counts.
    counts_until INTEGER NOT NULL,
    CONSTRAINT velocity_count_pkey PRIMARY KEY (merchant_id, kind, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX velocity_count_over ON velocity_count (counts_until);

-- Tries that were counted, for as long as what becomes of them is counted.
CREATE TABLE payment_try (
    order_id TEXT NOT NULL CONSTRAINT payment_try_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL,
    tried_at INTEGER NOT NULL,
    state TEXT NOT NULL CONSTRAINT payment_try_state_known CHECK (state IN ('TRIED', 'BLOCKED', 'CHALLENGED', 'DECLINED', 'PAID')),
    -- Kinds and hashes of what it was counted by.
    keys BLOB NOT NULL
) STRICT;
CREATE INDEX payment_try_over ON payment_try (tried_at);

-- Profiles and browsers that have paid at a merchant.
CREATE TABLE known_shopper (
    merchant_id TEXT NOT NULL CONSTRAINT known_shopper_merchant_fkey REFERENCES merchant (id),
    hash BLOB NOT NULL,
    first_paid_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    CONSTRAINT known_shopper_pkey PRIMARY KEY (merchant_id, hash)
) STRICT;
CREATE INDEX known_shopper_seen ON known_shopper (seen_at);

-- What screening made of each Order. Both texts are JSON.
CREATE TABLE screening (
    order_id TEXT NOT NULL CONSTRAINT screening_pkey PRIMARY KEY
        CONSTRAINT screening_order_fkey REFERENCES purchase_order (id),
    merchant_id TEXT NOT NULL CONSTRAINT screening_merchant_fkey REFERENCES merchant (id),
    -- When the Order was created.
    ordered_at INTEGER NOT NULL,
    -- Decision, score, reasons and rules.
    verdict TEXT NOT NULL,
    -- What was known of the payment, until that is deleted.
    facts TEXT
) STRICT;
CREATE INDEX screening_by_merchant ON screening (merchant_id, ordered_at) WHERE facts IS NOT NULL;
CREATE INDEX screening_with_facts ON screening (ordered_at) WHERE facts IS NOT NULL;
