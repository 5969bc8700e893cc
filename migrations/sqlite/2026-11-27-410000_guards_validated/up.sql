-- For PostgreSQL alone.
SELECT 1;
