-- As it was.
CREATE OR REPLACE FUNCTION dropin_set_event_clock() RETURNS VOID
LANGUAGE plpgsql SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    here TEXT;
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN;
    END IF;
    -- The cluster, and its timeline: the first eight digits of a segment's name.
    SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) INTO here FROM pg_control_system();
    IF EXISTS (SELECT FROM event_clock WHERE place = here) THEN
        RETURN;
    END IF;
    -- Of several who come at once one does it, and the others wait.
    UPDATE event_clock SET place = here WHERE place <> here;
    IF FOUND THEN
        -- Should the server's time be behind, what is stored counts.
        PERFORM setval('event_clock_ahead', greatest(
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            (SELECT max(newest.tick) + 1 FROM merchant CROSS JOIN LATERAL (
                SELECT tick FROM outbox_event WHERE merchant_id = merchant.id ORDER BY tick DESC LIMIT 1
            ) AS newest)
        ) - txid_current());
    END IF;
END $$;
LOCK TABLE outbox_event IN SHARE ROW EXCLUSIVE MODE;
SELECT dropin_set_event_clock();
