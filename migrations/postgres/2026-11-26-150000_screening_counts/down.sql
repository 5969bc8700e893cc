-- Counts, who has paid before and what screening made of Orders are forgotten.
DROP TABLE screening;
DROP TABLE known_shopper;
DROP TABLE payment_try;
DROP TABLE velocity_count;
