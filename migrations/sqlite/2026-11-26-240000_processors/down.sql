ALTER TABLE merchant DROP COLUMN processor_routing;
ALTER TABLE processor_op DROP COLUMN processor_id;
