-- SQLite's events are numbered anew by whoever opens the database; only PostgreSQL has a clock of transactions.
SELECT 1;
