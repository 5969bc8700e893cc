ALTER TABLE history
    DROP CONSTRAINT history_guards,
    ADD CONSTRAINT history_actor_known CHECK (actor_kind IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM')),
    ADD CONSTRAINT history_actor_named CHECK ((actor_kind IN ('MERCHANT', 'OPERATOR')) = (actor_name IS NOT NULL)),
    ADD CONSTRAINT history_subject_known CHECK (subject_kind IN ('SESSION', 'ORDER', 'CONTRACT'));
DROP FUNCTION dropin_check_history;
