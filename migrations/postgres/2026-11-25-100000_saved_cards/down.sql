DROP INDEX contract_saved_cards;
ALTER TABLE merchant DROP COLUMN saved_card_kind, DROP COLUMN saved_cards_offered;
