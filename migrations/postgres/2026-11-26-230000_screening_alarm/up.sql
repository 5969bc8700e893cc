-- When a merchant's declines jumped last: an alarm is notified once, by whichever program sees it first. Programs of before neither write nor read it.
CREATE TABLE screening_alarm (
    merchant_id UUID CONSTRAINT screening_alarm_pkey PRIMARY KEY
        CONSTRAINT screening_alarm_merchant_fkey REFERENCES merchant (id),
    raised_at TIMESTAMPTZ NOT NULL,
    -- It lasts until it was not seen for ten minutes.
    seen_at TIMESTAMPTZ NOT NULL CONSTRAINT screening_alarm_seen CHECK (raised_at <= seen_at)
);
