//! Every source of a package's tests belongs to a program: rustc says nothing of a file that no `mod` names, and its tests never run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::sources::sources_below;
use crate::failure::Outcome;

/// The sources below the folder `tests` of a package that no module above them names.
pub(crate) fn check_test_modules(tests: &Path) -> Outcome<Vec<String>> {
    let sources = sources_below(tests)?;
    let unnamed = sources.keys().filter(|path| !is_program(tests, path) && !is_named(tests, path, &sources));
    Ok(unnamed.map(|path| format!("{}: no `mod` names it, so its tests never run", path.display())).collect())
}

/// Whether cargo makes a program of a source by itself.
fn is_program(tests: &Path, path: &Path) -> bool {
    let folder = path.parent();
    folder == Some(tests) || path.ends_with("main.rs") && folder.and_then(Path::parent) == Some(tests)
}

/// Whether a file beside a module, or the one above its folder, has its `mod`.
fn is_named(tests: &Path, path: &Path, sources: &BTreeMap<PathBuf, String>) -> bool {
    // A `mod.rs` has the name and the place of its folder.
    let place = if path.ends_with("mod.rs") { path.parent().unwrap_or(path) } else { path };
    let (Some(folder), Some(name)) = (place.parent(), place.file_stem().and_then(|name| name.to_str())) else {
        return false;
    };
    let may_name = |other: &Path| {
        // What several programs of one package share stands beside their folders.
        let is_above = if folder == tests { is_program(tests, other) } else { other.parent() == Some(folder) };
        other != path && (is_above || other.with_extension("") == folder)
    };
    let (plain, renamed) = (format!("mod {name};"), format!("#[path = \"{name}.rs\"]"));
    let names = |line: &str| !line.starts_with("//") && (line == renamed || line.ends_with(&plain));
    sources.iter().any(|(other, text)| may_name(other) && text.lines().map(str::trim).any(names))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_source_that_no_program_has_is_told() {
        let tests = std::env::temp_dir().join(format!("dropin-test-modules-{}", std::process::id()));
        for (path, text) in [
            ("alone.rs", "mod common;"),
            ("common/mod.rs", "mod reply;"),
            ("common/reply.rs", ""),
            ("all/main.rs", "mod common;\n#[cfg(unix)]\npub(crate) mod orders;\nmod rates;\n// mod sessions;"),
            ("all/orders.rs", "#[path = \"server.rs\"]\nmod scripted;"),
            ("all/server.rs", ""),
            ("all/rates.rs", "mod offers;"),
            ("all/rates/offers.rs", ""),
            ("all/rates/sales.rs", ""),
            ("all/sessions.rs", "mod sessions;"),
        ] {
            let path = tests.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let told = check_test_modules(&tests).unwrap();
        fs::remove_dir_all(&tests).unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("all/rates/sales.rs: ") && told[1].contains("all/sessions.rs: "), "{told:?}");
        assert_eq!(check_test_modules(&tests).unwrap(), [""; 0], "a package without tests");
    }
}
