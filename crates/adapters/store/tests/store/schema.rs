//! One source of truth: what the two catalogues say, against each other and against the domain.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::common::postgres::Database;
use crate::common::{RawPostgres, RawSqlite, path, sqlite_url, statements};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection, SqliteConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use dropin_access::operator::{MoneyKind, MoneyRequestState, OperatorState, SessionStage};
use dropin_access::{DomainState, RateForm, SavedCardKind};
use dropin_order::{
    Account, Channel, DisputeAnswerKind, DisputeAnswerState, DisputeReason, DisputeState, FailureReason, OpKind,
    OpState, OrderState, RefundState, VoidCause,
};
use dropin_session::{CancelReason, SessionStateKind};
use dropin_store_contract::Raw;

const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");
const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

struct Both {
    postgres: RawPostgres,
    sqlite: RawSqlite,
    _database: Database,
    _folder: tempfile::TempDir,
}

/// A connection as the store migrates with: tables that others refer to can be exchanged on it.
fn to_migrate(url: &str) -> SqliteConnection {
    let mut sqlite = SqliteConnection::establish(path(url)).unwrap();
    sqlite.batch_execute("PRAGMA foreign_keys = OFF").unwrap();
    sqlite
}

/// Both schemas, for all tests that run at once: they only read.
fn both() -> Arc<Both> {
    static SHARED: Mutex<Weak<Both>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let new = Arc::new(up_down_up());
        *shared = Arc::downgrade(&new);
        new
    })
}

/// Both schemas, gone up, down and up again.
fn up_down_up() -> Both {
    let database = Database::create();
    let mut postgres = PgConnection::establish(&database.url()).unwrap();
    postgres.run_pending_migrations(POSTGRES).unwrap();
    postgres.revert_all_migrations(POSTGRES).unwrap();
    let (folder, url) = sqlite_url();
    let mut sqlite = to_migrate(&url);
    sqlite.run_pending_migrations(SQLITE).unwrap();
    sqlite.revert_all_migrations(SQLITE).unwrap();
    let both = Both {
        postgres: RawPostgres::open(&database.url()),
        sqlite: RawSqlite::open(path(&url)),
        _database: database,
        _folder: folder,
    };
    let left = both.postgres.values(
        "SELECT relname::text AS value FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')
         AND relname NOT LIKE '%diesel%'
         UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    );
    assert_eq!(left, Vec::<String>::new(), "down.sql leaves nothing on PostgreSQL");
    let left = both
        .sqlite
        .values("SELECT name AS value FROM sqlite_master WHERE name NOT LIKE '%diesel%' AND name NOT LIKE 'sqlite_%'");
    assert_eq!(left, Vec::<String>::new(), "down.sql leaves nothing on SQLite");
    postgres.run_pending_migrations(POSTGRES).unwrap();
    sqlite.run_pending_migrations(SQLITE).unwrap();
    both
}

/// The words in quotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A function that judges a row: `CASE WHEN condition THEN 'name of the guard'` for each guard.
struct Guards {
    table: String,
    source: String,
}

impl Guards {
    /// Each guard's name, and what a row does that breaks it.
    fn each(&self) -> Vec<(&str, &str)> {
        let cases = self.source.split_once("CASE").unwrap().1.split_once("END;").unwrap().0;
        let split = |case| {
            let (condition, name) = str::rsplit_once(case, "THEN").unwrap();
            (name.trim().trim_matches('\''), condition)
        };
        cases.split("WHEN ").skip(1).map(split).collect()
    }

    fn condition_of(&self, constraint: &str) -> Option<String> {
        self.each().into_iter().find(|(name, _)| *name == constraint).map(|(_, condition)| condition.to_owned())
    }
}

