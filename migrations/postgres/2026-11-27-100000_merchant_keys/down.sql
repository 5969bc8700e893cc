ALTER TABLE billing_profile ADD CONSTRAINT billing_profile_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
ALTER TABLE merchant_reference ADD CONSTRAINT merchant_reference_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
ALTER TABLE history ADD CONSTRAINT history_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
ALTER TABLE stash ADD CONSTRAINT stash_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
ALTER TABLE checkout ADD CONSTRAINT checkout_merchant_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (id);
