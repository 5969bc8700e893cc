-- Methods that are none of the sandbox's: a caller's own, by its id. There is no down.sql, as before.

-- SQLite cannot change a CHECK; where one is only loosened it documents this way (lang_altertable.html, the second procedure), which rewrites no row.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
        'CHECK (method IN (''CARD'', ''PAYPAL'', ''IDEAL'', ''PAYLATER'', ''BANKTRANSFER''))',
        'CHECK (length(method) BETWEEN 1 AND 32 AND method NOT GLOB ''*[^A-Z0-9]*'')')
    WHERE type = 'table' AND name = 'operations';
PRAGMA writable_schema = RESET;
