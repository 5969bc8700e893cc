//! Which payment methods this deployment offers: what is otherwise about them than in the table of methods, and which it adds to that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, Catalogue, Class, Method, Range, SalesChannel, find_method, methods,
};
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::Country;
use serde::Deserialize;
use url::Url;

use crate::config_error::ConfigError;
use crate::mode::Mode;
use crate::public::is_this_machine;

/// What stands for the region in the address of the messaging script.
const REGION: &str = "{region}";

/// What a processor is told in place of a method's id when a card is charged.
const ANY_CARD: &str = "CARD";

/// Payment methods.
#[derive(Debug, Clone, Args)]
pub struct CatalogueArgs {
    /// Ids of the payment methods that the processor can do, with commas between [default: those of the sandbox processor]
    #[arg(long, env = "PROCESSOR_METHODS", value_delimiter = ',', value_name = "ID")]
    pub processor_methods: Vec<String>,
    /// TOML file that offers methods otherwise than the table of methods says
    #[arg(long, env = "DROPIN_CATALOGUE", value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Address of the pay-later provider's messaging script; {region} in it becomes eu, na or oc [default: the sandbox processor's; none in
    /// production]
    #[arg(long, env = "PAY_LATER_SCRIPT_URL", value_name = "URL")]
    pub pay_later_script_url: Option<String>,
}

impl CatalogueArgs {
    /// The catalogue. Of the methods that the file adds, those that the processor is said to do.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or makes no sense, or the processor is said to do a method that there is not.
    pub fn open(&self) -> Result<Catalogue, ConfigError> {
        let CatalogueFile { adjustments, own } =
            self.catalogue.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let listed = self.processor_methods.as_slice();
        let is_known = |id: &str| find_method(id).is_some() || own.iter().any(|method| method.id() == id);
        if let Some(id) = listed.iter().find(|id| !is_known(id)) {
            let mut known: Vec<&str> = methods().map(Method::id).collect();
            known.extend(own.iter().map(Method::id));
            return Err(ConfigError::ProcessorMethod { id: id.clone(), known: known.join(", ") });
        }
        let is_listed = |method: &Method| listed.iter().any(|id| id == method.id());
        let can = |method: &Method| if listed.is_empty() { method.is_in_sandbox() } else { is_listed(method) };
        let catalogue = Catalogue::new(can, &adjustments).with(own.into_iter().filter(|method| is_listed(method)));
        Ok(catalogue
            .expect("own methods are the tables of one file, which names each once, and no built-in one is among them"))
    }

    /// Where the pay-later provider's messaging script is, with `{region}` in it. `sandbox` is the sandbox processor's public address.
    ///
    /// # Errors
    /// [`ConfigError::Script`], [`ConfigError::PlainHttp`].
    pub fn pay_later_script(&self, mode: Mode, sandbox: &str) -> Result<Option<String>, ConfigError> {
        let Some(text) = &self.pay_later_script_url else {
            let ours = || format!("{}/onsite/{REGION}/script.js", sandbox.trim_end_matches('/'));
            return Ok((mode == Mode::Sandbox).then(ours));
        };
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        match Url::parse(&text.replace(REGION, "eu")) {
            Ok(url) if mode == Mode::Production && url.scheme() == "http" && !is_this_machine(&url) => {
                Err(ConfigError::PlainHttp { name: "pay_later_script_url" })
            }
            Ok(url) if is_web(&url) => Ok(Some(text.clone())),
            _ => Err(ConfigError::Script),
        }
    }
}

/// One method in the file: one of the table of methods, which it adjusts, or one with a name and a class, which it adds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodDto {
    name: Option<String>,
    names: Option<BTreeMap<String, String>>,
    class: Option<String>,
    offered: Option<bool>,
    countries: Option<Vec<String>>,
    currencies: Option<Vec<String>>,
    amounts: Option<BTreeMap<String, String>>,
    channels: Option<Vec<String>>,
    recurring: Option<bool>,
    capture_later: Option<bool>,
    sandbox: Option<bool>,
}

