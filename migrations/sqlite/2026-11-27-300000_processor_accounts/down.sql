DROP TABLE processor_account;
