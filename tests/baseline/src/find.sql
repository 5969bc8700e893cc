-- A Session with its billing profile, by one of the known ids.
\set number random(1, 2000)
SELECT session.id, state, currency, total_minor, terms, profile.id, details FROM session JOIN profile ON profile.id = profile_id WHERE session.id = lpad(to_hex(:number::bigint), 32, '0')::uuid;