/// What a file says.
#[derive(Debug, Default)]
struct CatalogueFile {
    /// Of methods of the table.
    adjustments: Adjustments,
    /// Methods that it adds.
    own: Vec<Method>,
}

/// Reads a merchant's file, which adjusts methods: a table for each, named by its id.
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
/// [`ConfigError::Read`], and [`ConfigError::Catalogue`], which says what to change: a merchant's file adds no method.
pub fn read_adjustments(path: &Path) -> Result<Adjustments, ConfigError> {
    let CatalogueFile { adjustments, own } = read_file(path)?;
    match own.first() {
        None => Ok(adjustments),
        Some(method) => {
            let id = method.id();
            let message =
                format!("[{id}] is no payment method of the table of methods; only the deployment's file adds one");
            Err(ConfigError::Catalogue { path: path.to_owned(), message })
        }
    }
}

fn read_file(path: &Path) -> Result<CatalogueFile, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|message| ConfigError::Catalogue { path: path.to_owned(), message })
}

fn parse(text: &str) -> Result<CatalogueFile, String> {
    let tables: BTreeMap<String, MethodDto> = toml::from_str(text).map_err(|error| {
        let line = 1 + error.span().map_or(0, |span| text[..span.start].matches('\n').count());
        format!("line {line}: {}", error.message())
    })?;
    let mut file = CatalogueFile::default();
    for (id, table) in tables {
        let place = |why: String| format!("[{id}] {why}");
        match find_method(&id) {
            Some(method) => file.adjustments.set(method, table.adjust().map_err(place)?),
            None => file.own.push(table.add(id.clone()).map_err(place)?),
        }
    }
    Ok(file)
}

impl MethodDto {
    /// Of a method of the table.
    fn adjust(self) -> Result<Adjustment, String> {
        if self.name.is_some() || self.names.is_some() || self.class.is_some() {
            return Err("is in the table of methods: leave out name, names and class, or choose another id".to_owned());
        }
        Adjustment::new(self.parts()?).map_err(|why| why.to_string())
    }

    /// Of a method that is not in the table.
    fn add(mut self, id: String) -> Result<Method, String> {
        let (Some(name), Some(class)) = (self.name.take(), self.class.take()) else {
            let advice = "correct the id, or give it name and class to add it as a method of your own";
            return Err(format!("is no payment method of the table of methods: {advice}"));
        };
        if id == ANY_CARD {
            return Err("is what a processor is told of every card: choose another id".to_owned());
        }
        let class = match class.parse::<Class>() {
            Ok(class @ (Class::Online | Class::Offline)) => class,
            Ok(Class::Card) => {
                return Err("class: write Online or Offline; which card it is follows from a card's number".to_owned());
            }
            Err(_unknown) => return Err("class: write Online or Offline".to_owned()),
        };
        if self.offered.is_some() {
            return Err(
                "offered: leave it out; a method that is added is offered when PROCESSOR_METHODS names it".to_owned()
            );
        }
        let names = self.names.take().unwrap_or_default();
        let parts = Adjustment::new(self.parts()?).map_err(|why| why.to_string())?.into_parts();
        let mut builder = Method::builder(id, name, class)
            .translated(names)
            .countries(parts.countries.unwrap_or_default())
            .currencies(parts.currencies.unwrap_or_default())
            .amounts(parts.amounts.unwrap_or_default())
            .recurring(parts.recurring.unwrap_or(false))
            .capture_later(parts.capture_later.unwrap_or(false))
            .sandbox(parts.sandbox.unwrap_or(false));
        if let Some(channels) = parts.channels {
            builder = builder.channels(channels);
        }
        builder.build().map_err(|why| why.to_string())
    }

