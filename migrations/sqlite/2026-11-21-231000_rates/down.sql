-- Rates, offers and what refunds took from settlements are forgotten.
ALTER TABLE refund DROP COLUMN settlement_minor;
ALTER TABLE refund DROP COLUMN settlement_currency;
DROP TABLE rate_offer;
DROP TABLE rate_offer_set;
DROP TABLE rate_feed;
DROP TABLE rate_table;
DROP TABLE merchant_rates;
