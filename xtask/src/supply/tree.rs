//! The packages of the workspace and everything that they are built from, as cargo resolves them for one target.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::command::{captured, cargo, workspace_root};
use crate::failure::{Context, Outcome};

/// One package.
#[derive(Debug, Clone)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// As its manifest says it.
    pub(super) license: Option<String>,
    /// Where it comes from; `None` for packages of the workspace.
    pub(super) source: Option<String>,
    /// SHA-256 of what the registry gave, in hexadecimal digits, from Cargo.lock.
    pub(super) checksum: Option<String>,
    /// Ids of what it needs to run, and to be built.
    pub(super) normal: BTreeSet<String>,
    pub(super) build: BTreeSet<String>,
}

/// All packages that somebody in the workspace needs for more than tests, by cargo's ids.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) packages: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    resolve: Resolve,
    workspace_members: Vec<String>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Tree {
    /// What cargo resolves for `target`. Features are those of the whole workspace, so that the list is never too short.
    pub(super) fn read(target: &str) -> Outcome<Self> {
        let metadata =
            captured(cargo().args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]))?;
        let lock = workspace_root().join("Cargo.lock");
        let lock = std::fs::read_to_string(&lock).context(|| format!("read {}", lock.display()))?;
        let built = captured(cargo().args([
            "tree",
            "--locked",
            "--workspace",
            "--target",
            target,
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]))?;
        let mut tree = Self::parse(&metadata, &lock)?;
        tree.retain_built(&built);
        Ok(tree)
    }

    /// Keeps the packages that `cargo tree` lists. The metadata name optional ones too that another one's features mention and nobody turns on.
    fn retain_built(&mut self, listed: &str) {
        let of_line = |line: &str| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
        };
        let built: BTreeSet<_> = listed.lines().filter_map(of_line).collect();
        self.packages.retain(|_, package| built.contains(&(package.name.clone(), package.version.clone())));
    }

    pub(super) fn parse(metadata: &str, lock: &str) -> Outcome<Self> {
        let metadata: Metadata = serde_json::from_str(metadata).context(|| "understand cargo metadata".to_owned())?;
        let lock: Lock = toml::from_str(lock).context(|| "understand Cargo.lock".to_owned())?;
        let checksums: BTreeMap<_, _> =
            lock.package.into_iter().map(|one| ((one.name, one.version), one.checksum)).collect();
        let mut packages: BTreeMap<_, _> = metadata
            .packages
            .into_iter()
            .map(|one| {
                let checksum = checksums.get(&(one.name.clone(), one.version.clone())).cloned().flatten();
                let MetadataPackage { id, name, version, license, source } = one;
                let (normal, build) = (BTreeSet::new(), BTreeSet::new());
                (id, Package { name, version, license, source, checksum, normal, build })
            })
            .collect();
        for node in metadata.resolve.nodes {
            let Some(package) = packages.get_mut(&node.id) else { continue };
            for dependency in node.deps {
                let is = |wanted: Option<&str>| dependency.dep_kinds.iter().any(|kind| kind.kind.as_deref() == wanted);
                if is(None) {
                    package.normal.insert(dependency.pkg.clone());
                }
                if is(Some("build")) {
                    package.build.insert(dependency.pkg);
                }
            }
        }
        let mut tree = Self { packages };
        let needed =
            tree.closure(metadata.workspace_members, |package| package.normal.union(&package.build).cloned().collect());
        tree.packages.retain(|id, _| needed.contains(id));
        Ok(tree)
    }

    /// Ids of everything that the packages with these ids need by `edges`, themselves included.
    pub(super) fn closure(&self, roots: Vec<String>, edges: impl Fn(&Package) -> Vec<String>) -> BTreeSet<String> {
        let (mut found, mut open) = (BTreeSet::new(), roots);
        while let Some(id) = open.pop() {
            if let Some(package) = self.packages.get(&id)
                && found.insert(id)
            {
                open.extend(edges(package));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_turns_on_is_no_part() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            license: None,
            source: None,
            checksum: None,
            normal: BTreeSet::new(),
            build: BTreeSet::new(),
        };
        let packages = ["used", "optional", "own"].map(|name| (name.to_owned(), package(name))).into();
        let mut tree = Tree { packages };
        tree.retain_built("own v1.2.3 (/house/own)\nused v1.2.3 (*)\noptional v1.0.0\n");
        assert_eq!(tree.packages.keys().collect::<Vec<_>>(), ["own", "used"]);
    }
}
