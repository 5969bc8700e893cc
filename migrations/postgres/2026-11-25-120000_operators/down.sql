-- Operators are forgotten: the panel begins anew with a first operator.
DROP TABLE money_request;
DROP TABLE merchant_approval_limit;
DROP TABLE operator_recovery_code;
DROP TABLE operator_session;
DROP TABLE operator_invitation;
DROP TABLE operator_refund_limit;
DROP TABLE operator_merchant;
DROP TABLE operator;
