//! Which payment methods this deployment offers, and what is otherwise about them than in the table of methods.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use dropin_catalogue::{Adjustment, Adjustments, Catalogue, Channel, Method, Range, find_method, methods};
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::Country;
use serde::Deserialize;
use url::Url;

use crate::config::ConfigError;
use crate::settings::Mode;

/// What stands for the region in the address of the messaging script.
const REGION: &str = "{region}";

/// Payment methods.
#[derive(Debug, Clone, Args)]
pub struct CatalogueArgs {
    /// Ids of the payment methods that the processor can do, with commas between [default: those of the sandbox processor]
    #[arg(
        long, env = "PROCESSOR_METHODS", value_delimiter = ',', value_name = "ID", value_parser = known_method
    )]
    pub processor_methods: Vec<String>,
    /// TOML file that offers methods otherwise than the table of methods says
    #[arg(long, env = "DROPIN_CATALOGUE", value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Address of the pay-later provider's messaging script; {region} in it becomes eu, na or oc [default: the sandbox processor's; none in
    /// production]
    #[arg(long, env = "PAY_LATER_SCRIPT_URL", value_name = "URL")]
    pub pay_later_script_url: Option<String>,
}

fn known_method(id: &str) -> Result<String, String> {
    let known = || methods().map(|method| method.id).collect::<Vec<_>>().join(", ");
    find_method(id).map(|method| method.id.to_owned()).ok_or_else(|| format!("must be one of {}", known()))
}

impl CatalogueArgs {
    /// The catalogue.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or makes no sense.
    pub fn open(&self) -> Result<Catalogue, ConfigError> {
        let adjustments = self.catalogue.as_deref().map(read_adjustments).transpose()?.unwrap_or_default();
        let can = |method: &Method| match self.processor_methods.as_slice() {
            [] => method.is_in_sandbox(),
            listed => listed.iter().any(|id| id == method.id),
        };
        Ok(Catalogue::new(can, &adjustments))
    }

    /// Where the pay-later provider's messaging script is, with `{region}` in it. `sandbox` is the sandbox processor's public address.
    ///
    /// # Errors
    /// [`ConfigError::Url`].
    pub fn pay_later_script(&self, mode: Mode, sandbox: &str) -> Result<Option<String>, ConfigError> {
        let Some(text) = &self.pay_later_script_url else {
            let ours = || format!("{}/onsite/{REGION}/script.js", sandbox.trim_end_matches('/'));
            return Ok((mode == Mode::Sandbox).then(ours));
        };
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        match Url::parse(&text.replace(REGION, "eu")) {
            Ok(url) if is_web(&url) => Ok(Some(text.clone())),
            _ => Err(ConfigError::Script),
        }
    }
}

/// One method in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdjustmentDto {
    offered: Option<bool>,
    countries: Option<Vec<String>>,
    currencies: Option<Vec<String>>,
    amounts: Option<BTreeMap<String, String>>,
    channels: Option<Vec<String>>,
    recurring: Option<bool>,
    sandbox: Option<bool>,
}

/// Reads a file that adjusts methods: a table for each, named by its id.
///
/// ```toml
/// [IDEAL]
/// countries = ["NL", "BE"]
/// amounts = { EUR = "1..10000" }
///
/// [PAYPAL]
/// offered = false
/// ```
///
/// # Errors
/// [`ConfigError::Read`], and [`ConfigError::Catalogue`], which says what to change.
pub fn read_adjustments(path: &Path) -> Result<Adjustments, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    adjustments(&text).map_err(|message| ConfigError::Catalogue { path: path.to_owned(), message })
}

fn adjustments(text: &str) -> Result<Adjustments, String> {
    let tables: BTreeMap<String, AdjustmentDto> = toml::from_str(text).map_err(|error| {
        let line = 1 + error.span().map_or(0, |span| text[..span.start].matches('\n').count());
        format!("line {line}: {}", error.message())
    })?;
    let mut all = Adjustments::default();
    for (id, table) in tables {
        let method = find_method(&id).ok_or_else(|| format!("[{id}] is no payment method of the table of methods"))?;
        all.set(method, table.read().map_err(|why| format!("[{id}] {why}"))?);
    }
    Ok(all)
}

impl AdjustmentDto {
    fn read(self) -> Result<Adjustment, String> {
        let country = |code: String| {
            let known = Country::parse("", &code).map(|country| country.code().to_owned());
            known.map_err(|_unknown| format!("countries: {code} is no upper-case ISO 3166-1 alpha-2 code"))
        };
        let currency = |code: String| currency(&code).map_err(|why| format!("currencies: {why}"));
        let channel = |name: String| {
            let found = Channel::ALL.into_iter().find(|channel| channel.as_str() == name);
            found.ok_or_else(|| format!("channels: {name} is neither drop-in nor checkout"))
        };
        let amounts = self.amounts.map(|limits| limits.into_iter().map(|(code, text)| range(&code, &text)).collect());
        Ok(Adjustment {
            offered: self.offered,
            countries: some("countries", self.countries, country)?,
            currencies: some("currencies", self.currencies, currency)?,
            amounts: amounts.transpose()?,
            channels: some("channels", self.channels, channel)?,
            recurring: self.recurring,
            sandbox: self.sandbox,
        })
    }
}

/// A list with something in it: an empty one would say what `offered = false` says plainly.
fn some<T>(
    name: &str,
    list: Option<Vec<String>>,
    read: impl Fn(String) -> Result<T, String>,
) -> Result<Option<Vec<T>>, String> {
    match list {
        Some(list) if list.is_empty() => Err(format!("{name}: is empty; leave it out, or write offered = false")),
        list => list.map(|list| list.into_iter().map(read).collect()).transpose(),
    }
}

