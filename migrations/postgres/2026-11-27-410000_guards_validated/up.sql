-- Rows of before obeyed the CHECKs that the functions stand for. Noted in a transaction of its own, which stops no payment: a dump of the database has the
-- CHECKs in its CREATE TABLE then, and judges rows as they are restored.
ALTER TABLE session VALIDATE CONSTRAINT session_guards;
ALTER TABLE purchase_order VALIDATE CONSTRAINT purchase_order_guards;
ALTER TABLE processor_op VALIDATE CONSTRAINT processor_op_guards;
ALTER TABLE history VALIDATE CONSTRAINT history_guards;