impl Both {
    /// The list in a CHECK of that name, from each catalogue.
    fn lists(&self, constraint: &str) -> [BTreeSet<String>; 2] {
        let postgres = self.postgres.values(&format!(
            "SELECT pg_get_constraintdef(oid) AS value FROM pg_constraint WHERE conname = '{constraint}' AND contype = 'c'"
        ));
        let postgres: Vec<_> = postgres
            .into_iter()
            .chain(self.guards().into_iter().filter_map(|guard| guard.condition_of(constraint)))
            .collect();
        assert_eq!(postgres.len(), 1, "{constraint} on PostgreSQL");
        let tables = self.sqlite.values(&format!(
            "SELECT sql AS value FROM sqlite_master WHERE sql LIKE '%CONSTRAINT {constraint} %' OR sql LIKE '%CONSTRAINT {constraint}\n%'"
        ));
        assert_eq!(tables.len(), 1, "{constraint} on SQLite");
        let (_, rest) = tables[0].split_once(&format!("CONSTRAINT {constraint}")).unwrap();
        // The list is the second pair of parentheses: CHECK (column IN ('A', 'B')).
        let list = rest.split_once("))").unwrap().0;
        [quoted(&postgres[0]), quoted(list)]
    }

    /// The functions that judge the rows of one table each, on PostgreSQL.
    fn guards(&self) -> Vec<Guards> {
        let functions = "SELECT substr(proname, 14) || ':' || prosrc AS value FROM pg_proc
             WHERE proname LIKE 'dropin\\_check\\_%' ORDER BY proname";
        let named = |text: String| {
            let (table, source) = text.split_once(':').unwrap();
            Guards { table: table.to_owned(), source: source.to_owned() }
        };
        self.postgres.values(functions).into_iter().map(named).collect()
    }

    fn assert_list<'a>(&self, constraint: &str, domain: impl IntoIterator<Item = &'a str>) {
        let domain: BTreeSet<_> = domain.into_iter().map(str::to_owned).collect();
        assert_eq!(self.lists(constraint), [domain.clone(), domain], "{constraint}");
    }
}

#[test]
fn check_lists_are_the_domains() {
    let both = both();
    both.assert_list("session_state_known", SessionStateKind::ALL.map(SessionStateKind::as_str));
    for list in ["session_failure_reason_known", "session_last_failure_known", "purchase_order_failure_known"] {
        both.assert_list(list, FailureReason::ALL.map(FailureReason::as_str));
    }
    both.assert_list("session_last_failure_known", FailureReason::ALL.map(FailureReason::as_str));
    both.assert_list("purchase_order_failure_known", FailureReason::ALL.map(FailureReason::as_str));
    both.assert_list(
        "session_cancel_reason_known",
        [CancelReason::Merchant, CancelReason::Expired].map(CancelReason::as_str),
    );
    both.assert_list("purchase_order_state_known", OrderState::ALL.map(OrderState::as_str));
    both.assert_list("processor_op_state_known", OpState::ALL.map(OpState::as_str));
    both.assert_list("processor_op_kind_known", OpKind::ALL.map(OpKind::as_str));
    both.assert_list("processor_op_channel_known", Channel::ALL.map(Channel::as_str));
    both.assert_list("merchant_rates_form_known", RateForm::ALL.map(RateForm::as_str));
    both.assert_list("merchant_saved_card_kind_known", SavedCardKind::ALL.map(SavedCardKind::as_str));
    both.assert_list("refund_state_known", RefundState::ALL.map(RefundState::as_str));
    both.assert_list("purchase_order_voiding_known", VoidCause::ALL.map(VoidCause::as_str));
    both.assert_list("operator_state_known", OperatorState::ALL.map(OperatorState::as_str));
    both.assert_list("operator_session_stage_known", SessionStage::ALL.map(SessionStage::as_str));
    both.assert_list("money_request_kind_known", MoneyKind::ALL.map(MoneyKind::as_str));
    both.assert_list("money_request_state_known", MoneyRequestState::ALL.map(MoneyRequestState::as_str));
    both.assert_list("dispute_state_known", DisputeState::ALL.map(DisputeState::as_str));
    both.assert_list("dispute_reason_known", DisputeReason::ALL.map(DisputeReason::as_str));
    both.assert_list("dispute_answer_kind_known", DisputeAnswerKind::ALL.map(DisputeAnswerKind::as_str));
    both.assert_list("dispute_answer_state_known", DisputeAnswerState::ALL.map(DisputeAnswerState::as_str));
    // Every state is written and read by a case of crates/adapters/store-contract.
    both.assert_list("payment_try_state_known", ["TRIED", "BLOCKED", "CHALLENGED", "DECLINED", "PAID"]);
    both.assert_list("wallet_domain_state_known", DomainState::ALL.map(DomainState::as_str));
    // Every actor of the port is written and read by a case of crates/adapters/store-contract.
    both.assert_list("history_actor_known", ["MERCHANT", "SHOPPER", "OPERATOR", "SYSTEM"]);
}

