//! The public API of the domain crates, held against what `public-api.txt` in each crate records.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::command::{cargo, finished, target_folder, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::layers::workspace::Package;

/// The form of rustdoc's JSON that this version of `public-api` reads. Rust 1.95 writes it.
const JSON_FORMAT: u32 = 57;
/// The record of a crate, in its folder.
const RECORD: &str = "public-api.txt";
const RECORD_COMMAND: &str = "cargo xtask package --record";

/// Fails when the public API of a crate is not the recorded one.
pub(super) fn check(packages: &[Package]) -> Outcome<()> {
    let Some(listings) = list(packages)? else { return Ok(()) };
    let mut differences = Vec::new();
    for (package, listing) in packages.iter().zip(&listings) {
        let record = fs::read_to_string(record_of(package)).ok();
        differences.extend(difference(&package.name, record.as_deref(), listing));
    }
    if differences.is_empty() {
        println!("the public API of {} domain crates is the recorded one", packages.len());
        return Ok(());
    }
    Err(Failure::new(format!(
        "the code has another public API than {RECORD} says (- recorded, + found):\n\n{}\n\nIf that is meant: run `{RECORD_COMMAND}`, and add a line to the \
         CHANGELOG.md of each crate named here",
        differences.join("\n\n")
    )))
}

/// Records the public API of every crate as it is.
pub(super) fn record(packages: &[Package]) -> Outcome<()> {
    let listings = list(packages)?.ok_or_else(|| Failure::new("nothing was recorded"))?;
    for (package, listing) in packages.iter().zip(&listings) {
        let path = record_of(package);
        let record = fs::read_to_string(&path).ok();
        if let Some(difference) = difference(&package.name, record.as_deref(), listing) {
            fs::write(&path, listing).context(|| format!("write {}", path.display()))?;
            let hint = if record.is_some() { "; its CHANGELOG.md needs a line about this" } else { "" };
            println!("{difference}\n{}: recorded{hint}\n", package.name);
        }
    }
    println!("{RECORD} of {} domain crates is what their code says", packages.len());
    Ok(())
}

fn record_of(package: &Package) -> PathBuf {
    workspace_root().join(&package.folder).join(RECORD)
}

/// The public items of every crate, one a line; none when this Rust writes another form than the tool reads.
fn list(packages: &[Package]) -> Outcome<Option<Vec<String>>> {
    let files = document(packages)?;
    for file in &files {
        let text = fs::read_to_string(file).context(|| format!("read {}", file.display()))?;
        if let Some(notice) = notice_of_format(&text)? {
            println!("{notice}");
            return Ok(None);
        }
    }
    files.iter().map(|file| list_items(file)).collect::<Outcome<Vec<_>>>().map(Some)
}

