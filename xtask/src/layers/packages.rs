//! What every package has to bring along, and the two folders of migrations.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::workspace::Package;
use crate::failure::{Context, Outcome};

/// Lints that every domain crate turns on for itself (clippy.toml says what they ban).
const DOMAIN_LINTS: [&str; 2] = ["clippy::disallowed_methods", "clippy::disallowed_types"];

/// The license texts: in the root, and in every crate that is packed.
const LICENSES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// Checks the files and the manifest of one package.
pub(crate) fn check_package(root: &Path, package: &Package) -> Outcome<Vec<String>> {
    let folder = root.join(&package.folder);
    let manifest = read(&folder.join("Cargo.toml"))?;
    let manifest: toml::Table = toml::from_str(&manifest).context(|| format!("understand {}", folder.display()))?;
    let mut violations = check_manifest(&manifest);
    let wished = package.name.strip_prefix("dropin-").unwrap_or(&package.name);
    if package.folder.file_name().and_then(|name| name.to_str()) != Some(wished) {
        violations.push(format!("its folder must be called `{wished}`"));
    }
    let is_domain = package.folder.starts_with("crates/domain");
    match (is_domain, package.is_private()) {
        (false, false) => violations.push("add `publish.workspace = true`: it is not for a registry".to_owned()),
        (true, true) => violations.push("take `publish.workspace = true` out: other teams import it".to_owned()),
        _ => {}
    }
    if is_domain {
        if !folder.join("CHANGELOG.md").is_file() {
            violations.push("add CHANGELOG.md: it is packed".to_owned());
        }
        violations.extend(check_licenses(root, &folder)?);
    }
    if !folder.join("README.md").is_file() {
        violations.push("add a README.md: what it is, what it must never do, one example".to_owned());
    }
    if is_domain && !denies_domain_lints(&read(&folder.join("src/lib.rs"))?) {
        violations.push(format!("add `#![deny({})]` to src/lib.rs", DOMAIN_LINTS.join(", ")));
    }
    Ok(violations.into_iter().map(|what| format!("{}: {what}", package.name)).collect())
}

/// The license texts of a crate that is packed are copies of the root's. Tools turn a link into a file that contains its path alone.
fn check_licenses(root: &Path, folder: &Path) -> Outcome<Vec<String>> {
    let mut violations = Vec::new();
    for name in LICENSES {
        let (text, copy) = (read(&root.join(name))?, folder.join(name));
        let is_link = copy.is_symlink();
        if is_link || fs::read_to_string(copy).ok().as_ref() != Some(&text) {
            let what = if is_link { "is a link" } else { "differs from the root's or is missing" };
            violations.push(format!("{name} {what}: copy the root's {name}, it is packed"));
        }
    }
    Ok(violations)
}

/// The manifest takes its lints and every dependency from the root.
fn check_manifest(manifest: &toml::Table) -> Vec<String> {
    let is_inherited = |value: &toml::Value| value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
    let mut violations = Vec::new();
    if !manifest.get("lints").is_some_and(is_inherited) {
        violations.push("add `[lints] workspace = true` to Cargo.toml".to_owned());
    }
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    for place in targets.filter_map(toml::Value::as_table).chain([manifest]) {
        let kinds =
            ["dependencies", "dev-dependencies", "build-dependencies"].iter().filter_map(|kind| place.get(*kind));
        for (name, value) in kinds.filter_map(toml::Value::as_table).flatten() {
            if !is_inherited(value) {
                violations.push(format!(
                    "write `{name}.workspace = true`; versions stand in the root's [workspace.dependencies]"
                ));
            }
        }
    }
    violations
}

/// Whether the inner `deny` attributes of a crate name all the domain's lints.
fn denies_domain_lints(source: &str) -> bool {
    let attributes = source.split("#![deny(").skip(1).filter_map(|rest| rest.split(")]").next());
    let denied: BTreeSet<&str> = attributes.flat_map(|list| list.split(',')).map(str::trim).collect();
    DOMAIN_LINTS.iter().all(|lint| denied.contains(lint))
}

