//! docs/GUARANTEES.md promises nothing that no test holds: every name in its tables is a test of this repository.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All sources below `folder`, as one text.
fn sources(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "node_modules" && name != "target" {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(&path).expect("a source file"));
        }
    }
}

/// The names between backticks in the last column of a table's row.
fn names(row: &str) -> Vec<&str> {
    let Some(column) = row.trim_end().strip_suffix('|').and_then(|row| row.rsplit('|').next()) else {
        return Vec::new();
    };
    column.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_promise_is_held_by_a_test_that_exists() {
    let page = fs::read_to_string(root().join("docs/GUARANTEES.md")).expect("docs/GUARANTEES.md");
    let mut code = String::new();
    for folder in ["crates", "bins", "tests"] {
        sources(&root().join(folder), &mut code);
    }
    let mut promises = 0;
    let mut missing = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Promise")) {
        promises += 1;
        let named = names(row);
        assert!(!named.is_empty(), "a promise without a test: {row}");
        missing.extend(named.into_iter().filter(|name| !code.contains(&format!("fn {name}("))).map(str::to_owned));
    }
    assert!(10 < promises, "the tables of docs/GUARANTEES.md are not where this test looks");
    assert!(missing.is_empty(), "docs/GUARANTEES.md names tests that do not exist: {missing:?}");
}