/// Without blanket implementations, those of auto traits, and those that are derived. A derive that goes is not seen.
fn list_items(json: &Path) -> Outcome<String> {
    let list = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api =
        list.omit_auto_derived_impls(true).build().context(|| format!("list what is public in {}", json.display()))?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// What to tell when this file cannot be read.
fn notice_of_format(json: &str) -> Outcome<Option<String>> {
    #[derive(Deserialize)]
    struct Document {
        format_version: u32,
    }
    let Document { format_version } = serde_json::from_str(json).context(|| "understand rustdoc's JSON".to_owned())?;
    Ok((format_version != JSON_FORMAT).then(|| {
        format!(
            "the public APIs were NOT compared: this Rust writes rustdoc's JSON in form {format_version}, and form {JSON_FORMAT} is what xtask reads. \
             Run it with Rust 1.95 (RUSTUP_TOOLCHAIN=1.95.0), or take a newer public-api in Cargo.toml."
        )
    }))
}

/// Has rustdoc write down every crate as JSON; the files.
fn document(packages: &[Package]) -> Outcome<Vec<PathBuf>> {
    let chosen = packages.iter().flat_map(|package| ["--package", package.name.as_str()]);
    let mut command = cargo();
    command.args(["doc", "--quiet", "--no-deps", "--lib", "--all-features"]).args(chosen);
    command.env("RUSTDOC", unstable_rustdoc()?).env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    finished(&mut command)?;
    let file = |package: &Package| target_folder().join("doc").join(package.name.replace('-', "_") + ".json");
    Ok(packages.iter().map(file).collect())
}

/// A rustdoc that takes unstable options. Were cargo told so, it would build again every crate whose build script asks about it, here and in the
/// next stage.
fn unstable_rustdoc() -> Outcome<PathBuf> {
    let path = target_folder().join("unstable-rustdoc");
    let text = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    if fs::read_to_string(&path).ok().as_deref() != Some(text) {
        fs::write(&path, text).context(|| format!("write {}", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .context(|| format!("make {} a program", path.display()))?;
    }
    Ok(path)
}

/// How a listing differs from the record, for a person to read; nothing when it does not.
fn difference(package: &str, record: Option<&str>, listing: &str) -> Option<String> {
    let Some(record) = record else {
        return Some(format!("{package}: it has no {RECORD}; {} public items", listing.lines().count()));
    };
    // Counted, so that the order of the lines is not a difference.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    record.lines().for_each(|line| counts.entry(line).or_default().0 += 1);
    listing.lines().for_each(|line| counts.entry(line).or_default().1 += 1);
    let lines: Vec<String> = counts
        .iter()
        .filter_map(|(line, (recorded, found))| match recorded.cmp(found) {
            std::cmp::Ordering::Greater => Some(format!("  - {line}")),
            std::cmp::Ordering::Less => Some(format!("  + {line}")),
            std::cmp::Ordering::Equal => None,
        })
        .collect();
    (!lines.is_empty()).then(|| format!("{package}:\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "pub mod a\npub fn a::gone()\npub fn a::kept()\npub fn a::same(u8)\n";

    fn found(listing: &str) -> Option<String> {
        difference("a", Some(RECORDED), listing)
    }

    #[test]
    fn the_recorded_api_is_no_difference() {
        assert_eq!(found(RECORDED), None);
        let reversed: Vec<&str> = RECORDED.lines().rev().collect();
        assert_eq!(found(&reversed.join("\n")), None, "the order of the items is not part of an API");
    }

    #[test]
    fn removed_and_added_items_are_shown() {
        let listing = RECORDED.replace("pub fn a::gone()\n", "");
        assert_eq!(found(&listing).as_deref(), Some("a:\n  - pub fn a::gone()"));
        let listing = format!("{RECORDED}pub fn a::added()\n");
        assert_eq!(found(&listing).as_deref(), Some("a:\n  + pub fn a::added()"));
        let listing = RECORDED.replace("same(u8)", "same(u16)");
        assert_eq!(found(&listing).as_deref(), Some("a:\n  + pub fn a::same(u16)\n  - pub fn a::same(u8)"));
    }

    #[test]
    fn one_of_two_equal_lines_is_missed() {
        let record = "impl A for B\nimpl A for B\n";
        assert_eq!(difference("a", Some(record), "impl A for B\n").as_deref(), Some("a:\n  - impl A for B"));
    }

    #[test]
    fn a_crate_without_a_record_is_found() {
        let said = difference("a", None, RECORDED).unwrap();
        assert!(said.contains("no public-api.txt") && said.contains("4 public items"), "{said}");
    }

    #[test]
    fn another_form_of_json_is_told_of() {
        assert_eq!(notice_of_format("{\"format_version\": 57, \"index\": {}}").unwrap(), None);
        let notice = notice_of_format("{\"format_version\": 58}").unwrap().unwrap();
        assert!(notice.contains("form 58") && notice.contains("NOT compared"), "{notice}");
        assert!(notice_of_format("{}").is_err());
    }
}
