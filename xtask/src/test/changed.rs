//! `cargo xtask test --changed`: the packages whose files differ from a base, and those that depend on them.

use std::collections::BTreeSet;
use std::process::Command;

use crate::command::{captured, workspace_root};
use crate::failure::Outcome;
use crate::layers::workspace::{self, Package};

/// What a run looks at.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scope {
    /// `None`: the whole workspace.
    packages: Option<BTreeSet<String>>,
    /// The programs that the end-to-end tests start.
    programs: BTreeSet<String>,
    /// Whether a document changed that the tests of [`E2E`] read.
    has_documents: bool,
}

/// The package of the end-to-end tests, which start every program of bins, and of the tests of the documents.
const E2E: &str = "dropin-tests";
/// The tests of [`E2E`] that compare documents with the code and with each other.
const DOCUMENT_TESTS: [&str; 5] = ["contributing", "documents", "generated", "guarantees", "specification"];

/// The test of this tool that reads the command lines in the documents.
pub(crate) const COMMAND_LINE_TEST: &str = "every_documented_command_line_is_understood";

/// Files that are built into packages of other folders: how their paths begin and end, and which packages.
const EMBEDDED: [(&str, &str, &[&str]); 5] = [
    ("migrations/", ".sql", &["dropin-store"]),
    ("crates/adapters/store/src/outbox/enqueue_events.postgres.sql", "", &["xtask"]),
    ("docs/openapi/", "", &["session-api", "checkout-api", "stash-api"]),
    ("bins/", "/example.env", &["dropin-boot"]),
    ("bins/checkout-api/src/return_page.rs", "", &["dropin-browser"]),
];

impl Scope {
    /// What differs from the commit in which this branch left `base`, files that are not committed included.
    pub(crate) fn since(base: &str) -> Outcome<Self> {
        let mut files = git(&["diff", "--name-only", "--no-renames", "--merge-base", base])?;
        files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
        Ok(Self::of(&files, &workspace::packages()?))
    }

    fn of(files: &[String], packages: &[Package]) -> Self {
        let mut scope = Self { packages: Some(BTreeSet::new()), ..Self::default() };
        for file in files {
            let built_into = packages_of(file, packages);
            if !built_into.is_empty() {
                scope.packages.iter_mut().for_each(|known| known.extend(built_into.iter().cloned()));
            } else if is_document(file) {
                scope.has_documents = true;
            } else {
                // Cargo.lock, clippy.toml, .ci/run and the like.
                scope.packages = None;
            }
        }
        if let Some(changed) = scope.packages.take() {
            let affected = dependents(changed, packages);
            if affected.contains(E2E) {
                scope.programs = packages.iter().filter(|one| is_program(one)).map(|one| one.name.clone()).collect();
            }
            scope.packages = Some(affected);
        }
        scope
    }

