-- Rates, offers and what refunds took from settlements are forgotten.
ALTER TABLE refund DROP COLUMN settlement_minor, DROP COLUMN settlement_currency;
DROP TABLE rate_offer, rate_offer_set, rate_feed, rate_table, merchant_rates;
