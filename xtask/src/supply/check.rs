//! The rules of deny.toml that need no database. cargo-deny reads the same file and knows more; this cannot be left out for want of it.

use std::path::Path;

use serde::Deserialize;

use super::license;
use super::tree::{Id, Package, Tree};
use crate::failure::{Context, Failure, Outcome};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Debug, Deserialize)]
pub(super) struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    name: String,
    #[serde(default)]
    wrappers: Vec<String>,
    reason: String,
}

impl Rules {
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let file = root.join("deny.toml");
        let text = std::fs::read_to_string(&file).context(|| format!("read {}", file.display()))?;
        toml::from_str(&text).context(|| "understand deny.toml".to_owned())
    }

    /// The target that dependencies are resolved for.
    pub(super) fn target(&self) -> Outcome<&str> {
        let first = self.graph.targets.first().map(String::as_str);
        first.ok_or_else(|| Failure::new("deny.toml names no target in [graph]"))
    }
}

/// Everything that breaks a rule, each with what to do.
pub(super) fn violations(rules: &Rules, tree: &Tree) -> Vec<String> {
    let mut all: Vec<_> = tree.packages.values().flat_map(|package| of_package(rules, package)).collect();
    all.extend(rules.bans.deny.iter().flat_map(|ban| of_ban(ban, tree)));
    all
}

fn of_package(rules: &Rules, package: &Package) -> Vec<String> {
    let Some(source) = &package.source else { return Vec::new() };
    let name = format!("{} {}", package.name, package.version);
    let mut violations = Vec::new();
    match &package.license {
        Some(expression) if license::is_allowed(expression, &rules.licenses.allow) => {}
        Some(expression) => {
            violations.push(format!("{name} is under {expression}: replace it, or allow that license in deny.toml"))
        }
        None => violations.push(format!("{name} names no license: replace it")),
    }
    if source != REGISTRY {
        violations.push(format!("{name} comes from {source}: take it from crates.io"));
    }
    if package.checksum.is_none() {
        violations.push(format!("{name} has no checksum in Cargo.lock: run `cargo update --workspace`"));
    }
    violations
}

fn of_ban(ban: &Ban, tree: &Tree) -> Vec<String> {
    let banned = |(name, _): &Id| *name == ban.name;
    let users = tree.packages.values().filter(|user| user.needs.iter().any(banned));
    let others = users.filter(|user| !ban.wrappers.contains(&user.name));
    others.map(|user| format!("{} may not depend on {}: {}", user.name, ban.name, ban.reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rule itself, so that `cargo test` keeps it too.
    #[test]
    fn the_workspace_keeps_the_rules_of_deny_toml() {
        if let Err(failure) = crate::supply::check() {
            panic!("{failure}");
        }
    }

    fn found(license: &str, source: &str, checksum: &str, user: &str) -> Vec<String> {
        let rules = "[graph]\ntargets = ['t']\n[licenses]\nallow = ['MIT']\n[bans]\ndeny = [{ name = 'crate', wrappers = ['owner'], reason = 'no' }]";
        let tree = format!("0 {user} v1.0.0 (/house)\tMIT\n1 crate v1.2.3\t{license}\n1 crate v1.2.3\t{license} (*)\n");
        let lock = format!(
            "[[package]]\nname = '{user}'\nversion = '1.0.0'\n\
             [[package]]\nname = 'crate'\nversion = '1.2.3'\nsource = '{source}'\n{checksum}\n"
        );
        violations(&toml::from_str(rules).unwrap(), &Tree::parse(&lock, &tree, &tree).unwrap())
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        let sum = "checksum = 'ab'";
        assert_eq!(found("MIT", REGISTRY, sum, "owner"), [""; 0]);
        for (found, words) in [
            (found("GPL-3.0", REGISTRY, sum, "owner"), "is under GPL-3.0"),
            (found("MIT", "git+https://example.com/crate", sum, "owner"), "comes from git"),
            (found("MIT", REGISTRY, "", "owner"), "no checksum"),
            (found("", REGISTRY, sum, "owner"), "names no license"),
            (found("MIT", REGISTRY, sum, "stranger"), "stranger may not depend on crate: no"),
        ] {
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(words), "{found:?}");
        }
    }
}