    /// The names of the stages that this scope needs.
    pub(crate) fn stages(&self) -> Vec<&'static str> {
        let Some(packages) = &self.packages else {
            return vec!["fmt", "layers", "supply", "clippy", "build", "tests", "leftovers"];
        };
        match (packages.is_empty(), self.has_documents) {
            (true, true) => vec!["tests"],
            (true, false) => Vec::new(),
            (false, _) => {
                let mut stages = vec!["fmt", "layers", "clippy", "tests", "leftovers"];
                stages.extend(packages.contains(E2E).then_some("build"));
                stages
                    .extend(packages.contains("dropin-browser").then_some(["browser", "bundle"]).into_iter().flatten());
                stages
            }
        }
    }

    /// Whether this is the whole workspace.
    pub(crate) fn is_whole(&self) -> bool {
        self.packages.is_none()
    }

    /// What cargo is told to look at; nothing when no package changed.
    pub(crate) fn packages(&self) -> Option<Vec<&str>> {
        match &self.packages {
            None => Some(vec!["--workspace"]),
            Some(packages) if packages.is_empty() => None,
            Some(packages) => Some(named(packages)),
        }
    }

    /// What cargo is told to build before the tests.
    pub(crate) fn build(&self) -> Vec<&str> {
        let is_more = |name: &&String| self.packages.as_ref().is_some_and(|packages| !packages.contains(*name));
        let programs = named(self.programs.iter().filter(is_more));
        self.packages().into_iter().flatten().chain(programs).collect()
    }

    /// The tests of documents, where they do not run with their whole package.
    pub(crate) fn document_tests(&self) -> Option<Vec<&str>> {
        let is_within = self.packages.as_ref().is_none_or(|packages| packages.contains(E2E));
        let tests = DOCUMENT_TESTS.iter().flat_map(|name| ["--test", name]);
        (self.has_documents && !is_within).then(|| ["--package", E2E].into_iter().chain(tests).collect())
    }

    /// One line for the person who waits.
    pub(crate) fn description(&self) -> String {
        let documents = if self.has_documents { "documents" } else { "no document" };
        match &self.packages {
            None => "a file changed that every package depends on".to_owned(),
            Some(packages) if packages.is_empty() => format!("no package and {documents} changed"),
            Some(packages) => {
                let names = packages.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("{documents} changed, and what these {} packages are built from: {names}", packages.len())
            }
        }
    }
}

fn named<'a>(packages: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    packages.into_iter().flat_map(|name| ["--package", name]).collect()
}

fn is_program(package: &Package) -> bool {
    package.folder.starts_with("bins")
}

/// Text that no program is built from.
fn is_document(file: &str) -> bool {
    let plain = [".editorconfig", ".gitignore", "LICENSE-APACHE", "LICENSE-MIT"];
    file.starts_with("docs/") || file.ends_with(".md") || plain.contains(&file)
}

/// The package in whose folder a file is, and those that it is built into.
fn packages_of(file: &str, packages: &[Package]) -> BTreeSet<String> {
    let embedding = EMBEDDED.iter().filter(|(start, end, _)| file.starts_with(start) && file.ends_with(end));
    let embedding = embedding.flat_map(|(_, _, names)| *names).map(|name| (*name).to_owned());
    let owners = packages.iter().filter(|package| std::path::Path::new(file).starts_with(&package.folder));
    // A package inside another one's folder has its files for itself.
    let owner = owners.max_by_key(|package| package.folder.components().count());
    embedding.chain(owner.map(|package| package.name.clone())).collect()
}

/// These packages, those that are built from them, and those whose tests are.
fn dependents(mut built: BTreeSet<String>, packages: &[Package]) -> BTreeSet<String> {
    loop {
        let uses = |package: &&Package| built.iter().any(|name| package.declares(name));
        let more: Vec<String> =
            packages.iter().filter(uses).map(|one| one.name.clone()).filter(|name| !built.contains(name)).collect();
        if more.is_empty() {
            break;
        }
        built.extend(more);
    }
    let tests = |package: &&Package| {
        package.dependencies.iter().any(|dependency| built.contains(&dependency.name))
            || package.name == E2E && packages.iter().any(|one| is_program(one) && built.contains(&one.name))
    };
    let tested: Vec<String> = packages.iter().filter(tests).map(|one| one.name.clone()).collect();
    built.extend(tested);
    built
}

