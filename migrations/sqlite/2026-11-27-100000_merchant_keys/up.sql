-- Foreign keys that a table of SQLite has once stay: dropping one means writing the table anew, and a lookup costs little in the same process.
SELECT 1;
