//! What the workspace really looks like: its packages, their manifests and their dependency closures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::graph::Closure;
use crate::command::{captured, cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// One package of the workspace, as `cargo metadata` tells of it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Relative to the root of the workspace.
    #[serde(rename = "manifest_path")]
    pub(crate) folder: PathBuf,
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
}

/// A crate that a package declares; one without a kind is needed to run.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    /// Whether the crate runs with that one.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.dependencies.iter().any(|dependency| dependency.kind.is_none() && dependency.name == name)
    }

    /// Whether cargo would refuse to publish it.
    pub(crate) fn is_private(&self) -> bool {
        self.publish.as_ref().is_some_and(Vec::is_empty)
    }

    /// Its example programs.
    pub(crate) fn examples(&self) -> impl Iterator<Item = &str> {
        let examples = self.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "example"));
        examples.map(|target| target.name.as_str())
    }
}

/// Every package of the workspace. Only facts of single manifests are taken from `cargo metadata`: its resolved graph
/// is unified over the whole workspace and would show edges that a package alone does not have.
pub(crate) fn packages() -> Outcome<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let text = captured(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let Metadata { mut packages } = serde_json::from_str(&text).context(|| "understand cargo metadata".to_owned())?;
    for package in &mut packages {
        let folder = package.folder.parent().and_then(|folder| folder.strip_prefix(workspace_root()).ok());
        let folder = folder.map(Path::to_path_buf);
        package.folder =
            folder.ok_or_else(|| Failure::new(format!("{} is outside of the workspace's folder", package.name)))?;
    }
    Ok(packages)
}

/// The real closure of one package built alone. Procedural macros run at build time and are left out.
pub(crate) fn closure(package: &str) -> Outcome<Closure> {
    let mut tree = cargo();
    tree.args(["tree", "--package", package, "--edges", "normal,no-proc-macro", "--prefix", "depth"]);
    Closure::parse(&captured(tree.args(["--format", " {p}"]))?)
}

/// Every feature that is on anywhere in the workspace, as pairs of crate and feature.
pub(crate) fn features() -> Outcome<Vec<(String, String)>> {
    let mut tree = cargo();
    tree.args(["tree", "--workspace", "--edges", "features", "--prefix", "none"]);
    // Lines like: serde_json feature "raw_value"
    let text = captured(&mut tree)?;
    let mut features: Vec<_> = text.lines().filter_map(feature_of).collect();
    features.sort();
    features.dedup();
    Ok(features)
}

fn feature_of(line: &str) -> Option<(String, String)> {
    let (name, rest) = line.trim().split_once(" feature \"")?;
    let (feature, _) = rest.split_once('"')?;
    Some((name.to_owned(), feature.to_owned()))
}
