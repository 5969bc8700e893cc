-- Steps of many payments share a statement on PostgreSQL only, and SQLite has always judged the ledger by its last entry.
SELECT 1;
