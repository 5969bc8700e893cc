//! One word for one thing: no two packages have public items of one name, unless layers.toml says that they mean the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::rules::SharedName;
use super::sources::sources_below;
use super::workspace::Package;
use crate::failure::Outcome;

/// Items that begin a line after `pub `, with these words between.
const ITEMS: [&str; 7] = ["struct ", "enum ", "trait ", "type ", "fn ", "const ", "static "];

/// Names that several packages have and no row allows, and rows that allow what no two packages have.
pub(crate) fn check_names(root: &Path, packages: &[Package], shared: &[SharedName]) -> Outcome<Vec<String>> {
    let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    // What the test package and xtask export is for themselves.
    let has_users = |package: &&Package| ["crates", "bins"].iter().any(|top| package.folder.starts_with(top));
    for package in packages.iter().filter(has_users) {
        for name in public_names(&root.join(&package.folder).join("src"))? {
            owners.entry(name).or_default().insert(&package.name);
        }
    }
    owners.retain(|_, packages| 1 < packages.len());
    let is_shared = |name: &str| shared.iter().any(|row| row.names.iter().any(|one| one == name));
    let twice = owners.iter().filter(|(name, _)| !is_shared(name)).map(|(name, packages)| {
        let packages: Vec<_> = packages.iter().copied().collect();
        format!(
            "`{name}` is public in {}: rename one, or say in layers.toml why they mean the same",
            packages.join(", ")
        )
    });
    let rows = shared.iter().flat_map(|row| row.names.iter().map(move |name| (name, &row.reason)));
    let unused = rows.filter(|(name, _)| !owners.contains_key(*name)).map(|(name, reason)| {
        format!("layers.toml: `{name}` ({reason}) is public in one package at most: remove it from [[shared]]")
    });
    Ok(twice.chain(unused).collect())
}

fn public_names(folder: &Path) -> Outcome<BTreeSet<String>> {
    let sources = sources_below(folder)?;
    Ok(sources.values().flat_map(|text| text.lines().filter_map(public_name)).map(ToOwned::to_owned).collect())
}

/// The name of the public item that begins in this line, at the top of its module.
fn public_name(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("pub ")?;
    for word in ["const fn ", "async fn ", "unsafe fn "] {
        rest = rest.strip_prefix(word).map_or(rest, |_| &rest[word.len() - "fn ".len()..]);
    }
    let item = ITEMS.iter().find_map(|word| rest.strip_prefix(word))?;
    let end = item.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(item.len());
    Some(&item[..end])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn public_items_are_found() {
        for (line, name) in [
            ("pub struct Caller<'a> {", Some("Caller")),
            ("pub const fn is_final() {", Some("is_final")),
            ("pub async fn run() {", Some("run")),
            ("pub const TRANSITIONS: [u8; 1] = [0];", Some("TRANSITIONS")),
            ("    pub fn method(&self) {", None),
            ("pub(crate) fn inner() {", None),
            ("pub use other::Caller;", None),
        ] {
            assert_eq!(public_name(line), name, "{line}");
        }
    }

    #[test]
    fn a_second_owner_is_told() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            folder: format!("crates/domain/{name}").into(),
            ..Package::default()
        };
        let root = std::env::temp_dir().join(format!("dropin-public-names-{}", std::process::id()));
        for name in ["a", "b"] {
            let folder = root.join(format!("crates/domain/{name}/src"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("lib.rs"), "pub struct Money;\npub struct Rate;\n").unwrap();
        }
        let row = SharedName { names: vec!["Rate".to_owned(), "Gone".to_owned()], reason: "both mean it".to_owned() };
        let told = check_names(&root, &[package("a"), package("b")], &[row]).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("`Money` is public in a, b") && told[1].contains("`Gone`"), "{told:?}");
    }
}
