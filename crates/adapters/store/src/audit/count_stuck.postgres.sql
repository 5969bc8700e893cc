-- How many operations are stuck, by what `Operation::stuck` says; a case of the kit compares them. Has the words of
-- the partial index, so that this is used.
--
-- $1 since: an operation is stuck that was to be asked about before that

SELECT count(*) FROM processor_op
WHERE state IN ('PREPARED', 'UNKNOWN', 'PENDING')
    AND (
        CASE state WHEN 'UNKNOWN' THEN created_at < $1 ELSE due_at < $1 END
        OR epoch - tries > 20
        OR (state = 'PREPARED' AND due_at > created_at + INTERVAL '600 seconds')
    );
