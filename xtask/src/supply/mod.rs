//! What the programs are made of: whether every dependency may be there (`cargo xtask deny`), and the list of them (`cargo xtask sbom`).

mod check;
mod license;
mod sbom;
mod tree;

use std::fs;
use std::path::PathBuf;

use crate::command::{captured, cargo, rendered, succeeds, target_folder, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use check::Rules;
use tree::Tree;

const SHIPPED: [&str; 9] = [
    "dropin",
    "session-api",
    "checkout-api",
    "stash-api",
    "notifier",
    "settler",
    "admin-panel",
    "sandbox-processor",
    "demo-shop",
];

/// Holds licenses, sources and bans against deny.toml. Needs no network and no tool but cargo.
pub(crate) fn check() -> Outcome<()> {
    let rules = Rules::read(&workspace_root())?;
    let tree = Tree::read(rules.target()?)?;
    let violations = check::violations(&rules, &tree);
    if violations.is_empty() {
        println!("{} packages keep the rules of deny.toml: licenses, sources, bans", tree.packages.len());
        return Ok(());
    }
    Err(Failure::new(format!("deny.toml is violated ({}):\n  {}", violations.len(), violations.join("\n  "))))
}

/// The same, then cargo-deny where it is installed, which knows the database of advisories.
pub(crate) fn deny() -> Outcome<()> {
    check()?;
    if !succeeds(cargo().args(["deny", "--version"])) {
        println!(
            "advisories were NOT looked at: cargo-deny is not installed. Install it (`cargo install --locked cargo-deny`), get its database once \
             (`cargo deny fetch`), and run `cargo xtask deny` again."
        );
        return Ok(());
    }
    let mut others = cargo();
    others.args(["deny", "--offline", "check", "bans", "licenses", "sources"]);
    captured(&mut others)?;
    let mut advisories = cargo();
    advisories.args(["deny", "--offline", "check", "advisories"]);
    match captured(&mut advisories) {
        Ok(_) => println!("cargo-deny agrees, and finds no advisory"),
        Err(failure) if failure.to_string().contains("failed to open advisory database") => println!(
            "advisories were NOT looked at: cargo-deny has no database here. Get it (`cargo deny fetch`), and run `{}`.",
            rendered(&advisories)
        ),
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Writes the SBOM to `file`, or to target/sbom.
pub(crate) fn write(file: Option<PathBuf>) -> Outcome<()> {
    let file = file.unwrap_or_else(|| target_folder().join("sbom/dropin.cdx.json"));
    let rules = Rules::read(&workspace_root())?;
    let text = sbom::document(&Tree::read(rules.target()?)?, &SHIPPED)?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).context(|| format!("make {}", folder.display()))?;
    }
    fs::write(&file, text).context(|| format!("write {}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}
