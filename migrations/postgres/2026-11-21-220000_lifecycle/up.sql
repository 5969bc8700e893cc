-- The whole life of an Order: hosted pages and transfers that are waited for, voids, promises, refunds and the server-to-server checkout.

ALTER TABLE session
    DROP CONSTRAINT session_failure_reason_known,
    ADD CONSTRAINT session_failure_reason_known CHECK (failure_reason IN
        ('PAYMENT_DECLINED', 'INSUFFICIENT_FUNDS', 'INVALID_CARD', 'CANCELLED_BY_SHOPPER', 'AUTHENTICATION_FAILED', 'PAYMENT_EXPIRED',
        'PROCESSOR_UNAVAILABLE'));

ALTER TABLE history
    DROP CONSTRAINT history_actor_known,
    DROP CONSTRAINT history_actor_named,
    ADD CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM')),
    ADD CONSTRAINT history_actor_named CHECK ((actor_kind IN ('MERCHANT', 'OPERATOR')) = (actor_name IS NOT NULL));

-- When it ends by itself: the hosted page's, the transfer's or the capture window's end.
ALTER TABLE purchase_order RENAME COLUMN capture_before TO expires_at;
ALTER TABLE purchase_order
    -- The hosted page is only there while it is waited for.
    ADD COLUMN page TEXT CONSTRAINT purchase_order_page_fits_state CHECK (page IS NULL OR state = 'PROCESSING'),
    -- The merchant learns of the Order with the account that the money is transferred to.
    ADD COLUMN bank_details JSONB CONSTRAINT purchase_order_bank_details_shown CHECK (bank_details IS NULL OR shown),
    ADD COLUMN voiding TEXT CONSTRAINT purchase_order_voiding_known CHECK (voiding IN ('MERCHANT', 'EXPIRED', 'REVIEW')),
    ADD COLUMN capture_promised_minor BIGINT
        CONSTRAINT purchase_order_capture_promised_positive CHECK (capture_promised_minor > 0),
    ADD COLUMN return_url TEXT;
-- Whose time is over: read every few seconds, so those that cannot end now are left out.
CREATE INDEX purchase_order_lapsing ON purchase_order (expires_at, id)
    WHERE state IN ('PROCESSING', 'PAYMENT_AUTHORIZED') AND expires_at IS NOT NULL AND voiding IS NULL AND capture_pending_minor = 0;

-- What is in progress or succeeded stands in the amounts of its Order, whose constraints hold the sum.
CREATE TABLE refund (
    id UUID CONSTRAINT refund_pkey PRIMARY KEY,
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    order_id UUID NOT NULL CONSTRAINT refund_order_fkey REFERENCES purchase_order (id),
    merchant_id UUID NOT NULL CONSTRAINT refund_merchant_fkey REFERENCES merchant (id),
    reference TEXT NOT NULL,
    currency TEXT NOT NULL CONSTRAINT refund_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    amount_minor BIGINT NOT NULL CONSTRAINT refund_amount_positive CHECK (amount_minor > 0),
    description TEXT,
    state TEXT NOT NULL CONSTRAINT refund_state_known CHECK (state IN ('IN_PROGRESS', 'SUCCEEDED', 'FAILED')),
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT refund_reference_key UNIQUE (order_id, reference)
);

ALTER TABLE processor_op
    ADD COLUMN refund_id UUID CONSTRAINT processor_op_refund_fkey REFERENCES refund (id)
        CONSTRAINT processor_op_refund_fits_kind CHECK ((kind = 'REFUND') = (refund_id IS NOT NULL)),
    -- Which API asked; every operation of before was asked for by this one.
    ADD COLUMN channel TEXT NOT NULL DEFAULT 'ORDER'
        CONSTRAINT processor_op_channel_known CHECK (channel IN ('NOBODY', 'ORDER', 'CHECKOUT_PAYMENT', 'CHECKOUT'));
-- A refund is asked for again only after it was refused for now.
CREATE UNIQUE INDEX processor_op_one_open_refund ON processor_op (refund_id)
    WHERE refund_id IS NOT NULL AND state IN ('PREPARED', 'UNKNOWN', 'PENDING');

-- What the merchant said of consumer and items in a server-to-server checkout.
CREATE TABLE checkout (
    order_id UUID CONSTRAINT checkout_pkey PRIMARY KEY CONSTRAINT checkout_order_fkey REFERENCES purchase_order (id),
    merchant_id UUID NOT NULL CONSTRAINT checkout_merchant_fkey REFERENCES merchant (id),
    document JSONB NOT NULL
);
