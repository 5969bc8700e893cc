//! What the workspace really looks like: its packages, their manifests and their dependency closures.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::graph::Closure;
use crate::command::{captured, cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// One package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Relative to the root of the workspace.
    pub(crate) folder: PathBuf,
    /// Names of the crates it declares as normal dependencies.
    pub(crate) declares: Vec<String>,
    /// Names of the crates that only its tests and its build depend on.
    pub(crate) tests_with: Vec<String>,
    /// Whether cargo would refuse to publish it.
    pub(crate) is_private: bool,
    /// Its example programs.
    pub(crate) examples: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    version: String,
    manifest_path: PathBuf,
    publish: Option<Vec<String>>,
    dependencies: Vec<MetadataDependency>,
    targets: Vec<MetadataTarget>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
}

/// Every package of the workspace. Only facts of single manifests are taken from `cargo metadata`: its resolved graph
/// is unified over the whole workspace and would show edges that a package alone does not have.
pub(crate) fn packages() -> Outcome<Vec<Package>> {
    let text = captured(cargo().args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&text).context(|| "understand cargo metadata".to_owned())?;
    let root = workspace_root();
    metadata.packages.into_iter().map(|package| package_of(package, &root)).collect()
}

fn package_of(package: MetadataPackage, root: &Path) -> Outcome<Package> {
    let folder = package.manifest_path.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let folder =
        folder.ok_or_else(|| Failure::new(format!("{} is outside of the workspace's folder", package.name)))?;
    let (normal, other): (Vec<_>, Vec<_>) =
        package.dependencies.into_iter().partition(|dependency| dependency.kind.is_none());
    let is_example = |target: &MetadataTarget| target.kind.iter().any(|kind| kind == "example");
    let examples = package.targets.into_iter().filter(is_example).map(|target| target.name).collect();
    let names = |all: Vec<MetadataDependency>| all.into_iter().map(|dependency| dependency.name).collect();
    Ok(Package {
        name: package.name,
        version: package.version,
        folder: folder.to_path_buf(),
        declares: names(normal),
        tests_with: names(other),
        is_private: package.publish.is_some_and(|registries| registries.is_empty()),
        examples,
    })
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
