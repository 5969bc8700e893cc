-- Exchange rates: what a merchant is offered, what the feed said, and the offers that were made.

-- A merchant without a row has spot rates, is settled in euros and adds nothing to any rate.
CREATE TABLE merchant_rates (
    merchant_id UUID CONSTRAINT merchant_rates_pkey PRIMARY KEY CONSTRAINT merchant_rates_merchant_fkey REFERENCES merchant (id),
    form TEXT NOT NULL CONSTRAINT merchant_rates_form_known CHECK (form IN ('SPOT', 'GUARANTEED')),
    settlement_currency TEXT NOT NULL CONSTRAINT merchant_rates_currency_code CHECK (settlement_currency ~ '^[A-Z]{3}$'),
    -- Basis points by currency.
    markups JSONB NOT NULL
);

-- The tables of rates that were accepted; the newest is in force. Appended only when something in it changed.
CREATE TABLE rate_table (
    position BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT rate_table_pkey PRIMARY KEY,
    document JSONB NOT NULL,
    accepted_at TIMESTAMPTZ NOT NULL
);
CREATE TRIGGER rate_table_append_only BEFORE UPDATE OR DELETE ON rate_table FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();

-- How the feed was found when it was looked at last; one row.
CREATE TABLE rate_feed (
    id INTEGER CONSTRAINT rate_feed_pkey PRIMARY KEY CONSTRAINT rate_feed_single CHECK (id = 1),
    checked_at TIMESTAMPTZ NOT NULL,
    next_at TIMESTAMPTZ NOT NULL,
    -- When the table in force is too old to guarantee anything by it; never, when it holds rates without a day only.
    stale_at TIMESTAMPTZ,
    -- Currencies whose rates are so much older than the rest that they count as missing.
    left_behind JSONB NOT NULL,
    -- Why nothing could be read, for whoever runs this.
    problem TEXT,
    -- Rates that jumped too far to be believed.
    refused JSONB NOT NULL
);

-- A merchant's sets of offers, counted from one: two who make the next one at once want the same number, and one of them gets it.
CREATE TABLE rate_offer_set (
    merchant_id UUID NOT NULL CONSTRAINT rate_offer_set_merchant_fkey REFERENCES merchant (id),
    number BIGINT NOT NULL CONSTRAINT rate_offer_set_from_one CHECK (number > 0),
    settlement_currency TEXT NOT NULL CONSTRAINT rate_offer_set_currency_code CHECK (settlement_currency ~ '^[A-Z]{3}$'),
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT rate_offer_set_pkey PRIMARY KEY (merchant_id, number),
    CONSTRAINT rate_offer_set_lives CHECK (created_at < expires_at)
);
CREATE TRIGGER rate_offer_set_append_only BEFORE UPDATE OR DELETE ON rate_offer_set
    FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();

-- Kept for ever: a refund uses the rate of the sale.
CREATE TABLE rate_offer (
    id UUID CONSTRAINT rate_offer_pkey PRIMARY KEY,
    merchant_id UUID NOT NULL,
    set_number BIGINT NOT NULL,
    currency TEXT NOT NULL CONSTRAINT rate_offer_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    -- An exact decimal.
    rate TEXT NOT NULL CONSTRAINT rate_offer_rate_some CHECK (rate <> ''),
    CONSTRAINT rate_offer_set_fkey FOREIGN KEY (merchant_id, set_number) REFERENCES rate_offer_set (merchant_id, number),
    CONSTRAINT rate_offer_once UNIQUE (merchant_id, set_number, currency)
);
CREATE TRIGGER rate_offer_append_only BEFORE UPDATE OR DELETE ON rate_offer FOR EACH ROW EXECUTE FUNCTION dropin_refuse_change();

-- What a refund takes from the merchant's settlement, at the rate of the sale; of sales at a guaranteed rate only.
ALTER TABLE refund
    ADD COLUMN settlement_currency TEXT
        CONSTRAINT refund_settlement_currency_code CHECK (settlement_currency ~ '^[A-Z]{3}$'),
    ADD COLUMN settlement_minor BIGINT CONSTRAINT refund_settlement_not_negative CHECK (settlement_minor >= 0)
        CONSTRAINT refund_settlement_whole CHECK ((settlement_minor IS NULL) = (settlement_currency IS NULL));
