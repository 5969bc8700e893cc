-- A payment hangs on its Session or its Order, and these refer to the merchant. What belongs to them looked the merchant up once more with each row:
-- half of the lookups of a payment. Programs of before wait for a moment.

-- In the order in which their statements lock, so that nobody waits in a circle.
LOCK TABLE merchant_reference, billing_profile, stash, checkout, history, outbox_event, merchant IN ACCESS EXCLUSIVE MODE;
ALTER TABLE billing_profile DROP CONSTRAINT billing_profile_merchant_fkey;
ALTER TABLE merchant_reference DROP CONSTRAINT merchant_reference_merchant_fkey;
ALTER TABLE history DROP CONSTRAINT history_merchant_fkey;
ALTER TABLE outbox_event DROP CONSTRAINT outbox_event_merchant_fkey;
ALTER TABLE stash DROP CONSTRAINT stash_merchant_fkey;
ALTER TABLE checkout DROP CONSTRAINT checkout_merchant_fkey;
