//! The documents for contributors agree with the repository: the README links them, and the licenses are what Cargo.toml says.

use std::fs;
use std::path::{Path, PathBuf};

/// Documents that README.md has to link.
const LINKED: [&str; 6] =
    ["CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_readme_leads_to_every_guide() {
    let readme = text("README.md");
    for name in LINKED {
        assert!(readme.contains(&format!("]({name})")), "README.md does not link {name}");
    }
}

#[test]
fn the_changelog_tells_operators_of_every_migration() {
    let page = text("CHANGELOG.md");
    assert!(page.contains("\n## [Unreleased]\n"));
    let folders = fs::read_dir(root().join("migrations/postgres")).expect("the migrations").flatten();
    let names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(10 < names.len());
    let untold: Vec<_> = names.iter().filter(|name| !page.contains(&format!("| `{name}` |"))).collect();
    assert!(untold.is_empty(), "CHANGELOG.md, \"Migrations\", does not tell what these change: {untold:?}");
}

/// Every package takes its license from the workspace, and the texts of both are there.
#[test]
fn every_package_is_under_both_licenses() {
    assert!(text("Cargo.toml").contains("\nlicense = \"MIT OR Apache-2.0\"\n"));
    assert!(text("LICENSE-MIT").starts_with("MIT License\n"));
    assert!(text("LICENSE-APACHE").contains("Version 2.0, January 2004"));
    let mut folders = vec![root()];
    let mut manifests = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && ![".git", "node_modules", "target", "dropin-data"].iter().any(|skip| name == *skip) {
                folders.push(path);
            } else if name == "Cargo.toml" && folder != root() {
                let manifest = fs::read_to_string(&path).expect("a manifest");
                assert!(manifest.contains("\nlicense.workspace = true\n"), "{}", path.display());
                manifests += 1;
            }
        }
    }
    assert!(30 < manifests, "only {manifests} manifests were found");
}
