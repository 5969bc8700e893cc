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
use checkout_api::{INVENTORY_PATH, document_without_session, script_inventory};
use clap::{Args, Subcommand};
use dropin_boot::Failure;
use dropin_browser::Asset;
use dropin_trigger::service_http_client;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha384};

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

/// In place of a SessionId: every page may frame its document, and it holds nothing of anybody.
const NO_SESSION: &str = "00000000-0000-0000-0000-000000000000";

/// A document that runs one script.
struct Document {
    file: &'static str,
    script: &'static str,
    /// What it may show in frames, by what the deployment is for; none where it has no frames.
    frames: &'static [&'static str],
}

const DOCUMENTS: [Document; 2] = [
    Document { file: "frame.html", script: "frame.js", frames: &[] },
    Document { file: "challenge.html", script: "challenge.js", frames: &["https:", "http: https:"] },
];

/// What a document's policy says whatever the deployment, so that it runs no script but its own, and sends what is typed nowhere else.
const DIRECTIVES: [(&str, &str); 7] = [
    ("default-src", "'none'"),
    ("script-src", "'self'"),
    ("base-uri", "'none'"),
    ("form-action", "'none'"),
    ("frame-ancestors", "*"),
    ("require-trusted-types-for", "'script'"),
    ("trusted-types", "'none'"),
];

impl Document {
    /// What is wrong with it.
    fn differences(&self, served: &Served, expected: &Inventory, connects: &[&str]) -> Vec<String> {
        if served.status != 200 {
            return vec![format!("it is answered with {}", served.status)];
        }
        let mut found = self.of_policy(&served.policy, connects);
        let integrity = expected.integrity.get(self.script).map(String::as_str).unwrap_or_default();
        found.extend(self.of_tags(&String::from_utf8_lossy(&served.body), integrity));
        let own = document_without_session(self.file).filter(|_| expected.version == dropin_browser::VERSION);
        if own.is_some_and(|own| own.as_bytes() != served.body) {
            found.push("it is another document than this program makes".to_owned());
        }
        found
    }

    /// Each directive has to be there once, as it should be, and no other.
    fn of_policy(&self, policy: &str, connects: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut directives = BTreeMap::new();
        for directive in policy.split(';').map(str::trim).filter(|directive| !directive.is_empty()) {
            let (name, value) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
            if directives.insert(name.to_ascii_lowercase(), value.trim()).is_some() {
                found.push(format!("its Content-Security-Policy names {name} more than once"));
            }
        }
        for (name, value) in DIRECTIVES {
            if directives.remove(name) != Some(value) {
                found.push(format!("its Content-Security-Policy lacks {name} {value}"));
            }
        }
        let connected = directives.remove("connect-src").unwrap_or_else(|| {
            found.push("its Content-Security-Policy lacks connect-src 'self'".to_owned());
            ""
        });
        let others: Vec<_> =
            connected.split_whitespace().filter(|source| *source != "'self'" && !connects.contains(source)).collect();
        if !others.is_empty() {
            found.push(format!(
                "its Content-Security-Policy lets it send to {}: if that is the origin of {{stash_url}} or {{checkout_url}}, say so with --connect",
                others.join(" ")
            ));
        }
        if !self.frames.is_empty() && !directives.remove("frame-src").is_some_and(|value| self.frames.contains(&value))
        {
            found.push(format!("its Content-Security-Policy lacks frame-src {}", self.frames[0]));
        }
        let more = directives
            .iter()
            .map(|(name, value)| format!("its Content-Security-Policy has {name} {value} more than it should"));
        found.extend(more);
        found
    }

    /// Its own script has to be there once, and no other element that runs one.
    fn of_tags(&self, text: &str, integrity: &str) -> Vec<String> {
        let lower = text.to_ascii_lowercase();
        let starts = lower.match_indices("<script").map(|(at, tag)| at + tag.len());
        let tags: Vec<&str> = starts.filter_map(|start| text[start..].split('>').next()).collect();
        let (before, after) = (format!(" src=\"{}?", self.script), format!("\" integrity=\"{integrity}\" defer"));
        let own = |tag: &&&str| {
            let fingerprint = tag.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
            fingerprint.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let is_data = |tag: &&&str| **tag == " id=\"session\" type=\"application/json\"";
        let mut found = Vec::new();
        if tags.iter().filter(own).count() != 1 {
            found.push(format!("it does not run {} with the integrity {integrity}", self.script));
        }
        let others = tags.iter().filter(|tag| !own(tag) && !is_data(tag)).count();
        if others > 0 {
            found.push(format!("it has {others} script elements more than it should"));
        }
        found
    }
}

fn integrity_of(bytes: &[u8]) -> String {
    format!("sha384-{}", STANDARD.encode(Sha384::digest(bytes)))
}

/// What an address serves.
struct Site {
    base: String,
    client: Client,
}

/// What browsers ask for scripts in, and what somebody does who reads nothing compressed.
const ENCODINGS: [&str; 3] = [IDENTITY, "br", "gzip"];
const IDENTITY: &str = "identity";

struct Served {
    status: u16,
    encoding: String,
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
        let client = service_http_client(demo_shop::client_config(&base)?, None);
        Ok(Self { base, client })
    }

    /// The service's own inventory.
    async fn inventory(&self) -> Result<Inventory, Failure> {
        let served = self.fetch(INVENTORY_PATH, IDENTITY).await?;
        let value: Option<Value> = serde_json::from_slice(&served.body).ok();
        value.as_ref().filter(|_| served.status == 200).and_then(Inventory::read).ok_or_else(|| {
            let (base, status) = (&self.base, served.status);
            format!("{base}{INVENTORY_PATH} answered {status} and no inventory: is {base} the {{asset_url}} of Dropin?")
                .into()
        })
    }

