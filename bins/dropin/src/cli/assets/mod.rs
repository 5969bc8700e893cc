//! `dropin assets …`: the drop-in's scripts, and whether what an address serves is what it should (PCI DSS 6.4.3 and 11.6.1).

mod document;
mod site;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use checkout_api::{INVENTORY_PATH, script_inventory};
use clap::{Args, Subcommand};
use dropin_boot::Failure;
use serde_json::{Value, json};

use self::document::{DOCUMENTS, NO_SESSION};
use self::site::{IDENTITY, Site};
use super::{Output, say};

#[derive(Debug, Subcommand)]
pub(crate) enum AssetsCommand {
    /// List this program's scripts with digest and purpose: for the inventory of a payment page, and to pin `dropin.js`
    List(Output),
    /// Compare the scripts and documents that an {asset_url} serves with those that it should
    ///
    /// Needs no database. Exit status 0: they are the same; 1: something differs; 2: they could not be compared.
    Verify(VerifyAssets),
}

#[derive(Debug, Args)]
pub(crate) struct VerifyAssets {
    /// {asset_url}, such as https://pay.example
    url: String,
    /// Compare with an inventory that was kept (`assets list --json`, or /.well-known/dropin-scripts.json) in place of this program's own scripts
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Another origin that the card form may send to, where {stash_url} or {checkout_url} has not that of {asset_url}; may stand more than once
    #[arg(long = "connect", value_name = "ORIGIN")]
    connects: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// Exit status: something differs.
const DIFFERENT: u8 = 1;
/// Exit status: they could not be compared.
pub(super) const NOT_COMPARED: u8 = 2;

/// Lists this program's scripts.
pub(super) fn list(output: Output) -> Result<(), Failure> {
    if output.json {
        return say(&format!("{:#}", script_inventory()));
    }
    let rows = dropin_browser::scripts().map(|script| {
        let documents: Vec<_> = script.documents.iter().map(|document| document.as_str()).collect();
        let (path, integrity) = (script.asset.path, script.asset.integrity());
        format!("{path}  {integrity}\n    {}: {}", documents.join(", "), script.purpose)
    });
    let head = format!("Version {}: {{asset_url}}/{}/dropin.js", dropin_browser::VERSION, dropin_browser::VERSION);
    say(&[head].into_iter().chain(rows).collect::<Vec<_>>().join("\n"))
}

/// What should be served.
struct Inventory {
    version: String,
    /// Digests by the paths of the scripts.
    integrity: BTreeMap<String, String>,
}

impl Inventory {
    fn read(value: &Value) -> Option<Self> {
        let scripts = value["Scripts"].as_array()?.iter().map(|script| {
            let text = |name: &str| script[name].as_str().map(str::to_owned);
            Some((text("Path")?, text("Integrity")?))
        });
        let version = value["Version"].as_str()?;
        // It becomes part of an address.
        let is_version = version.len() == 16 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_version.then_some(Self { version: version.to_owned(), integrity: scripts.collect::<Option<_>>()? })
    }
}

/// One thing that differs.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    path: String,
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// Compares what is served at an address.
pub(super) async fn verify(wanted: &VerifyAssets) -> Result<ExitCode, Failure> {
    let site = Site::open(&wanted.url)?;
    let served = site.inventory().await?;
    let expected = expected(wanted)?;
    if wanted.against.is_none() && served.version != expected.version {
        return Err(format!(
            "{} serves version {} and this program is version {}: compare with the program of the same release, or with an inventory that you kept \
             (--against FILE)",
            site.base, served.version, expected.version
        )
        .into());
    }
    let mut differences = of_inventories(&served, &expected);
    for (script, integrity) in &expected.integrity {
        // What pages load, and what pages load that pin a version.
        for folder in ["v1", &expected.version] {
            let path = format!("/{folder}/{script}");
            let found = site.of_script(&path, script, integrity).await;
            differences.extend(found.into_iter().map(|what| Difference { path: path.clone(), what }));
        }
    }
    let connects: Vec<&str> =
        wanted.connects.iter().map(|one| one.trim_end_matches('/')).chain(site.origin()).collect();
    for document in &DOCUMENTS {
        let path = format!("/v1/{}", document.file);
        let found = match site.fetch(&format!("{path}?session={NO_SESSION}"), IDENTITY).await {
            Ok(served) => document.differences(&served, &expected, &connects),
            Err(why) => vec![why],
        };
        differences.extend(found.into_iter().map(|what| Difference { path: path.clone(), what }));
    }
    tell(wanted, &site, &expected, &differences)?;
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

fn expected(wanted: &VerifyAssets) -> Result<Inventory, Failure> {
    let no_inventory = |place: &str| format!("{place} holds no inventory as `dropin assets list --json` prints it");
    let Some(file) = &wanted.against else {
        return Inventory::read(&script_inventory()).ok_or_else(|| no_inventory("this program").into());
    };
    let shown = file.display().to_string();
    let text = fs::read(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let value = serde_json::from_slice(&text).ok();
    value.as_ref().and_then(Inventory::read).ok_or_else(|| no_inventory(&shown).into())
}

fn tell(wanted: &VerifyAssets, site: &Site, expected: &Inventory, differences: &[Difference]) -> Result<(), Failure> {
    if wanted.output.json {
        let rows = differences.iter().map(|one| json!({ "Path": one.path, "Message": one.what }));
        let shown = json!({ "Version": expected.version, "Differences": rows.collect::<Vec<_>>() });
        return say(&shown.to_string());
    }
    let (base, version, count) = (&site.base, &expected.version, expected.integrity.len());
    if differences.is_empty() {
        return say(&format!(
            "{base} serves version {version}: {count} scripts and 2 documents are what they should be."
        ));
    }
    let rows: Vec<_> = differences.iter().map(Difference::to_string).collect();
    say(&format!(
        "{base} does not serve what it should:\n{}\nUnless the service was updated just now, or a proxy changes what it passes on, take it for an attack: \
         find out who can change these files before another card is typed in.",
        rows.join("\n")
    ))
}

/// Scripts that one inventory has and the other has not, or has with another digest.
fn of_inventories(served: &Inventory, expected: &Inventory) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |path: &str, what: String| found.push(Difference { path: path.to_owned(), what });
    if served.version != expected.version {
        add(INVENTORY_PATH, format!("it is of version {}, and should be of {}", served.version, expected.version));
    }
    for (path, integrity) in &served.integrity {
        match expected.integrity.get(path) {
            None => add(path, "it is in the service's inventory, and should not be there".to_owned()),
            Some(wanted) if wanted != integrity => {
                add(path, format!("the service's inventory says {integrity}, and it should be {wanted}"));
            }
            Some(_) => {}
        }
    }
    let missing = expected.integrity.keys().filter(|path| !served.integrity.contains_key(*path));
    missing.for_each(|path| add(path, "the service's inventory does not name it".to_owned()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_compared_in_both_directions() {
        let inventory = |scripts: &[(&str, &str)]| Inventory {
            version: "0123456789abcdef".to_owned(),
            integrity: scripts.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect(),
        };
        let (served, expected) =
            (inventory(&[("a.js", "1"), ("b.js", "2")]), inventory(&[("a.js", "9"), ("c.js", "3")]));
        let found: Vec<_> = of_inventories(&served, &expected).into_iter().map(|one| one.path).collect();
        assert_eq!(found, ["a.js", "b.js", "c.js"]);
        assert_eq!(of_inventories(&served, &served), []);
    }
}
