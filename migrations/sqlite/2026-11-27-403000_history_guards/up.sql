-- SQLite reads a CHECK once for a prepared statement. PostgreSQL alone reads them for each execution.
SELECT 1;