fn git(arguments: &[&str]) -> Outcome<Vec<String>> {
    let text = captured(Command::new("git").args(arguments).current_dir(workspace_root()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::workspace::Dependency;

    fn package(name: &str, folder: &str, declares: &[&str], tests_with: &[&str]) -> Package {
        let declares = declares.iter().map(|name| (*name, None));
        let tests_with = tests_with.iter().map(|name| (*name, Some("dev".to_owned())));
        let dependency = |(name, kind): (&str, _)| Dependency { name: name.to_owned(), kind };
        let dependencies = declares.chain(tests_with).map(dependency).collect();
        Package { name: name.to_owned(), folder: folder.into(), dependencies, ..Package::default() }
    }

    fn sample_workspace() -> Vec<Package> {
        vec![
            package("dropin-money", "crates/domain/money", &["time"], &[]),
            package("dropin-store", "crates/adapters/store", &["dropin-money"], &["dropin-store-contract"]),
            package("dropin-store-contract", "crates/adapters/store-contract", &[], &[]),
            package("notifier", "bins/notifier", &["dropin-store"], &[]),
            package("dropin-tests", "tests", &[], &[]),
            package("dropin-baseline", "tests/baseline", &[], &[]),
            package("xtask", "xtask", &[], &[]),
        ]
    }

    fn scope(files: &[&str]) -> Scope {
        Scope::of(&files.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>(), &sample_workspace())
    }

    fn tested(files: &[&str]) -> Vec<String> {
        scope(files).packages.unwrap().into_iter().collect()
    }

    #[test]
    fn a_change_reaches_whatever_is_built_or_tested_with_it() {
        let all = ["dropin-money", "dropin-store", "dropin-tests", "notifier"];
        assert_eq!(tested(&["crates/domain/money/src/lib.rs"]), all);
        assert_eq!(tested(&["crates/adapters/store-contract/src/lib.rs"]), ["dropin-store", "dropin-store-contract"]);
        assert_eq!(tested(&["tests/baseline/src/main.rs"]), ["dropin-baseline"]);
        assert_eq!(tested(&["migrations/sqlite/1/up.sql"]), all[1..]);
    }

    #[test]
    fn documents_alone_run_their_tests_alone() {
        for file in ["README.md", "docs/adr/0001-x.md", "migrations/README.md", "LICENSE-MIT"] {
            let scope = scope(&[file]);
            assert_eq!((scope.stages(), scope.packages()), (vec!["tests"], None), "{file}");
            assert_eq!(scope.document_tests().unwrap()[..4], ["--package", E2E, "--test", "contributing"]);
        }
        let both = scope(&["README.md", "xtask/src/main.rs"]);
        assert!(both.document_tests().is_some() && both.packages() == Some(vec!["--package", "xtask"]));
        assert_eq!(scope(&["README.md", "tests/src/lib.rs"]).document_tests(), None, "they run with their package");
    }

    #[test]
    fn a_file_that_everything_depends_on_means_everything() {
        for file in ["Cargo.lock", "clippy.toml", ".cargo/config.toml"] {
            let scope = scope(&["xtask/src/main.rs", file]);
            assert_eq!(scope.packages(), Some(vec!["--workspace"]), "{file}");
            assert_eq!(scope.build(), ["--workspace"]);
        }
        assert!(scope(&[]).stages().is_empty());
    }

    #[test]
    fn the_programs_are_built_before_they_are_tested_end_to_end() {
        let scope = scope(&["tests/src/lib.rs"]);
        assert_eq!(scope.packages(), Some(vec!["--package", E2E]));
        assert_eq!(scope.build(), ["--package", E2E, "--package", "notifier"]);
        assert!(scope.stages().contains(&"build"));
    }

    #[test]
    fn the_tests_and_packages_that_this_names_exist() {
        let packages = workspace::packages().unwrap();
        let named = EMBEDDED.iter().flat_map(|(_, _, names)| *names).chain([&E2E, &"dropin-browser"]);
        named.for_each(|name| assert!(packages.iter().any(|one| one.name == *name), "{name}"));
        EMBEDDED.iter().for_each(|(start, _, _)| assert!(workspace_root().join(start).exists(), "{start}"));
        DOCUMENT_TESTS
            .iter()
            .for_each(|name| assert!(workspace_root().join(format!("tests/tests/{name}.rs")).exists()));
        let tests = std::fs::read_to_string(workspace_root().join("xtask/src/main.rs")).unwrap();
        assert!(tests.contains(&format!("fn {COMMAND_LINE_TEST}()")));
        let stages = |scope: &Scope| scope.stages().into_iter().all(super::super::is_stage);
        assert!(stages(&Scope::default()) && stages(&scope(&["README.md", "tests/src/lib.rs"])));
    }
}
