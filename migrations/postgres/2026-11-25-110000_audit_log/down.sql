DROP TABLE audit_sealer;
DROP TABLE audit_unsealed;
DROP TABLE audit_seal;
DROP TABLE audit_log;
DROP FUNCTION dropin_queue_audit_entry();
