//! `dropin assets …`: the drop-in's scripts, and whether what an address serves is what it should (PCI DSS 6.4.3 and 11.6.1).

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use actix_web::http::header;
use awc::Client;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use checkout_api::{INVENTORY_PATH, script_inventory};
use clap::{Args, Subcommand};
use dropin_boot::Failure;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha384};

use super::client::client;
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
    #[command(flatten)]
    output: Output,
}

/// Exit status: something differs.
const DIFFERENT: u8 = 1;
/// Exit status: they could not be compared.
pub(super) const NOT_COMPARED: u8 = 2;

/// Far above the largest file of the drop-in.
const MAX_BYTES: usize = 4 * 1024 * 1024;

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
    for (path, integrity) in &expected.integrity {
        // What pages load, and what pages load that pin a version.
        for folder in ["v1", &expected.version] {
            let path = format!("/{folder}/{path}");
            let what = match site.fetch(&path).await? {
                Served { status, .. } if status != 200 => format!("it is answered with {status}"),
                Served { content_type, .. } if !content_type.starts_with("text/javascript") => {
                    format!("it is sent as {content_type:?}, and browsers do not run it")
                }
                Served { body, .. } if &integrity_of(&body) != integrity => {
                    format!("its content is {}, and should be {integrity}", integrity_of(&body))
                }
                Served { .. } => continue,
            };
            differences.push(Difference { path, what });
        }
    }
    for (document, script) in [("frame.html", "frame.js"), ("challenge.html", "challenge.js")] {
        let path = format!("/v1/{document}?session=00000000-0000-0000-0000-000000000000");
        let integrity = expected.integrity.get(script).map(String::as_str).unwrap_or_default();
        let what = of_document(&site.fetch(&path).await?, script, integrity);
        differences.extend(what.into_iter().map(|what| Difference { path: format!("/v1/{document}"), what }));
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

/// What a document's policy must say, so that it runs no script but its own, and sends what is typed nowhere else.
const DIRECTIVES: [&str; 5] = [
    "default-src 'none'",
    "script-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
];

/// What is wrong with a document that must run `script` alone.
fn of_document(served: &Served, script: &str, integrity: &str) -> Vec<String> {
    if served.status != 200 {
        return vec![format!("it is answered with {}", served.status)];
    }
    let text = String::from_utf8_lossy(&served.body);
    let directives: Vec<_> = served.policy.split(';').map(str::trim).collect();
    let mut found: Vec<String> = DIRECTIVES
        .iter()
        .filter(|wanted| !directives.contains(wanted))
        .map(|wanted| format!("its Content-Security-Policy lacks {wanted}"))
        .collect();
    let tags: Vec<&str> = text.split("<script").skip(1).filter_map(|rest| rest.split('>').next()).collect();
    let named =
        |tag: &&&str| tag.contains(&format!("src=\"{script}?")) && tag.contains(&format!("integrity=\"{integrity}\""));
    if tags.iter().filter(named).count() != 1 {
        found.push(format!("it does not run {script} with the integrity {integrity}"));
    }
    let data = |tag: &&&str| tag.contains("type=\"application/json\"");
    let others = tags.iter().filter(|tag| !named(tag) && !data(tag)).count();
    if others > 0 {
        found.push(format!("it has {others} script elements more than it should"));
    }
    found
}

fn integrity_of(bytes: &[u8]) -> String {
    format!("sha384-{}", STANDARD.encode(Sha384::digest(bytes)))
}

/// What an address serves.
struct Site {
    base: String,
    client: Client,
}

struct Served {
    status: u16,
    content_type: String,
    policy: String,
    body: Vec<u8>,
}

impl Site {
    fn open(url: &str) -> Result<Self, Failure> {
        let base = url.trim_end_matches('/').to_owned();
        if !base.starts_with("https://") && !base.starts_with("http://") {
            return Err(format!("{url} is no address: give {{asset_url}}, such as https://pay.example").into());
        }
        let client = client(demo_shop::client_config(&base)?, None);
        Ok(Self { base, client })
    }

    /// The service's own inventory.
    async fn inventory(&self) -> Result<Inventory, Failure> {
        let served = self.fetch(INVENTORY_PATH).await?;
        let value: Option<Value> = serde_json::from_slice(&served.body).ok();
        value.as_ref().filter(|_| served.status == 200).and_then(Inventory::read).ok_or_else(|| {
            let (base, status) = (&self.base, served.status);
            format!("{base}{INVENTORY_PATH} answered {status} and no inventory: is {base} the {{asset_url}} of Dropin?")
                .into()
        })
    }

    /// What is sent to a client that reads nothing compressed.
    async fn fetch(&self, path: &str) -> Result<Served, Failure> {
        let url = format!("{}{path}", self.base);
        let no_answer = |error: &dyn fmt::Display| format!("{url} gave no answer ({error}): see that the service runs");
        let request = self.client.get(&url).insert_header((header::ACCEPT_ENCODING, "identity"));
        let mut answer = request.send().await.map_err(|error| no_answer(&error))?;
        let text =
            |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let (content_type, policy) = (text(header::CONTENT_TYPE), text(header::CONTENT_SECURITY_POLICY));
        let body = answer.body().limit(MAX_BYTES).await.map_err(|error| no_answer(&error))?.to_vec();
        Ok(Served { status: answer.status().as_u16(), content_type, policy, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(policy: &str, body: &str) -> Served {
        Served {
            status: 200,
            content_type: "text/html".to_owned(),
            policy: policy.to_owned(),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_document_runs_its_own_script_alone() {
        let policy = DIRECTIVES.join("; ");
        let own = r#"<script id="session" type="application/json">{}</script><script src="frame.js?1" integrity="sha384-x" defer></script>"#;
        assert_eq!(of_document(&document(&policy, own), "frame.js", "sha384-x"), Vec::<String>::new());
        let more = format!("{own}<script>send(card)</script>");
        let found = of_document(&document(&policy, &more), "frame.js", "sha384-x");
        assert_eq!(found, ["it has 1 script elements more than it should"]);
        let found = of_document(&document(&policy, own), "frame.js", "sha384-y");
        assert_eq!(found.len(), 2, "{found:?}");
        let found =
            of_document(&document(&policy.replace("script-src 'self'", "script-src *"), own), "frame.js", "sha384-x");
        assert_eq!(found, ["its Content-Security-Policy lacks script-src 'self'"]);
    }

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
