-- One CHECK that calls a function, in place of three. PostgreSQL reads the text of each CHECK anew for each statement; a call is a short text, and a
-- connection reads the function once. It refuses by the names that the guards had, and that they have on SQLite (docs/adr/0020). A table has a
-- migration of its own, since payments lock these tables in more than one order.
--
-- Programs of before notice nothing. Rows of before obey: the guards are the same; `guards_validated` notes that.
CREATE FUNCTION dropin_check_history(subject_kind TEXT, actor_kind TEXT, actor_name TEXT)
RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    broken TEXT := CASE
        WHEN actor_kind NOT IN ('MERCHANT', 'SHOPPER', 'OPERATOR', 'SYSTEM') THEN 'history_actor_known'
        WHEN (actor_kind IN ('MERCHANT', 'OPERATOR')) <> (actor_name IS NOT NULL) THEN 'history_actor_named'
        WHEN subject_kind NOT IN ('SESSION', 'ORDER', 'CONTRACT') THEN 'history_subject_known'
    END;
BEGIN
    IF broken IS NULL THEN RETURN TRUE; END IF;
    RAISE check_violation USING MESSAGE = format('new row for relation "history" violates check constraint "%s"', broken),
        CONSTRAINT = broken, TABLE = 'history';
END $$;

ALTER TABLE history
    ADD CONSTRAINT history_guards CHECK (dropin_check_history(subject_kind, actor_kind, actor_name)) NOT VALID,
    DROP CONSTRAINT history_actor_known, DROP CONSTRAINT history_actor_named, DROP CONSTRAINT history_subject_known;
