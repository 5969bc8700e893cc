-- The processor's own id of an authorization, where it gives one before anything can be reserved; of an operation about an authorization, that one's.
-- Operations of programs of before have none, and are asked about by their keys.
ALTER TABLE processor_op ADD COLUMN processor_reference TEXT
    CONSTRAINT processor_op_processor_reference_length CHECK (length(processor_reference) BETWEEN 1 AND 255);
