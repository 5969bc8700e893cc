UPDATE outbox_parked SET attempts = 1 WHERE attempts = 0;
ALTER TABLE outbox_parked
    DROP CONSTRAINT outbox_parked_attempts_not_negative,
    ADD CONSTRAINT outbox_parked_attempts_positive CHECK (attempts > 0);
ALTER TABLE endpoint DROP COLUMN previous_secret, DROP COLUMN previous_until, DROP COLUMN removed_at;
DROP INDEX api_user_by_merchant;
ALTER TABLE api_user
    DROP COLUMN permissions, DROP COLUMN previous_password, DROP COLUMN previous_until, DROP COLUMN revoked_at;
ALTER TABLE merchant DROP COLUMN sandbox;