#[test]
fn partial_indexes_name_the_open_states() {
    let both = both();
    let open: BTreeSet<_> =
        OpState::ALL.into_iter().filter(|state| state.is_open()).map(|state| state.as_str().to_owned()).collect();
    for index in ["processor_op_due", "processor_op_one_open_ending", "processor_op_one_open_refund"] {
        let postgres =
            both.postgres.values(&format!("SELECT indexdef AS value FROM pg_indexes WHERE indexname = '{index}'"));
        let sqlite = both.sqlite.values(&format!("SELECT sql AS value FROM sqlite_master WHERE name = '{index}'"));
        for definition in [&postgres[0], &sqlite[0]] {
            let mut named = quoted(definition);
            named.retain(|word| word != "CAPTURE" && word != "VOID");
            assert_eq!(named, open, "{definition}");
        }
    }
}

/// What PostgreSQL alone needs, to know the order in which transactions were committed.
const POSTGRES_ONLY: [&str; 3] = ["event_clock.id", "event_clock.place", "outbox_event.tick"];

#[test]
fn partial_indexes_of_disputes_name_what_is_undecided() {
    let both = both();
    let undecided = DisputeState::ALL.into_iter().filter(|state| !state.is_final()).map(DisputeState::as_str);
    let undecided: BTreeSet<_> = undecided.map(str::to_owned).collect();
    let postgres = "SELECT indexdef AS value FROM pg_indexes WHERE indexname = 'dispute_undecided'";
    let sqlite = "SELECT sql AS value FROM sqlite_master WHERE name = 'dispute_undecided'";
    let definitions = [&both.postgres.values(postgres)[0], &both.sqlite.values(sqlite)[0]].map(|text| quoted(text));
    assert_eq!(definitions, [undecided.clone(), undecided]);
}

/// Programs of before write two more tables on PostgreSQL, which the next release drops.
#[test]
fn both_dialects_have_the_same_columns() {
    let both = both();
    let postgres = both.postgres.values(
        "SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'YES' THEN '?' ELSE '' END AS value
         FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '%diesel%'
         AND table_name NOT IN ('ledger_transaction', 'ledger_entry') ORDER BY 1",
    );
    let mut sqlite = both.sqlite.values(
        "SELECT t.name || '.' || c.name || CASE WHEN c.\"notnull\" = 0 AND c.pk = 0 THEN '?' ELSE '' END AS value
         FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE '%diesel%' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1",
    );
    let (only, mut postgres): (Vec<_>, Vec<_>) =
        postgres.into_iter().partition(|column| POSTGRES_ONLY.contains(&column.as_str()));
    assert_eq!(only, POSTGRES_ONLY);
    postgres.sort();
    sqlite.sort();
    assert!(100 < postgres.len());
    assert_eq!(postgres, sqlite);
}

#[test]
fn the_ledger_has_a_column_for_each_account_of_the_domain() {
    let both = both();
    let accounts = Account::ALL.map(|account| format!("{}_minor", account.as_str().to_lowercase()));
    let query = "SELECT column_name AS value FROM information_schema.columns
         WHERE table_name = 'ledger_posting' AND column_name LIKE '%\\_minor' ORDER BY ordinal_position";
    assert_eq!(both.postgres.values(query), accounts);
}

