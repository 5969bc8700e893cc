-- SQLite alone can replace a row past its triggers; here ON CONFLICT DO UPDATE is an update, which they refuse.

-- What one actor did, and who did one thing.
CREATE INDEX audit_log_by_actor ON audit_log (actor_name, happened_at, position);
CREATE INDEX audit_log_by_action ON audit_log (action, happened_at, position);
