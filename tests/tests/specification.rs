//! docs/SPECIFICATION.md is the one place of the rules: each citation of it names an anchor that exists, and no file cites another document for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the rules stand, below the repository's root.
const SPECIFICATION: &str = "docs/SPECIFICATION.md";
/// What a citation of a rule begins with; in two parts, so that this line is none.
const CITATION: &str = concat!("SPECIFICATION.md", "#");
/// Documents that the rules once stood in, outside the repository.
const FORMER: [&str; 2] = [concat!("decisions", ".md"), concat!("payment-service", ".md")];
/// Decision records may tell where a decision came from.
const RECORDS: &str = "docs/adr/";

/// Endings of files that people write.
const WRITTEN: [&str; 14] =
    ["css", "env", "html", "js", "json", "md", "mjs", "py", "rs", "sh", "sql", "toml", "ts", "yml"];
/// Folders that hold nothing of ours, wherever they stand.
const FOREIGN: [&str; 4] = [".git", "node_modules", "target", "dropin-data"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every written file below `folder`: path below the root, and text.
fn written(folder: &Path, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !FOREIGN.iter().any(|name| entry.file_name() == *name) {
                written(&path, into);
            }
        } else if path.extension().is_some_and(|ending| WRITTEN.iter().any(|known| ending == *known)) {
            let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
            into.insert(name, fs::read_to_string(&path).expect("a text"));
        }
    }
}

fn repository() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    written(&root(), &mut files);
    assert!(500 < files.len(), "only {} files were found: this test looks in the wrong place", files.len());
    files
}

fn specification() -> String {
    fs::read_to_string(root().join(SPECIFICATION)).expect("docs/SPECIFICATION.md")
}

/// What follows `start` in `text`, each time, as far as it is made of an anchor's characters; with the number of its line.
fn names_after<'a>(text: &'a str, start: &str) -> Vec<(usize, &'a str)> {
    let in_anchor = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name = |rest: &'a str| rest.split(|c| !in_anchor(c)).next().unwrap_or_default();
    let lines = text.lines().enumerate();
    lines.flat_map(|(at, line)| line.split(start).skip(1).map(move |rest| (at + 1, name(rest)))).collect()
}

fn anchors(page: &str) -> Vec<&str> {
    names_after(page, "<a id=\"").into_iter().map(|(_line, name)| name).collect()
}

#[test]
fn every_anchor_is_there_once_and_in_the_contents() {
    let page = specification();
    let anchors = anchors(&page);
    assert!(100 < anchors.len(), "the anchors of {SPECIFICATION} are not where this test looks");
    let known: BTreeSet<_> = anchors.iter().copied().collect();
    let twice: Vec<_> = known.iter().filter(|name| 1 < anchors.iter().filter(|one| one == name).count()).collect();
    assert!(twice.is_empty(), "{SPECIFICATION} has these anchors more than once: {twice:?}");
    let unreadable: Vec<_> = known.iter().filter(|name| !page.contains(&format!("<a id=\"{name}\"></a>"))).collect();
    assert!(unreadable.is_empty(), "anchors are written in lower case with hyphens: {unreadable:?}");
    let (_, contents) = page.split_once("\n## Contents\n").expect("a table of contents");
    let (contents, _) = contents.split_once("\n<a id=").expect("a chapter behind the contents");
    let listed: BTreeSet<_> = names_after(contents, "](#").into_iter().map(|(_line, name)| name).collect();
    assert_eq!(listed, known, "the contents of {SPECIFICATION} and its anchors differ");
}

#[test]
fn every_citation_names_an_anchor_that_exists() {
    let page = specification();
    let known: BTreeSet<_> = anchors(&page).into_iter().collect();
    let mut broken = Vec::new();
    let mut check = |file: &str, cited: Vec<(usize, &str)>| {
        for (line, name) in cited.iter().filter(|(_line, name)| !known.contains(name)) {
            broken.push(format!("{file}:{line}: #{name}"));
        }
        cited.len()
    };
    let files = repository();
    let cited: usize = files.iter().map(|(file, text)| check(file, names_after(text, CITATION))).sum();
    check(SPECIFICATION, names_after(&page, "](#"));
    assert!(100 < cited, "only {cited} citations were found: this test looks in the wrong place");
    assert!(broken.is_empty(), "{SPECIFICATION} has no such anchor:\n{}", broken.join("\n"));
}

#[test]
fn no_file_cites_a_document_outside_the_repository() {
    let files = repository();
    let own = files.iter().filter(|(file, _)| *file != SPECIFICATION && !file.starts_with(RECORDS));
    let citing = own.flat_map(|(file, text)| {
        let lines = text.lines().enumerate().filter(|(_, line)| FORMER.iter().any(|name| line.contains(name)));
        lines.map(move |(at, line)| format!("{file}:{}: {}", at + 1, line.trim()))
    });
    let citing: Vec<_> = citing.collect();
    assert!(citing.is_empty(), "cite an anchor of {SPECIFICATION} instead:\n{}", citing.join("\n"));
}