/// Both databases have the same migrations by name.
pub(crate) fn check_migrations(root: &Path) -> Outcome<Vec<String>> {
    let [postgres, sqlite] = ["postgres", "sqlite"].map(|name| folders_in(&root.join("migrations").join(name)));
    Ok(compare_migrations(&postgres?, &sqlite?))
}

fn compare_migrations(postgres: &BTreeSet<String>, sqlite: &BTreeSet<String>) -> Vec<String> {
    let lacks = |there: &BTreeSet<String>, here: &BTreeSet<String>, place: &str| -> Vec<String> {
        let missing = there.difference(here);
        missing.map(|name| format!("migrations/{place} lacks `{name}`: add it in the same commit")).collect()
    };
    [lacks(postgres, sqlite, "sqlite"), lacks(sqlite, postgres, "postgres")].concat()
}

fn folders_in(folder: &Path) -> Outcome<BTreeSet<String>> {
    let entries = fs::read_dir(folder).context(|| format!("list {}", folder.display()))?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    Ok(folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).context(|| format!("read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Vec<String> {
        check_manifest(&toml::from_str(text).unwrap())
    }

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        let good = "lints.workspace = true\n[dependencies]\ntime.workspace = true\nurl = { workspace = true }\n";
        assert_eq!(manifest(good), [""; 0]);
    }

    #[test]
    fn a_version_of_its_own_is_found_in_every_kind_of_dependency() {
        for place in ["dependencies", "dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let violations = manifest(&format!("lints.workspace = true\n[{place}]\ntime = '0.3'\n"));
            assert_eq!(violations.len(), 1, "{place}: {violations:?}");
            assert!(violations[0].contains("`time.workspace = true`"), "{violations:?}");
        }
    }

    #[test]
    fn missing_lints_are_found() {
        assert!(manifest("[package]\nname = 'x'\n")[0].contains("[lints] workspace = true"));
    }

    #[test]
    fn a_domain_crate_must_deny_both_lints() {
        assert!(denies_domain_lints("#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]"));
        assert!(denies_domain_lints("#![deny(\n    clippy::disallowed_methods,\n    clippy::disallowed_types\n)]"));
        assert!(!denies_domain_lints("#![deny(clippy::disallowed_methods)]"));
        assert!(!denies_domain_lints("#![warn(clippy::disallowed_methods, clippy::disallowed_types)]"));
    }

    #[test]
    fn a_license_that_is_no_copy_of_the_roots_is_found() {
        let root = std::env::temp_dir().join(format!("dropin-licenses-{}", std::process::id()));
        let folder = root.join("crate");
        fs::create_dir_all(&folder).unwrap();
        for name in LICENSES {
            fs::write(root.join(name), format!("the text of {name}\n")).unwrap();
            fs::copy(root.join(name), folder.join(name)).unwrap();
        }
        let violations = || check_licenses(&root, &folder).unwrap();
        assert_eq!(violations(), [""; 0]);
        fs::write(folder.join("LICENSE-MIT"), "../LICENSE-MIT").unwrap();
        assert_eq!(
            violations(),
            ["LICENSE-MIT differs from the root's or is missing: copy the root's LICENSE-MIT, it is packed"]
        );
        fs::remove_file(folder.join("LICENSE-MIT")).unwrap();
        assert_eq!(violations().len(), 1, "it is missing");
        std::os::unix::fs::symlink("../LICENSE-MIT", folder.join("LICENSE-MIT")).unwrap();
        assert_eq!(violations(), ["LICENSE-MIT is a link: copy the root's LICENSE-MIT, it is packed"]);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_migration_for_one_database_alone_is_found() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(compare_migrations(&names(&["0001"]), &names(&["0001"])), [""; 0]);
        let violations = compare_migrations(&names(&["0001", "0002"]), &names(&["0001"]));
        assert_eq!(violations, ["migrations/sqlite lacks `0002`: add it in the same commit"]);
    }
}
