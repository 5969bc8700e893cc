-- Four round trips: what a handler does that writes one row after the other.
BEGIN;
INSERT INTO profile (id, merchant_id, details) VALUES (gen_random_uuid(), '00000000-0000-0000-0000-000000000000', :details) RETURNING id AS profile \gset
INSERT INTO session (id, merchant_id, reference, state, currency, total_minor, profile_id, terms) VALUES (gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'pgbench-' || gen_random_uuid(), 'CREATED', 'USD', 4089, :profile, :terms);
COMMIT;
