//! The table of `layers.toml`: which layer may know what.

use std::path::Path;

use serde::Deserialize;

use crate::failure::{Context, Outcome};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) layer: Vec<Layer>,
    pub(crate) only: Vec<Only>,
    pub(crate) excused: Vec<Excused>,
    #[serde(default)]
    pub(crate) shared: Vec<SharedName>,
}

/// Names of public items that several packages may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedName {
    pub(crate) names: Vec<String>,
    /// What they mean in each of them.
    pub(crate) reason: String,
}

/// A group of packages with the same rights.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) name: String,
    /// Packages at or below this folder belong here, unless a longer folder claims them.
    pub(crate) folder: String,
    /// Layers and single packages that may be in the closure.
    pub(crate) sees: Vec<String>,
    /// Foreign crates that may not be in the closure; a trailing `*` matches any ending.
    pub(crate) forbids: Vec<String>,
}

/// A foreign crate that only the owners may declare.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Only {
    #[serde(rename = "crate")]
    pub(crate) name: String,
    pub(crate) owners: Vec<String>,
    pub(crate) reason: String,
}

/// Edges between foreign crates that are not followed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Excused {
    pub(crate) from: String,
    pub(crate) to: Vec<String>,
    pub(crate) reason: String,
}

impl Table {
    /// Reads the table from the root of the workspace.
    pub(crate) fn read(root: &Path) -> Outcome<Self> {
        let path = root.join("layers.toml");
        let text = std::fs::read_to_string(&path).context(|| format!("read {}", path.display()))?;
        toml::from_str(&text).context(|| format!("understand {}", path.display()))
    }

    /// The layer of a package by its folder (relative to the root): the longest one that matches.
    pub(crate) fn layer_of(&self, folder: &Path) -> Option<&Layer> {
        let matching = self.layer.iter().filter(|layer| folder.starts_with(&layer.folder));
        matching.max_by_key(|layer| layer.folder.len())
    }
}

/// Whether `name` is what `pattern` means.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}