#[test]
fn what_belongs_to_a_payment_looks_no_merchant_up() {
    let both = both();
    let referring = both.postgres.values(
        "SELECT conrelid::regclass::text AS value FROM pg_constraint WHERE contype = 'f' AND confrelid = 'merchant'::regclass ORDER BY 1",
    );
    for table in ["billing_profile", "merchant_reference", "history", "outbox_event", "stash", "checkout", "screening"]
    {
        assert!(!referring.iter().any(|name| name == table), "{table} refers to a merchant with each of its rows");
    }
    for root in ["session", "purchase_order", "contract", "endpoint", "api_user"] {
        assert!(referring.iter().any(|name| name == root), "{root} refers to no merchant");
    }
}

#[test]
fn every_sqlite_table_is_strict() {
    let both = both();
    let loose = both.sqlite.values(
        "SELECT name AS value FROM pragma_table_list WHERE type = 'table' AND strict = 0
         AND name NOT LIKE '%diesel%' AND name NOT LIKE 'sqlite_%'",
    );
    assert_eq!(loose, Vec::<String>::new());
}

#[test]
fn every_constraint_of_postgres_has_a_name_on_sqlite_too() {
    let both = both();
    // NOT NULL and the triggers that judge at the end are told apart by kind; everything else by its name.
    let names = both.postgres.values(
        "SELECT conname::text AS value FROM pg_constraint WHERE connamespace = 'public'::regnamespace
         AND contype IN ('c', 'f', 'p', 'u') AND conname NOT LIKE '%diesel%' AND conname NOT LIKE '%\\_guards'
         AND conrelid NOT IN ('ledger_transaction'::regclass, 'ledger_entry'::regclass)",
    );
    let tables = both.sqlite.values("SELECT sql AS value FROM sqlite_master WHERE sql IS NOT NULL").join("\n");
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !tables.contains(&format!("CONSTRAINT {name}")) && !name.starts_with("event_clock_"))
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
    let unnamed = both.postgres.values(
        "SELECT conname::text AS value FROM pg_constraint WHERE connamespace = 'public'::regnamespace
         AND conname ~ '(_check|_check[0-9]+|_id_fkey)$'",
    );
    assert_eq!(unnamed, Vec::<String>::new(), "names that PostgreSQL made up");
}

#[test]
fn statements_run_as_they_stand_in_their_files() {
    let both = both();
    for (number, file) in statements::of("postgres").iter().enumerate() {
        file.is_explained();
        let prepared = both.postgres.execute(&format!("PREPARE statement_{number} AS {}", file.text));
        assert!(prepared.is_ok(), "{}: {prepared:?}", file.path.display());
    }
    for file in statements::of("sqlite") {
        file.is_explained();
        let explained = both.sqlite.execute(&format!("EXPLAIN {}", file.text));
        assert!(explained.is_ok(), "{}: {explained:?}", file.path.display());
    }
}

/// On PostgreSQL a function judges the rows of a table that every payment writes, see migration `session_guards`.
#[test]
fn a_table_judged_by_a_function_has_every_guard_that_it_has_on_sqlite() {
    let both = both();
    let guards = both.guards();
    let tables: Vec<_> = guards.iter().map(|guards| guards.table.as_str()).collect();
    assert_eq!(tables, ["history", "processor_op", "purchase_order", "session"]);
    for one in &guards {
        let judged: BTreeSet<_> = one.each().into_iter().map(|(name, _)| name.to_owned()).collect();
        let table = &one.table;
        let query = format!("SELECT sql AS value FROM sqlite_master WHERE type = 'table' AND name = '{table}'");
        let table_sql = both.sqlite.values(&query).remove(0);
        let named = table_sql.split("CONSTRAINT ").skip(1).filter_map(|rest| {
            let (name, kind) = rest.split_once(char::is_whitespace)?;
            kind.trim_start().starts_with("CHECK").then(|| name.to_owned())
        });
        assert_eq!(judged, named.collect::<BTreeSet<_>>(), "{table}");
        let calls = format!(
            "SELECT conname::text AS value FROM pg_constraint WHERE conrelid = '{table}'::regclass AND contype = 'c'"
        );
        assert_eq!(both.postgres.values(&calls), [format!("{table}_guards")]);
    }
}
