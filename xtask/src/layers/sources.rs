//! The sources of a package.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Outcome};

/// The Rust files below a folder with their texts; none where there is no such folder.
pub(super) fn sources_below(top: &Path) -> Outcome<BTreeMap<PathBuf, String>> {
    let (mut sources, mut folders) = (BTreeMap::new(), Vec::new());
    folders.extend(top.is_dir().then(|| top.to_owned()));
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).context(|| format!("list {}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).context(|| format!("read {}", path.display()))?;
                sources.insert(path, text);
            }
        }
    }
    Ok(sources)
}
