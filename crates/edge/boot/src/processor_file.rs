//! The file that names further payment processors.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use dropin_access::ProcessorProfile;
use dropin_kernel::ProcessorId;
use dropin_money::Currency;
use serde::Deserialize;

use crate::processor::{ProcessorArgs, ProcessorKind};

/// Most processors that a file may name; each has connections of its own.
const MAX_PROCESSORS: usize = 20;

/// A payment processor beside the main one.
#[derive(Debug, Clone)]
pub struct FurtherProcessor {
    /// What it takes, and its name.
    pub profile: ProcessorProfile,
    /// How it is reached.
    pub args: ProcessorArgs,
    /// File with the secrets that it signs its events with.
    pub event_secrets_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileDto {
    #[serde(default)]
    processor: Vec<ProcessorDto>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessorDto {
    id: String,
    kind: String,
    url: Option<String>,
    key_file: PathBuf,
    event_secrets_file: Option<PathBuf>,
    methods: Option<Vec<String>>,
    currencies: Option<Vec<String>>,
}

/// Reads the file's text; `folder` is where its relative paths begin.
pub(crate) fn parse(text: &str, main: &ProcessorId, folder: &Path) -> Result<Vec<FurtherProcessor>, String> {
    let file: FileDto = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    if MAX_PROCESSORS < file.processor.len() {
        return Err(format!("names more than {MAX_PROCESSORS} processors"));
    }
    let mut all: Vec<FurtherProcessor> = Vec::new();
    for dto in file.processor {
        let name = dto.id.clone();
        let one = dto.read(folder).map_err(|why| format!("processor {name}: {why}"))?;
        // What the main one did before it had others beside it names no processor, and would be asked of another main one.
        if ProcessorKind::value_variants().iter().any(|kind| kind.name() == one.profile.id.as_str())
            && one.profile.id != *main
        {
            return Err(format!("processor {name}: only a main processor is called after its kind; choose another id"));
        }
        if one.profile.id == *main || all.iter().any(|known| known.profile.id == one.profile.id) {
            return Err(format!(
                "processor {name}: another has this id; the main one is called {main}, after its kind"
            ));
        }
        all.push(one);
    }
    Ok(all)
}

impl ProcessorDto {
    fn read(self, folder: &Path) -> Result<FurtherProcessor, String> {
        let Self { id, kind, url, key_file, event_secrets_file, methods, currencies } = self;
        let id: ProcessorId = id.parse().map_err(|invalid| format!("its id {invalid}"))?;
        if id.is_account() {
            return Err("its id has a dot, as only the accounts of merchants have: choose another".to_owned());
        }
        let kind = ProcessorKind::from_str(&kind, false).ok().ok_or("its kind has to be sandbox or stripe")?;
        if kind == ProcessorKind::Sandbox && url.is_none() {
            return Err(
                "its url is missing: a sandbox processor is named by its address, so that none is used by mistake"
                    .to_owned(),
            );
        }
        let default = kind.default_methods().iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let methods = methods.or_else(|| (!default.is_empty()).then_some(default));
        let currencies = currencies.map(|codes| codes.iter().map(|code| currency(code)).collect()).transpose()?;
        let args = ProcessorArgs {
            processor: kind,
            processor_url: url,
            processor_key_file: Some(folder.join(key_file)),
            processors: None,
        };
        let event_secrets_file = event_secrets_file.map(|file| folder.join(file));
        Ok(FurtherProcessor { profile: ProcessorProfile { id, methods, currencies }, args, event_secrets_file })
    }
}

fn currency(code: &str) -> Result<Currency, String> {
    code.parse().map_err(|_unknown| format!("{code} is no currency here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [[processor]]
        id = "stripe-eu"
        kind = "stripe"
        key_file = "stripe-eu.key"
        event_secrets_file = "stripe-eu.events"
        currencies = ["EUR", "CHF"]

        [[processor]]
        id = "second"
        kind = "sandbox"
        url = "http://127.0.0.1:8086"
        key_file = "/run/secrets/second.key"
    "#;

    fn read(text: &str) -> Result<Vec<FurtherProcessor>, String> {
        parse(text, &"sandbox".parse().unwrap(), Path::new("/etc/dropin"))
    }

    #[test]
    fn a_file_names_processors_and_what_they_take() {
        let all = read(FILE).unwrap();
        let [stripe, second] = &all[..] else { panic!("{all:?}") };
        assert_eq!((stripe.profile.id.as_str(), stripe.args.url()), ("stripe-eu", "https://api.stripe.com"));
        assert_eq!(stripe.profile.currencies, Some(vec![Currency::Eur, Currency::Chf]));
        assert_eq!(stripe.profile.methods.as_ref().map(Vec::len), Some(6));
        assert_eq!(stripe.args.processor_key_file, Some(PathBuf::from("/etc/dropin/stripe-eu.key")));
        assert_eq!(stripe.event_secrets_file, Some(PathBuf::from("/etc/dropin/stripe-eu.events")));
        assert_eq!((&second.profile.methods, second.args.url()), (&None, "http://127.0.0.1:8086"));
        assert_eq!(second.args.processor_key_file, Some(PathBuf::from("/run/secrets/second.key")));
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_said_with_its_processor() {
        for (from, to, why) in [
            ("id = \"second\"", "id = \"stripe-eu\"", "processor stripe-eu: another has this id"),
            ("id = \"second\"", "id = \"sandbox\"", "the main one is called sandbox"),
            ("id = \"second\"", "id = \"Second\"", "its id must be 1 to 32 characters"),
            ("\"stripe\"", "\"adyen\"", "processor stripe-eu: its kind has to be sandbox or stripe"),
            ("url = \"http://127.0.0.1:8086\"", "", "processor second: its url is missing"),
            ("CHF", "CHOCOLATE", "CHOCOLATE is no currency"),
            ("kind = \"sandbox\"", "kind = \"sandbox\"\nkey = \"x\"", "unknown field"),
        ] {
            let error = read(&FILE.replace(from, to)).unwrap_err();
            assert!(error.contains(why), "{error} should say {why}");
        }
    }
}