    /// Its own origin, which its documents may send to.
    fn origin(&self) -> Option<&str> {
        let host = self.base.find("://")? + 3;
        Some(self.base[host..].find('/').map_or(&*self.base, |end| &self.base[..host + end]))
    }

    /// What is wrong with a script, in whatever encoding browsers ask for it.
    async fn of_script(&self, path: &str, script: &str, integrity: &str) -> Vec<String> {
        // Of another release nobody knows what it looks like compressed.
        let own = dropin_browser::asset(script).filter(|asset| asset.integrity() == integrity);
        let mut found = Vec::new();
        for encoding in ENCODINGS.into_iter().filter(|encoding| own.is_some() || *encoding == IDENTITY) {
            let what = match self.fetch(path, encoding).await {
                Err(why) => {
                    found.push(why);
                    break;
                }
                Ok(served) => of_script(&served, encoding, integrity, own),
            };
            found.extend(what.filter(|what| !found.contains(what)));
        }
        found
    }

    /// What is sent to a client that reads this encoding alone, as it is sent; or why nothing is.
    async fn fetch(&self, path: &str, encoding: &str) -> Result<Served, String> {
        let url = format!("{}{path}", self.base);
        let no_answer = |error: &dyn fmt::Display| format!("{url} gave no answer ({error}): see that the service runs");
        let request = self.client.get(&url).insert_header((header::ACCEPT_ENCODING, encoding)).no_decompress();
        let mut answer = request.send().await.map_err(|error| no_answer(&error))?;
        let text =
            |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let (content_type, policy) = (text(header::CONTENT_TYPE), text(header::CONTENT_SECURITY_POLICY));
        let encoding = text(header::CONTENT_ENCODING);
        let body = answer.body().limit(MAX_BYTES).await.map_err(|error| no_answer(&error))?.to_vec();
        Ok(Served { status: answer.status().as_u16(), encoding, content_type, policy, body })
    }
}

/// What is wrong with the answer to a client that reads `encoding`.
fn of_script(served: &Served, encoding: &str, integrity: &str, own: Option<&Asset>) -> Option<String> {
    if served.status != 200 {
        return Some(format!("it is answered with {}", served.status));
    }
    if !served.content_type.starts_with("text/javascript") {
        return Some(format!("it is sent as {:?}, and browsers do not run it", served.content_type));
    }
    match &*served.encoding {
        "" | IDENTITY => {
            let found = integrity_of(&served.body);
            (found != integrity).then(|| format!("its content is {found}, and should be {integrity}"))
        }
        sent if sent != encoding => Some(format!("it is sent compressed by {sent:?}, which nobody asked for")),
        sent => {
            let compressed = own.and_then(|own| if sent == "br" { own.brotli } else { own.gzip });
            (compressed != Some(&*served.body))
                .then(|| format!("compressed by {sent} it is another content than this program sends"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &[&str] = &["https://pay.example"];

    fn policy() -> String {
        let fixed: Vec<_> = DIRECTIVES.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{}; connect-src 'self' https://pay.example", fixed.join("; "))
    }

    #[test]
    fn a_document_runs_its_own_script_alone() {
        let tags = |text: &str, integrity: &str| DOCUMENTS[0].of_tags(text, integrity);
        let own = r#"<script id="session" type="application/json">{}</script><script src="frame.js?1" integrity="sha384-x" defer></script>"#;
        assert_eq!(tags(own, "sha384-x"), Vec::<String>::new());
        assert_eq!(tags(own, "sha384-y").len(), 2, "it is not its own, and one more");
        for more in [
            "<script>send(card)</script>",
            "<SCRIPT src=other.js></SCRIPT>",
            r#"<script src="other.js" type="application/json"></script>"#,
            r#"<script src="other.js" x='src="frame.js?1" integrity="sha384-x" defer'></script>"#,
        ] {
            let found = tags(&format!("{own}{more}"), "sha384-x");
            assert_eq!(found, ["it has 1 script elements more than it should"], "{more}");
        }
    }

    #[test]
    fn a_documents_policy_is_what_it_should_be_and_nothing_more() {
        let of = |policy: &str| DOCUMENTS[0].of_policy(policy, SITE);
        assert_eq!(of(&policy()), Vec::<String>::new());
        for (from, to, named) in [
            ("script-src 'self'", "script-src *", "lacks script-src 'self'"),
            ("script-src 'self'", "script-src *; script-src 'self'", "names script-src more than once"),
            ("script-src 'self'", "script-src 'self'; Script-Src-Elem *", "has script-src-elem * more"),
            (
                "connect-src 'self'",
                "connect-src 'self' https://other.example",
                "lets it send to https://other.example:",
            ),
            ("connect-src 'self' https://pay.example", "", "lacks connect-src 'self'"),
            ("trusted-types 'none'", "trusted-types x", "lacks trusted-types 'none'"),
            ("frame-ancestors *", "", "lacks frame-ancestors *"),
        ] {
            let found = of(&policy().replace(from, to));
            assert!(found.len() == 1 && found[0].contains(named), "{named}: {found:?}");
        }
        let challenge = |frames: &str| DOCUMENTS[1].of_policy(&format!("{}; frame-src {frames}", policy()), SITE);
        assert_eq!(challenge("https:"), Vec::<String>::new());
        assert_eq!(challenge("*"), ["its Content-Security-Policy lacks frame-src https:"]);
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
