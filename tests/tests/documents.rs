//! The documents lead their readers to what exists: every relative link, anchor and named path, every setting and metric. Tables and
//! docs/ARCHITECTURE.md stay short.

use std::fs;
use std::path::{Path, PathBuf};

/// Most words of docs/ARCHITECTURE.md, drawings and tables included: a new engineer reads it whole.
const MAX_ARCHITECTURE_WORDS: usize = 1_800;
/// Most words of a table's cell: more belong into prose or a list.
const MAX_CELL_WORDS: usize = 40;
/// What the programs' variables begin with.
const VARIABLES: [&str; 3] = ["DROPIN_", "PROCESSOR_", "SANDBOX_PROCESSOR_"];
/// Documents of the root.
const ROOT_DOCUMENTS: [&str; 5] = ["README.md", "CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md"];
/// Folders of documents below the root, each without the folders in it.
const FOLDERS: [&str; 3] = ["docs", "docs/design", "docs/adr"];
/// A text between backticks that begins with one of these is a path below the root.
const TOP_FOLDERS: [&str; 8] = ["crates/", "bins/", "docs/", "migrations/", "tests/", "xtask/", ".ci/", ".cargo/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The documents' paths below the root.
fn documents() -> Vec<String> {
    let mut names = ROOT_DOCUMENTS.map(ToOwned::to_owned).to_vec();
    for folder in FOLDERS {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of documents").flatten();
        let found = entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy()));
        names.extend(found.filter(|name| name.ends_with(".md")));
    }
    names
}

/// The text outside of code blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// What GitHub makes of a heading, so that links can lead to it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(page: &str, anchor: &str) -> bool {
    let mut headings = page.lines().filter(|line| line.starts_with('#'));
    page.contains(&format!("<a id=\"{anchor}\"")) || headings.any(|heading| slug(heading) == anchor)
}

/// The targets of links that lead to files of the repository.
fn links(prose: &str) -> Vec<&str> {
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// Whether `target`, as the document `name` writes it, leads somewhere.
fn leads_somewhere(name: &str, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let document = root().join(name);
    let folder = document.parent().expect("a document stands in a folder");
    let file = if path.is_empty() { document.clone() } else { folder.join(path) };
    if anchor.is_empty() || file.extension().is_none_or(|ending| ending != "md") {
        return file.exists();
    }
    fs::read_to_string(&file).is_ok_and(|page| has_anchor(&prose(&page), anchor))
}

/// The paths below the root that are named between backticks; not patterns such as `docs/openapi/<service>.json`.
fn paths(prose: &str) -> Vec<&str> {
    let quoted = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c));
    quoted.filter(|text| TOP_FOLDERS.iter().any(|top| text.starts_with(top)) && is_plain(text)).collect()
}

#[test]
fn every_link_and_every_path_of_the_documents_resolves() {
    let (mut checked, mut broken) = (0, Vec::new());
    for name in documents() {
        let text = prose(&read(&name));
        let (links, paths) = (links(&text), paths(&text));
        checked += links.len() + paths.len();
        let lost = links.into_iter().filter(|target| !leads_somewhere(&name, target));
        broken.extend(lost.map(|target| format!("{name}: link {target}")));
        let missing = paths.into_iter().filter(|path| !root().join(path).exists());
        broken.extend(missing.map(|path| format!("{name}: path {path}")));
    }
    assert!(300 < checked, "only {checked} links and paths were found: this test looks in the wrong place");
    assert!(broken.is_empty(), "these lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_architecture_is_read_in_a_quarter_of_an_hour() {
    let words = read("docs/ARCHITECTURE.md").split_whitespace().count();
    assert!(
        words <= MAX_ARCHITECTURE_WORDS,
        "docs/ARCHITECTURE.md has {words} words, {MAX_ARCHITECTURE_WORDS} at most: move a mechanism to docs/design"
    );
}

#[test]
fn a_cell_of_a_table_is_read_at_a_glance() {
    let mut long = Vec::new();
    for name in documents() {
        let text = prose(&read(&name));
        let cells = text.lines().filter(|line| line.starts_with('|')).flat_map(|row| row.split('|'));
        let words = cells.map(|cell| (cell.split_whitespace().count(), cell));
        long.extend(words.filter(|(words, _)| MAX_CELL_WORDS < *words).map(|(words, cell)| {
            let start: String = cell.chars().take(60).collect();
            format!("{name}: {words} words in{start}…")
        }));
    }
    assert!(long.is_empty(), "{MAX_CELL_WORDS} words at most in a cell:\n{}", long.join("\n"));
}

/// The texts between backticks, cut where a value or a label begins.
fn names(text: &str) -> Vec<&str> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.flat_map(str::split_whitespace).filter_map(|word| word.split(['=', '{', '[']).next()).collect()
}

#[test]
fn every_setting_and_every_metric_of_the_operators_guide_exists() {
    let (guide, settings, metrics) =
        (prose(&read("docs/OPERATIONS.md")), read("docs/settings.md"), read("docs/metrics.md"));
    let names = names(&guide);
    let is_variable = |name: &str| VARIABLES.iter().any(|start| name.len() > start.len() && name.starts_with(start));
    let variables: Vec<_> = names.iter().filter(|name| is_variable(name)).collect();
    let told: Vec<_> = names.iter().filter(|name| name.starts_with("dropin_") && **name != "dropin_service").collect();
    assert!(40 < variables.len() && 20 < told.len(), "this test looks in the wrong place");
    let mut unknown: Vec<_> = variables.into_iter().filter(|name| !settings.contains(&format!("`{name}`"))).collect();
    unknown.extend(told.into_iter().filter(|name| !metrics.contains(&format!("`{name}`"))));
    assert!(unknown.is_empty(), "docs/settings.md and docs/metrics.md do not have {unknown:?}");
}

/// `name = value` lines of the file, and the rows that say the same in docs/SCREENING.md: `| `name` | value | … |`.
#[test]
fn the_screening_guide_has_every_number_that_is_built_in() {
    let (guide, rules) = (read("docs/SCREENING.md"), read("crates/domain/risk/src/built_in.toml"));
    let numbers = rules.split("\n[rules]\n").next().unwrap_or_default();
    let numbers: Vec<_> = numbers.lines().filter_map(|line| line.split_once(" = ")).collect();
    assert!(40 < numbers.len(), "this test looks in the wrong place");
    let rows = numbers.iter().map(|(name, value)| format!("| `{name}` | {value} |"));
    let missing: Vec<_> = rows.filter(|row| !guide.lines().any(|line| line.starts_with(row))).collect();
    assert!(missing.is_empty(), "docs/SCREENING.md needs rows that begin with\n{}", missing.join("\n"));
}
