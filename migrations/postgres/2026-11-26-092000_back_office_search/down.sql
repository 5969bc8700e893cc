DROP INDEX merchant_reference_of_merchant;
DROP INDEX checkout_by_email;
DROP INDEX billing_profile_by_email;
CREATE INDEX billing_profile_by_email ON billing_profile (lower(details ->> 'email'));
CREATE INDEX checkout_by_email ON checkout (lower(document -> 'Consumer' ->> 'Email'));
