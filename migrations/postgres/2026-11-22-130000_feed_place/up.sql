-- The clock of events is set once for each start of the server, too. A folder that is put back as it was copied while the server was stopped, or
-- as a volume's snapshot, has the identifier and the timeline of before, and its transaction ids begin anew below what was read already.
-- Ids do not go back while a server runs: when one of its processes dies, it goes on by its log, which tells of every id that an event's tick
-- may have, and its time of start stays.
CREATE OR REPLACE FUNCTION dropin_set_event_clock() RETURNS VOID
LANGUAGE plpgsql SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
    here TEXT;
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN;
    END IF;
    -- The cluster, its timeline (the first eight digits of a segment's name), and its start in microseconds.
    SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
        || '/' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint INTO here FROM pg_control_system();
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

-- It is set here, and not while somebody writes: of two who write at once, one by the clock of before, the other could be read first.
LOCK TABLE outbox_event IN SHARE ROW EXCLUSIVE MODE;
SELECT dropin_set_event_clock();
