-- Events can be read in an order to which nothing is ever added before what was read already.
--
-- A sequence alone does not give that: who takes number 7 may commit after number 8 was read. Each event therefore has the tick of the
-- transaction that wrote it, its id or a higher one, and is read once every transaction up to that tick is over.

-- Ticks are transaction ids moved ahead by this number, so that they go on where ids begin anew: in a copy of the database that was restored
-- into another cluster, or from a backup, or that a standby took over. The clock is set for each copy, to the time in microseconds. It counts
-- transactions from there, far fewer than one per microsecond, so that the next time it is set is later than all that was read until then.
-- A sequence, because reading a row for every event would cost half as much again.
CREATE SEQUENCE event_clock_ahead;
-- The copy that it is set for.
CREATE TABLE event_clock (
    id INTEGER CONSTRAINT event_clock_pkey PRIMARY KEY CONSTRAINT event_clock_is_one CHECK (id = 1),
    place TEXT NOT NULL
);
INSERT INTO event_clock (id, place) VALUES (1, '');

-- Those of before are first, in the order in which they lie there.
ALTER TABLE outbox_event
    ADD COLUMN tick BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN position BIGINT GENERATED ALWAYS AS IDENTITY;
-- Two events of one payment have to keep their order, though whoever wrote the second may have had its id before the writer of the first. No
-- tick is below a transaction that is over already, so that of the second is not below that of the first.
ALTER TABLE outbox_event ALTER COLUMN tick
    SET DEFAULT greatest(txid_current(), txid_snapshot_xmax(txid_current_snapshot()) - 1) + pg_sequence_last_value('event_clock_ahead');
CREATE INDEX outbox_event_feed ON outbox_event (merchant_id, tick, position);

-- The next events of a merchant. Planned by what is usual, a merchant with many more than that would have all of them sorted for each page;
-- the order of the index is always right.
CREATE FUNCTION dropin_feed(of_merchant UUID, after_tick BIGINT, after_position BIGINT, most BIGINT) RETURNS SETOF outbox_event
LANGUAGE plpgsql STABLE SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
BEGIN
    RETURN QUERY SELECT * FROM outbox_event WHERE merchant_id = of_merchant AND (tick, position) > (after_tick, after_position)
        AND tick < (SELECT last_value FROM event_clock_ahead) + txid_snapshot_xmin(txid_current_snapshot())
        ORDER BY tick, position LIMIT most;
END $$;

-- Sets the clock when it was set for another copy. Every connection of a program asks for it before anything else.
CREATE FUNCTION dropin_set_event_clock() RETURNS VOID
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
SELECT dropin_set_event_clock();