    fn parts(self) -> Result<AdjustmentParts, String> {
        let country = |code: String| {
            let known = Country::parse("", &code).map(|country| country.code().to_owned());
            known.map_err(|_unknown| format!("countries: {code} is no upper-case ISO 3166-1 alpha-2 code"))
        };
        let currency = |code: String| currency(&code).map_err(|why| format!("currencies: {why}"));
        let channel = |name: String| {
            let found = name.parse::<SalesChannel>().ok();
            found.ok_or_else(|| format!("channels: {name} is neither drop-in nor checkout"))
        };
        let amounts = self.amounts.map(|limits| limits.into_iter().map(|(code, text)| range(&code, &text)).collect());
        Ok(AdjustmentParts {
            offered: self.offered,
            countries: every(self.countries, country)?,
            currencies: every(self.currencies, currency)?,
            amounts: amounts.transpose()?,
            channels: every(self.channels, channel)?,
            recurring: self.recurring,
            capture_later: self.capture_later,
            sandbox: self.sandbox,
        })
    }
}

fn every<T>(list: Option<Vec<String>>, read: impl Fn(String) -> Result<T, String>) -> Result<Option<Vec<T>>, String> {
    list.map(|list| list.into_iter().map(read).collect()).transpose()
}

fn currency(code: &str) -> Result<Currency, String> {
    code.parse().map_err(|unknown| format!("{code} {unknown}"))
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
    Range::new(currency, least, most).map_err(|why| format!("amounts: {code} {why}"))
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
            methods().map(Method::id).filter(|id| catalogue.has(id)).collect::<Vec<_>>()
        };
        assert_eq!(offers("demo").len(), 11);
        assert_eq!(offers("demo --processor-methods MC,BLIK,VISA"), ["VISA", "MC", "BLIK"]);
        let unknown = read("demo --processor-methods VISA,CASH").unwrap().open().unwrap_err().to_string();
        assert!(unknown.contains("names CASH") && unknown.contains("one of VISA, MC"), "{unknown}");
    }

    #[test]
    fn every_setting_of_a_method_is_read() {
        let text = "[IDEAL]\noffered = true\ncountries = [\"NL\", \"BE\"]\ncurrencies = [\"EUR\"]\nchannels = [\"drop-in\"]\n\
            recurring = true\ncapture_later = true\nsandbox = false\namounts = { EUR = \"0.50..5000\", JPY = \"100..\", KWD = \"..1.5\" }\n[PAYPAL]\noffered = false\n";
        let all = parse(text).unwrap().adjustments;
        let ideal = all.of("IDEAL").unwrap();
        assert_eq!(ideal.countries.as_deref(), Some(&["NL".to_owned(), "BE".to_owned()][..]));
        let limits = [
            Range::new(Currency::Eur, 50, Some(500_000)).unwrap(),
            Range::new(Currency::Jpy, 100, None).unwrap(),
            Range::new(Currency::Kwd, 0, Some(1_500)).unwrap(),
        ];
        assert_eq!(ideal.amounts.as_deref(), Some(&limits[..]));
        assert_eq!((ideal.offered, ideal.recurring, ideal.sandbox), (Some(true), Some(true), Some(false)));
        assert_eq!(ideal.capture_later, Some(true));
        assert_eq!(ideal.channels.as_deref(), Some(&[SalesChannel::DropIn][..]));
        assert_eq!(all.of("PAYPAL").unwrap().offered, Some(false));
        for nothing in ["", "[VISA]\n", "[VISA]\namounts = {}\n"] {
            let CatalogueFile { adjustments, own } = parse(nothing).unwrap();
            assert!(adjustments.is_empty() && own.is_empty(), "{nothing}");
        }
    }

    const OWN: &str = "[TIKKIE]\nname = \"Tikkie\"\nclass = \"Online\"\nnames = { nl = \"Tikkie betalen\" }\n\
        countries = [\"NL\"]\ncurrencies = [\"EUR\"]\namounts = { EUR = \"0.50..5000\" }\nchannels = [\"drop-in\"]\n\
        recurring = true\ncapture_later = true\nsandbox = true\n[PAYPAL]\noffered = false\n";

    /// A file with this text that is removed with the test.
    fn file(name: &str, text: &str) -> (PathBuf, impl Drop) {
        struct Removed(PathBuf);
        impl Drop for Removed {
            fn drop(&mut self) {
                let _removed = fs::remove_file(&self.0);
            }
        }
        let path = std::env::temp_dir().join(format!("dropin-catalogue-{}-{name}.toml", std::process::id()));
        fs::write(&path, text).unwrap();
        (path.clone(), Removed(path))
    }

    #[test]
    fn a_method_that_the_file_adds_is_offered_when_the_processor_can_do_it() {
        let (path, _file) = file("own", OWN);
        let open = |line: &str| read(&format!("demo --catalogue {} {line}", path.display())).unwrap().open();
        let listed = open("--processor-methods VISA,TIKKIE").unwrap();
        assert!(listed.has("TIKKIE") && listed.has("VISA") && !listed.has("PAYPAL"));
        for without in [open("--processor-methods VISA").unwrap(), open("--processor-methods MC,BLIK").unwrap()] {
            assert!(!without.has("TIKKIE") && without.method("TIKKIE").is_none());
        }
        let unset = read(&format!("demo --catalogue {}", path.display())).unwrap().open().unwrap();
        assert!(!unset.has("TIKKIE") && unset.has("VISA"), "the sandbox processor cannot do it");
        let unknown = open("--processor-methods VISA,CASH").unwrap_err().to_string();
        assert!(unknown.contains("names CASH") && unknown.contains("TIKKIE"), "{unknown}");
        let merchants = read_adjustments(&path).unwrap_err().to_string();
        assert!(merchants.contains("[TIKKIE]") && merchants.contains("only the deployment's file"), "{merchants}");
    }

    #[test]
    fn every_setting_of_an_own_method_is_read() {
        let CatalogueFile { own, adjustments } = parse(OWN).unwrap();
        let [tikkie] = own.as_slice() else { panic!("{own:?}") };
        assert_eq!((tikkie.id(), tikkie.name(), tikkie.name_in("nl").0), ("TIKKIE", "Tikkie", "Tikkie betalen"));
        assert_eq!((tikkie.class(), tikkie.is_local()), (Class::Online, true));
        assert_eq!(tikkie.reach(), ["NL", "EUR", "0.50 to 5000.00 EUR"]);
        assert!(tikkie.recurring() && tikkie.capture_later() && tikkie.is_in_sandbox());
        let merchant = dropin_catalogue::MerchantMethods::default();
        let ask =
            dropin_catalogue::Ask { country: Some("NL"), ..dropin_catalogue::Ask::new(&merchant, &[Currency::Eur]) };
        let catalogue = Catalogue::new(|_built_in| false, &adjustments).with(own).unwrap();
        assert!(catalogue.offer("TIKKIE", &ask).is_ok());
        let channel = SalesChannel::Checkout;
        assert!(catalogue.offer("TIKKIE", &dropin_catalogue::Ask { channel, ..ask }).is_err(), "in the drop-in alone");
        let CatalogueFile { own, .. } = parse("[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\n").unwrap();
        assert_eq!(own[0].reach(), ["all", "all", ""]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        for (text, word) in [
            ("[CASH]\noffered = false", "[CASH] is no payment method"),
            ("[CASH]\nname = \"Cash\"", "name and class"),
            ("[CARD]\nname = \"Card\"\nclass = \"Online\"", "[CARD] is what a processor is told"),
            ("[cash]\nname = \"Cash\"\nclass = \"Offline\"", "[cash] id: has to be"),
            ("[CASH]\nname = \"\"\nclass = \"Offline\"", "[CASH] name: has to be"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Voucher\"", "class: write Online or Offline"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Card\"", "a card's number"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\noffered = true", "PROCESSOR_METHODS"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nchannels = []", "[CASH] channels: is empty"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncountries = [\"XX\"]", "XX"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nnames = { German = \"Bar\" }", "German"),
            (
                "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncurrencies = [\"USD\"]\namounts = { EUR = \"1..\" }",
                "EUR is not among its currencies",
            ),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncountries = []", "[CASH] countries: is empty"),
            ("[VISA]\nname = \"Our Visa\"", "[VISA] is in the table of methods"),
            ("[VISA]\nclass = \"Online\"", "choose another id"),
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
            let refused = parse(text).unwrap_err();
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
