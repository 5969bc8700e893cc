ALTER TABLE processor_op DROP COLUMN processor_reference;
