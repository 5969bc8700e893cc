-- E-mail addresses whatever the case of their ASCII letters, as on SQLite: the order of letters of the database folds others too.
DROP INDEX billing_profile_by_email;
DROP INDEX checkout_by_email;
CREATE INDEX billing_profile_by_email ON billing_profile (lower((details ->> 'email') COLLATE "C"));
CREATE INDEX checkout_by_email ON checkout (lower((document -> 'Consumer' ->> 'Email') COLLATE "C"));
-- References of named merchants; SQLite finds them by the primary key.
CREATE INDEX merchant_reference_of_merchant ON merchant_reference (merchant_id, reference COLLATE "C");
