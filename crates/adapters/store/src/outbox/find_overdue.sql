-- The next notifications of streams of one endpoint that are due, under nobody's lease, and wait for too long. A
-- replay waits since it was due, whenever its event happened: what comes behind another of its payment since its
-- turn came.
--
-- The events themselves are looked at only where they may be older than their stream is due: the first one of a
-- payment never is.
--
-- $1 endpoint
-- $2 now: streams that are due by then
-- $3 give_up_before: what waits since before that is overdue
-- $4 limit: most that are found

SELECT late.id, late.next_sequence, late.attempt
FROM (
    SELECT s.id, s.payment_id, s.next_sequence, s.attempt FROM outbox_stream AS s
    WHERE s.endpoint_id = $1
        AND s.next_sequence <= s.last_sequence
        AND s.due_at <= $2
        AND NOT s.leased
        AND (
            s.first_try < $3
            OR (
                s.first_try IS NULL
                AND (
                    s.due_at < $3
                    OR (
                        s.next_sequence > 1
                        AND NOT s.detached
                        AND EXISTS (
                            SELECT 1 FROM outbox_event AS e
                            WHERE e.payment_id = s.payment_id AND e.sequence = s.next_sequence AND e.happened_at < $3
                        )
                    )
                )
            )
        )
    ORDER BY s.replayed, s.due_at LIMIT $4
) AS late
JOIN outbox_event AS event ON event.payment_id = late.payment_id AND event.sequence = late.next_sequence;
