//! The books, looked at by SQL of the tests' own.

use std::path::Path;

use diesel::prelude::*;

#[derive(QueryableByName)]
struct Finding {
    #[diesel(sql_type = diesel::sql_types::Text)]
    finding: String,
}

/// What must never be found in the books, as queries: the journal alone has to explain every amount.
const AUDIT: &[&str] = &[
    "SELECT 'not journaled: ' || o.key AS finding FROM operations o
     WHERE NOT EXISTS (SELECT 1 FROM journal j WHERE j.key = o.key AND j.outcome = o.outcome AND j.kind = o.kind
                       AND j.amount IS o.amount AND j.method IS o.method AND j.stage IS o.stage AND j.received = o.received)",
    "SELECT 'journaled more than once: ' || key AS finding FROM journal WHERE outcome <> 'PENDING' GROUP BY key HAVING count(*) > 1",
    "SELECT 'no operation: ' || key AS finding FROM journal WHERE key NOT IN (SELECT key FROM operations)",
    "SELECT 'authorization without account: ' || key AS finding FROM operations
     WHERE kind = 'AUTHORIZE' AND outcome = 'APPROVED' AND amount > 0 AND key NOT IN (SELECT key FROM authorizations)",
    "SELECT 'a verification without terms: ' || key AS finding FROM operations
     WHERE amount = 0 AND key NOT IN (SELECT key FROM credential_terms)",
    "SELECT 'stored by no approval, or not stored: ' || o.key AS finding FROM operations o JOIN credential_terms t ON t.key = o.key
     WHERE (o.outcome = 'APPROVED' AND t.store IS NOT NULL) <> EXISTS (SELECT 1 FROM credentials c WHERE c.key = o.key)",
    "SELECT 'account without authorization: ' || key AS finding FROM authorizations
     WHERE key NOT IN (SELECT key FROM operations WHERE kind = 'AUTHORIZE' AND outcome = 'APPROVED')",
    "SELECT 'stopped by no void, or by several: ' || o.key AS finding FROM operations o
     WHERE o.kind = 'AUTHORIZE' AND o.outcome = 'DECLINED'
       AND (o.reason = 'VOIDED') <> (SELECT count(*) FROM journal j WHERE j.authorization_key = o.key
                                     AND j.kind = 'VOID' AND j.outcome = 'APPROVED')",
    "SELECT 'approved or waiting with the wrong sum: ' || key AS finding FROM operations
     WHERE kind = 'AUTHORIZE' AND method = 'BANKTRANSFER'
       AND (outcome = 'APPROVED' AND received < amount OR outcome = 'PENDING' AND received >= amount)",
    "SELECT 'amounts differ from the journal: ' || a.key AS finding FROM authorizations a
     WHERE a.authorized <> (SELECT sum(amount) FROM journal WHERE key = a.key AND outcome = 'APPROVED')
        OR a.captured <> (SELECT coalesce(sum(amount), 0) FROM journal
                          WHERE outcome = 'APPROVED' AND (authorization_key = a.key AND kind = 'CAPTURE'
                             OR key = a.key AND kind = 'AUTHORIZE' AND method IN ('IDEAL', 'BANKTRANSFER')))
        OR a.refunded <> (SELECT coalesce(sum(amount), 0) FROM journal
                          WHERE authorization_key = a.key AND kind = 'REFUND' AND outcome = 'APPROVED')
        OR a.voided <> (SELECT count(*) FROM journal
                        WHERE authorization_key = a.key AND kind = 'VOID' AND outcome = 'APPROVED')
        OR a.capture_pending + a.refund_pending <> (SELECT coalesce(sum(amount), 0) FROM operations
                                                    WHERE authorization_key = a.key AND outcome = 'PENDING')
        OR a.captured > a.authorized OR a.refunded > a.captured",
    "SELECT 'gap in the journal: ' || max(number) AS finding FROM journal HAVING max(number) <> count(*)",
    "SELECT 'integrity: ' || integrity_check AS finding FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "SELECT 'foreign key: ' || \"table\" AS finding FROM pragma_foreign_key_check",
];

/// Checks the books with SQL of its own.
pub(crate) fn audit(database: &Path) {
    let mut store = open(database);
    for query in AUDIT {
        let findings: Vec<Finding> = diesel::sql_query(*query).load(&mut store).expect(query);
        let findings: Vec<_> = findings.into_iter().map(|row| row.finding).collect();
        assert!(findings.is_empty(), "{findings:?}");
    }
}

/// The database file, as another program sees it.
pub(crate) fn open(database: &Path) -> SqliteConnection {
    let mut store = SqliteConnection::establish(database.to_str().expect("UTF-8")).expect("a database");
    diesel::sql_query("PRAGMA busy_timeout = 5000").execute(&mut store).expect("a pragma");
    store
}
