//! The border of the runtime: it knows no table and nothing of the domain but identifiers and instants.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The tables that the store declares for diesel.
fn tables() -> BTreeSet<String> {
    let schema = fs::read_to_string(folder().join("../store/src/schema.rs")).unwrap();
    let declared = schema.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(" ("));
    declared
        .filter(|(name, _key)| name.chars().all(|c| c.is_lowercase() || c == '_'))
        .map(|(name, _key)| name.to_owned())
        .collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The words of a text, and what stands between two of them.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// Tables that a text names as SQL or diesel name them.
fn named<'a>(text: &str, tables: &'a BTreeSet<String>) -> Vec<&'a str> {
    let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let words = words(&code);
    let is_in_sql = |table: &str| {
        words.windows(2).any(|pair| {
            matches!(pair, [before, name] if *name == table && ["FROM", "INTO", "UPDATE", "JOIN", "TABLE"].contains(before))
        })
    };
    let is_in_diesel = |table: &str| code.contains(&format!("{table}::")) || code.contains(&format!("\"{table}\""));
    tables.iter().map(String::as_str).filter(|table| is_in_sql(table) || is_in_diesel(table)).collect()
}

#[test]
fn no_source_names_a_table() {
    let tables = tables();
    assert!(50 < tables.len() && tables.contains("session") && tables.contains("outbox_event"), "{tables:?}");
    for path in sources(&folder().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let found = named(&text, &tables);
        assert!(
            found.is_empty(),
            "{} names {found:?}: what knows a table belongs into crates/adapters/store",
            path.display()
        );
        assert!(!text.contains("schema::"), "{}", path.display());
    }
}

#[test]
fn a_table_is_found_where_it_is_named() {
    let tables = tables();
    for text in ["SELECT 1 FROM session", "use crate::schema::session::dsl;", "corrupt(\"session\", \"odd\")"] {
        assert_eq!(named(text, &tables), ["session"], "{text}");
    }
    assert!(named("// FROM session\nlet session = answer;", &tables).is_empty());
}

#[test]
fn it_depends_on_the_kernel_and_the_ports_alone() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let ours: Vec<_> = manifest.lines().filter_map(|line| line.strip_prefix("dropin-")?.split('.').next()).collect();
    assert_eq!(ours, ["kernel", "ports"]);
}
