-- The processor that an operation was asked of, and a merchant's rules that choose it. Operations of programs of before have none and are the main
-- processor's, which was the only one.

ALTER TABLE processor_op ADD COLUMN processor_id TEXT
    CONSTRAINT processor_op_processor_id_length CHECK (length(processor_id) BETWEEN 1 AND 32);

-- A rule a line; none where the merchant has none.
ALTER TABLE merchant ADD COLUMN processor_routing TEXT
    CONSTRAINT merchant_processor_routing_not_empty CHECK (processor_routing <> '');
