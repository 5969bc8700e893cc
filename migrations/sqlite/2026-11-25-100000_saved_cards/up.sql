-- Cards that shoppers choose to save. A program of before goes on as if no merchant offered any.

ALTER TABLE merchant ADD COLUMN saved_cards_offered INTEGER NOT NULL DEFAULT 0
    CONSTRAINT merchant_saved_cards_offered_boolean CHECK (saved_cards_offered IN (0, 1));
-- The kind of contract that AllowContract opens.
ALTER TABLE merchant ADD COLUMN saved_card_kind TEXT NOT NULL DEFAULT 'ONE_CLICK'
    CONSTRAINT merchant_saved_card_kind_known CHECK (saved_card_kind IN ('ONE_CLICK', 'UNSCHEDULED'));

-- The saved cards that a returning shopper may be shown.
CREATE INDEX contract_saved_cards ON contract (merchant_id, billing_profile_reference, created_at, id)
    WHERE kind = 'ONE_CLICK' AND state = 'ACTIVE' AND billing_profile_reference IS NOT NULL;
