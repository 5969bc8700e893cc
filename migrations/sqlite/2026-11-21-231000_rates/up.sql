-- Exchange rates: what a merchant is offered, what the feed said, and the offers that were made.

-- A merchant without a row has spot rates, is settled in euros and adds nothing to any rate.
CREATE TABLE merchant_rates (
    merchant_id TEXT CONSTRAINT merchant_rates_pkey PRIMARY KEY CONSTRAINT merchant_rates_merchant_fkey REFERENCES merchant (id),
    form TEXT NOT NULL CONSTRAINT merchant_rates_form_known CHECK (form IN ('SPOT', 'GUARANTEED')),
    settlement_currency TEXT NOT NULL CONSTRAINT merchant_rates_currency_code CHECK (settlement_currency GLOB '[A-Z][A-Z][A-Z]'),
    -- Basis points by currency.
    markups TEXT NOT NULL
) STRICT;

-- The tables of rates that were accepted; the newest is in force. Appended only when something in it changed.
CREATE TABLE rate_table (
    position INTEGER CONSTRAINT rate_table_pkey PRIMARY KEY AUTOINCREMENT,
    document TEXT NOT NULL,
    accepted_at INTEGER NOT NULL
) STRICT;
CREATE TRIGGER rate_table_no_update BEFORE UPDATE ON rate_table BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_table_append_only');
END;
CREATE TRIGGER rate_table_no_delete BEFORE DELETE ON rate_table BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_table_append_only');
END;

-- How the feed was found when it was looked at last; one row.
CREATE TABLE rate_feed (
    id INTEGER CONSTRAINT rate_feed_pkey PRIMARY KEY CONSTRAINT rate_feed_single CHECK (id = 1),
    checked_at INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    -- When the table in force is too old to guarantee anything by it; never, when it holds rates without a day only.
    stale_at INTEGER,
    -- Currencies whose rates are so much older than the rest that they count as missing.
    left_behind TEXT NOT NULL,
    -- Why nothing could be read, for whoever runs this.
    problem TEXT,
    -- Rates that jumped too far to be believed.
    refused TEXT NOT NULL
) STRICT;

-- A merchant's sets of offers, counted from one: two who make the next one at once want the same number, and one of them gets it.
CREATE TABLE rate_offer_set (
    merchant_id TEXT NOT NULL CONSTRAINT rate_offer_set_merchant_fkey REFERENCES merchant (id),
    number INTEGER NOT NULL CONSTRAINT rate_offer_set_from_one CHECK (number > 0),
    settlement_currency TEXT NOT NULL CONSTRAINT rate_offer_set_currency_code CHECK (settlement_currency GLOB '[A-Z][A-Z][A-Z]'),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    CONSTRAINT rate_offer_set_pkey PRIMARY KEY (merchant_id, number),
    CONSTRAINT rate_offer_set_lives CHECK (created_at < expires_at)
) STRICT;
CREATE TRIGGER rate_offer_set_no_update BEFORE UPDATE ON rate_offer_set BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_offer_set_append_only');
END;
CREATE TRIGGER rate_offer_set_no_delete BEFORE DELETE ON rate_offer_set BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_offer_set_append_only');
END;

-- Kept for ever: a refund uses the rate of the sale.
CREATE TABLE rate_offer (
    id TEXT CONSTRAINT rate_offer_pkey PRIMARY KEY,
    merchant_id TEXT NOT NULL,
    set_number INTEGER NOT NULL,
    currency TEXT NOT NULL CONSTRAINT rate_offer_currency_code CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
    -- An exact decimal.
    rate TEXT NOT NULL CONSTRAINT rate_offer_rate_some CHECK (rate <> ''),
    CONSTRAINT rate_offer_set_fkey FOREIGN KEY (merchant_id, set_number) REFERENCES rate_offer_set (merchant_id, number),
    CONSTRAINT rate_offer_once UNIQUE (merchant_id, set_number, currency)
) STRICT;
CREATE TRIGGER rate_offer_no_update BEFORE UPDATE ON rate_offer BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_offer_append_only');
END;
CREATE TRIGGER rate_offer_no_delete BEFORE DELETE ON rate_offer BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: rate_offer_append_only');
END;

-- What a refund takes from the merchant's settlement, at the rate of the sale; of sales at a guaranteed rate only.
ALTER TABLE refund ADD COLUMN settlement_currency TEXT CONSTRAINT refund_settlement_currency_code CHECK (settlement_currency GLOB '[A-Z][A-Z][A-Z]');
ALTER TABLE refund ADD COLUMN settlement_minor INTEGER CONSTRAINT refund_settlement_not_negative CHECK (settlement_minor >= 0)
    CONSTRAINT refund_settlement_whole CHECK ((settlement_minor IS NULL) = (settlement_currency IS NULL));
