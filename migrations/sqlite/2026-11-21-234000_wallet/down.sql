DROP TABLE wallet_domain;
DROP TABLE wallet_identity;
