//! The packages of the workspace and everything that they are built from, as cargo resolves them for one target.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::command::{captured, cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::layers::graph::edges;

/// Name and version.
pub(super) type Id = (String, String);

/// What Cargo.lock and `cargo tree` say of a package.
#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// Where it comes from; `None` for packages of the workspace.
    pub(super) source: Option<String>,
    /// SHA-256 of what the registry gave, in hexadecimal digits.
    pub(super) checksum: Option<String>,
    /// As its manifest says it.
    #[serde(skip)]
    pub(super) license: Option<String>,
    /// What it needs to run.
    #[serde(skip)]
    pub(super) runs_with: BTreeSet<Id>,
    /// The same, and what it needs to be built.
    #[serde(skip)]
    pub(super) needs: BTreeSet<Id>,
}

/// All packages that somebody in the workspace needs for more than tests.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) packages: BTreeMap<Id, Package>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

impl Tree {
    /// What cargo resolves for `target`. Features are those of the whole workspace, so that the list is never too short.
    pub(super) fn read(target: &str) -> Outcome<Self> {
        let tree = |edges: &str| {
            let mut tree = cargo();
            tree.args(["tree", "--locked", "--workspace", "--target", target, "--edges", edges]);
            captured(tree.args(["--prefix", "depth", "--format", " {p}\t{l}"]))
        };
        let lock = workspace_root().join("Cargo.lock");
        let lock = std::fs::read_to_string(&lock).context(|| format!("read {}", lock.display()))?;
        Self::parse(&lock, &tree("normal,build")?, &tree("normal")?)
    }

    /// `needed`: what `cargo tree` prints with the edges to what is needed to build, `running`: without them.
    pub(super) fn parse(lock: &str, needed: &str, running: &str) -> Outcome<Self> {
        let Lock { package } = toml::from_str(lock).context(|| "understand Cargo.lock".to_owned())?;
        let mut locked: BTreeMap<Id, Package> =
            package.into_iter().map(|one| ((one.name.clone(), one.version.clone()), one)).collect();
        let mut packages = BTreeMap::new();
        for (parent, what) in edges(needed)? {
            let (id, license) = read(what)?;
            if let Some(package) = locked.remove(&id) {
                packages.insert(id.clone(), Package { license, ..package });
            }
            let parent = parent.map(read).transpose()?.and_then(|(parent, _)| packages.get_mut(&parent));
            parent.into_iter().for_each(|parent| parent.needs.extend([id.clone()]));
            if !packages.contains_key(&id) {
                return Err(Failure::new(format!("Cargo.lock does not name {} {}", id.0, id.1)));
            }
        }
        for (parent, what) in edges(running)? {
            let parent = parent.map(read).transpose()?.and_then(|(parent, _)| packages.get_mut(&parent));
            parent.map(|parent| read(what).map(|(id, _)| parent.runs_with.insert(id))).transpose()?;
        }
        Ok(Self { packages })
    }

    /// Everything that these packages need to run, themselves included.
    pub(super) fn running(&self, mut roots: Vec<Id>) -> BTreeSet<Id> {
        let mut found = BTreeSet::new();
        while let Some(id) = roots.pop() {
            if let Some(package) = self.packages.get(&id)
                && found.insert(id)
            {
                roots.extend(package.runs_with.iter().cloned());
            }
        }
        found
    }
}

/// Reads "name v1.2.3 (more)\tlicense (*)".
fn read(what: &str) -> Outcome<(Id, Option<String>)> {
    let (package, license) = what.trim_end_matches(" (*)").split_once('\t').unwrap_or((what, ""));
    let mut words = package.split(' ');
    let id = words.next().zip(words.next().and_then(|word| word.strip_prefix('v')));
    let (name, version) = id.ok_or_else(|| Failure::new(format!("cargo tree names no version: `{what}`")))?;
    Ok(((name.to_owned(), version.to_owned()), Some(license.to_owned()).filter(|license| !license.is_empty())))
}