fn currency(code: &str) -> Result<Currency, String> {
    code.parse().map_err(|_unknown| format!("{code} is no currency of the contract"))
}

/// `least..most`, either of which may be left out: `0.50..5000`, `..5000`.
fn range(code: &str, text: &str) -> Result<Range, String> {
    let currency = currency(code).map_err(|why| format!("amounts: {why}"))?;
    let refused = || format!("amounts: {code} has to be written as least..most, such as \"0.50..5000\"");
    let (least, most) = text.split_once("..").ok_or_else(refused)?;
    let minor = |text: &str| -> Result<Option<i64>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let number = Decimal::parse(text).map_err(|_no_number| refused())?;
        let amount = Amount::from_decimal(currency, &number).map_err(|why| format!("amounts: {code} {why}"))?;
        Ok(Some(amount.minor()))
    };
    let (least, most) = (minor(least)?.unwrap_or(0), minor(most)?);
    if most.is_some_and(|most| most < least) {
        return Err(format!("amounts: {code} ends before it begins"));
    }
    Ok(Range { currency, least, most })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Demo {
        #[command(flatten)]
        catalogue: CatalogueArgs,
    }

    fn read(line: &str) -> Result<CatalogueArgs, clap::Error> {
        Demo::try_parse_from(line.split(' ')).map(|demo| demo.catalogue)
    }

    #[test]
    fn the_processor_can_do_what_is_listed_and_else_what_the_sandbox_can() {
        let offers = |line: &str| {
            let catalogue = read(line).unwrap().open().unwrap();
            methods().filter(|method| catalogue.has(method.id)).map(|method| method.id).collect::<Vec<_>>()
        };
        assert_eq!(offers("demo").len(), 11);
        assert_eq!(offers("demo --processor-methods MC,BLIK,VISA"), ["VISA", "MC", "BLIK"]);
        let unknown = read("demo --processor-methods VISA,CASH").unwrap_err().to_string();
        assert!(unknown.contains("must be one of VISA, MC"), "{unknown}");
    }

    #[test]
    fn every_setting_of_a_method_is_read() {
        let text = "[IDEAL]\noffered = true\ncountries = [\"NL\", \"BE\"]\ncurrencies = [\"EUR\"]\nchannels = [\"drop-in\"]\n\
            recurring = true\nsandbox = false\namounts = { EUR = \"0.50..5000\", JPY = \"100..\", KWD = \"..1.5\" }\n[PAYPAL]\noffered = false\n";
        let all = adjustments(text).unwrap();
        let ideal = all.of("IDEAL").unwrap();
        assert_eq!(ideal.countries.as_deref(), Some(&["NL".to_owned(), "BE".to_owned()][..]));
        let limits = [
            Range { currency: Currency::Eur, least: 50, most: Some(500_000) },
            Range { currency: Currency::Jpy, least: 100, most: None },
            Range { currency: Currency::Kwd, least: 0, most: Some(1_500) },
        ];
        assert_eq!(ideal.amounts.as_deref(), Some(&limits[..]));
        assert_eq!((ideal.offered, ideal.recurring, ideal.sandbox), (Some(true), Some(true), Some(false)));
        assert_eq!(ideal.channels.as_deref(), Some(&[Channel::DropIn][..]));
        assert_eq!(all.of("PAYPAL").unwrap().offered, Some(false));
        assert!(adjustments("").unwrap().is_empty() && adjustments("[VISA]\n").unwrap().is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (text, word) in [
            ("[CASH]\noffered = false", "[CASH]"),
            ("[VISA]\nofered = false", "line 2"),
            ("[VISA]\noffered = 1", "line 2"),
            ("offered = false", "line 1"),
            ("[VISA", "line 1"),
            ("[VISA]\ncountries = []", "offered = false"),
            ("[VISA]\ncountries = [\"nl\"]", "nl"),
            ("[VISA]\ncurrencies = [\"XTS\"]", "XTS"),
            ("[VISA]\nchannels = [\"shop\"]", "drop-in"),
            ("[VISA]\namounts = { XTS = \"1..2\" }", "XTS"),
            ("[VISA]\namounts = { EUR = \"1\" }", "least..most"),
            ("[VISA]\namounts = { EUR = \"a..b\" }", "least..most"),
            ("[VISA]\namounts = { EUR = \"2..1\" }", "ends before"),
            ("[VISA]\namounts = { JPY = \"1.5..\" }", "JPY"),
            ("[VISA]\namounts = { EUR = \"-1..\" }", "negative"),
        ] {
            let refused = adjustments(text).unwrap_err();
            assert!(refused.contains(word), "{text}: {refused}");
        }
        let missing = read_adjustments(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(matches!(missing, ConfigError::Read { .. }), "{missing}");
    }

    #[test]
    fn the_messaging_script_is_the_sandboxs_until_somebody_names_another() {
        let script = |line: &str, mode| read(line).unwrap().pay_later_script(mode, "http://s/sandbox/");
        assert_eq!(
            script("demo", Mode::Sandbox).unwrap().as_deref(),
            Some("http://s/sandbox/onsite/{region}/script.js")
        );
        assert_eq!(script("demo", Mode::Production).unwrap(), None);
        let own = "demo --pay-later-script-url https://{region}.later.example/v1/lib.js";
        assert_eq!(script(own, Mode::Production).unwrap().as_deref(), Some("https://{region}.later.example/v1/lib.js"));
        for wrong in ["later.example", "ftp://later.example/{region}", "javascript:alert(1)"] {
            assert!(script(&format!("demo --pay-later-script-url {wrong}"), Mode::Production).is_err(), "{wrong}");
        }
    }
}
