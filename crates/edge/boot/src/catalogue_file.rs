//! The deployment's file of payment methods, and a merchant's: what is otherwise about methods, and which the deployment adds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use dropin_catalogue::{
    Adjustment, AdjustmentParts, Adjustments, Catalogue, Class, Method, Range, SalesChannel, WindowFrom, find_method,
};
use dropin_kernel::parse_span;
use dropin_money::{Amount, Currency, Decimal};
use dropin_validation::Country;
use serde::Deserialize;

use crate::config_error::ConfigError;

/// What a processor is told in place of a method's id when a card is charged.
const ANY_CARD: &str = "CARD";
/// The shortest time to pay or to capture.
const MIN_SPAN: Duration = Duration::from_secs(1);
/// The longest; every end that follows from it is a date that can be written.
const MAX_SPAN: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Why a file's own methods have ids of their own.
pub(crate) const UNIQUE: &str =
    "own methods are the tables of one file, which names each once, and no built-in one is among them";

/// The deployment's file of payment methods: the same for every program that makes payments or changes them.
#[derive(Debug, Clone, Default, Args)]
pub struct CatalogueFileArgs {
    /// TOML file that offers methods otherwise than the table of methods says, and adds others
    #[arg(long, env = "DROPIN_CATALOGUE", value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}

impl CatalogueFileArgs {
    /// The catalogue of a program that begins no payments: the methods that there are. None of them is offered.
    ///
    /// # Errors
    /// [`ConfigError::CatalogueFile`], which says what to change.
    pub fn known(&self) -> Result<Catalogue, ConfigError> {
        let CatalogueFile { adjustments, own } = self.read()?;
        Ok(Catalogue::new(|_built_in| false, &adjustments).with_known(own).expect(UNIQUE))
    }

    pub(crate) fn read(&self) -> Result<CatalogueFile, ConfigError> {
        let read = self.catalogue.as_deref().map(|path| read_as(path, parse)).transpose();
        read.map(Option::unwrap_or_default).map_err(|error| ConfigError::CatalogueFile(Box::new(error)))
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
    partial_capture: Option<bool>,
    sandbox: Option<bool>,
    refunds: Option<bool>,
    patience: Option<String>,
    capture_window: Option<String>,
    capture_window_from: Option<String>,
}

/// What the deployment's file says.
#[derive(Debug, Default)]
pub(crate) struct CatalogueFile {
    /// Of methods of the table.
    pub(crate) adjustments: Adjustments,
    /// Methods that it adds.
    pub(crate) own: Vec<Method>,
}

/// Reads a merchant's file, which adjusts methods that are `known`: a table for each, named by its id.
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
pub fn read_adjustments(path: &Path, known: &Catalogue) -> Result<Adjustments, ConfigError> {
    read_as(path, |text| {
        let mut all = Adjustments::default();
        for (id, table) in tables(text)? {
            let method = known.method(&id).ok_or_else(|| {
                format!("[{id}] is no payment method: correct the id; only the deployment's file (DROPIN_CATALOGUE) adds one")
            })?;
            all.set(method, table.adjust().map_err(|why| format!("[{id}] {why}"))?);
        }
        Ok(all)
    })
}

fn read_as<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|message| ConfigError::Catalogue { path: path.to_owned(), message })
}

fn tables(text: &str) -> Result<BTreeMap<String, MethodDto>, String> {
    toml::from_str(text).map_err(|error| {
        let line = 1 + error.span().map_or(0, |span| text[..span.start].matches('\n').count());
        format!("line {line}: {}", error.message())
    })
}

/// The deployment's file.
fn parse(text: &str) -> Result<CatalogueFile, String> {
    let mut file = CatalogueFile::default();
    for (id, table) in tables(text)? {
        let place = |why: String| format!("[{id}] {why}");
        match find_method(&id) {
            Some(method) => file.adjustments.set(method, table.adjust().map_err(place)?),
            None => file.own.push(table.add(id.clone()).map_err(place)?),
        }
    }
    Ok(file)
}

impl MethodDto {
    /// Of a method that there is.
    fn adjust(self) -> Result<Adjustment, String> {
        if self.name.is_some() || self.names.is_some() || self.class.is_some() {
            return Err("is a payment method already: leave out name, names and class, or choose another id".to_owned());
        }
        let of_own = [
            ("partial_capture", self.partial_capture.is_some()),
            ("refunds", self.refunds.is_some()),
            ("patience", self.patience.is_some()),
            ("capture_window", self.capture_window.is_some()),
            ("capture_window_from", self.capture_window_from.is_some()),
        ];
        if let Some((name, _)) = of_own.iter().find(|(_, said)| *said) {
            return Err(format!("{name}: leave it out; only where the deployment's file adds a method it says so"));
        }
        Adjustment::new(self.parts()?).map_err(|why| why.to_string())
    }

    /// Of a method that the deployment's file adds.
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
        let (partial_capture, refunds) = (self.partial_capture.unwrap_or(false), self.refunds.unwrap_or(true));
        let patience = self.patience.take().map(|text| span("patience", &text)).transpose()?;
        let window = self.capture_window.take().map(|text| span("capture_window", &text)).transpose()?;
        let from = self.capture_window_from.take().map(|text| window_from(&text)).transpose()?;
        if from.is_some() && window.is_none() {
            return Err("capture_window_from: say with capture_window how long, or leave it out".to_owned());
        }
        let parts = Adjustment::new(self.parts()?).map_err(|why| why.to_string())?.into_parts();
        let mut builder = Method::builder(id, name, class)
            .translated(names)
            .countries(parts.countries.unwrap_or_default())
            .currencies(parts.currencies.unwrap_or_default())
            .amounts(parts.amounts.unwrap_or_default())
            .recurring(parts.recurring.unwrap_or(false))
            .capture_later(parts.capture_later.unwrap_or(false))
            .partial_capture(partial_capture)
            .refunds(refunds)
            .sandbox(parts.sandbox.unwrap_or(false));
        if let Some(channels) = parts.channels {
            builder = builder.channels(channels);
        }
        if let Some(patience) = patience {
            builder = builder.patience(patience);
        }
        if let Some(window) = window {
            builder = builder.capture_window(window, from.unwrap_or(WindowFrom::Authorization));
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

/// A whole number with its unit: `90s`, `15m`, `48h`, `7d`.
fn span(name: &str, text: &str) -> Result<Duration, String> {
    let read = parse_span(text).filter(|span| (MIN_SPAN..=MAX_SPAN).contains(span));
    read.ok_or_else(|| {
        format!("{name}: {text} has to be a whole number with s, m, h or d, from 1s to 366d, such as 48h")
    })
}

fn window_from(text: &str) -> Result<WindowFrom, String> {
    text.parse().map_err(|_unknown| format!("capture_window_from: {text} is neither AUTHORIZATION nor CREATION"))
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
pub(crate) mod tests {
    use super::*;

    pub(crate) const OWN: &str = "[TIKKIE]\nname = \"Tikkie\"\nclass = \"Online\"\nnames = { nl = \"Tikkie betalen\" }\n\
        countries = [\"NL\"]\ncurrencies = [\"EUR\"]\namounts = { EUR = \"0.50..5000\" }\nchannels = [\"drop-in\"]\n\
        recurring = true\ncapture_later = true\npartial_capture = true\nsandbox = true\nrefunds = false\npatience = \"90m\"\n\
        capture_window = \"48h\"\ncapture_window_from = \"CREATION\"\n[PAYPAL]\noffered = false\n";

    /// A file with this text that is removed with the test.
    pub(crate) fn file(name: &str, text: &str) -> (PathBuf, impl Drop) {
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
    fn every_program_knows_the_methods_that_the_file_adds() {
        let (path, _file) = file("known", OWN);
        let known = CatalogueFileArgs { catalogue: Some(path) }.known().unwrap();
        assert!(known.payment_rules("TIKKIE").partial_capture() && !known.payment_rules("IDEAL").partial_capture());
        assert!(!known.has("TIKKIE") && !known.has("VISA"), "it offers none");
        let without = CatalogueFileArgs::default().known().unwrap();
        assert!(without.method("TIKKIE").is_none() && without.method("VISA").is_some());
        let missing = CatalogueFileArgs { catalogue: Some(PathBuf::from("/nowhere/at/all")) }.known().unwrap_err();
        let missing = missing.to_string();
        assert!(missing.contains("cannot read /nowhere/at/all") && missing.contains("DROPIN_CATALOGUE"), "{missing}");
    }

    #[test]
    fn a_merchants_file_narrows_what_the_deployment_adds_and_adds_nothing() {
        let (path, _file) = file("deployment", OWN);
        let known = CatalogueFileArgs { catalogue: Some(path) }.known().unwrap();
        let (narrow, _narrow) = file("narrow", "[TIKKIE]\namounts = { EUR = \"1..10\" }\n[VISA]\noffered = false\n");
        let adjustments = read_adjustments(&narrow, &known).unwrap();
        assert!(adjustments.of("TIKKIE").is_some_and(|one| one.amounts.is_some()) && adjustments.of("VISA").is_some());
        let refused = read_adjustments(&narrow, &Catalogue::of_sandbox()).unwrap_err().to_string();
        assert!(refused.contains("[TIKKIE]") && refused.contains("only the deployment's file"), "{refused}");
        let (adding, _adding) = file("adding", OWN);
        let refused = read_adjustments(&adding, &known).unwrap_err().to_string();
        assert!(refused.contains("[TIKKIE] is a payment method already"), "{refused}");
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

    #[test]
    fn every_setting_of_an_own_method_is_read() {
        let CatalogueFile { own, adjustments } = parse(OWN).unwrap();
        let [tikkie] = own.as_slice() else { panic!("{own:?}") };
        assert_eq!((tikkie.id(), tikkie.name(), tikkie.name_in("nl").0), ("TIKKIE", "Tikkie", "Tikkie betalen"));
        assert_eq!((tikkie.class(), tikkie.is_local()), (Class::Online, true));
        assert_eq!(tikkie.reach(), ["NL", "EUR", "0.50 to 5000.00 EUR"]);
        assert!(tikkie.recurring() && tikkie.capture_later() && tikkie.partial_capture() && tikkie.is_in_sandbox());
        assert!(!tikkie.refunds());
        assert_eq!([tikkie.patience(), tikkie.capture_window()].map(|span| span.as_secs()), [5_400, 172_800]);
        assert_eq!(tikkie.window_from(), WindowFrom::Creation);
        let merchant = dropin_catalogue::MerchantMethods::default();
        let ask =
            dropin_catalogue::Ask { country: Some("NL"), ..dropin_catalogue::Ask::new(&merchant, &[Currency::Eur]) };
        let catalogue = Catalogue::new(|_built_in| false, &adjustments).with(own).unwrap();
        assert!(catalogue.offer("TIKKIE", &ask).is_ok());
        let channel = SalesChannel::Checkout;
        assert!(catalogue.offer("TIKKIE", &dropin_catalogue::Ask { channel, ..ask }).is_err(), "in the drop-in alone");
        let CatalogueFile { own, .. } = parse("[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\n").unwrap();
        assert_eq!(own[0].reach(), ["all", "all", ""]);
        assert!(!own[0].partial_capture() && !own[0].capture_later() && !own[0].recurring(), "as its class has it");
        let as_class = Method::builder("KIOSK", "Kiosk", Class::Offline).build().unwrap();
        assert_eq!(own[0], as_class, "what is left out is as its class has it");
        let week = "[KIOSK]\nname = \"Kiosk\"\nclass = \"Offline\"\ncapture_window = \"30d\"\n";
        let CatalogueFile { own, .. } = parse(week).unwrap();
        assert_eq!((own[0].capture_window().as_secs(), own[0].window_from()), (2_592_000, WindowFrom::Authorization));
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
            ("[VISA]\nname = \"Our Visa\"", "[VISA] is a payment method already"),
            ("[VISA]\nclass = \"Online\"", "choose another id"),
            ("[VISA]\npartial_capture = false", "[VISA] partial_capture: leave it out"),
            ("[VISA]\nrefunds = false", "[VISA] refunds: leave it out"),
            ("[VISA]\npatience = \"1h\"", "[VISA] patience: leave it out"),
            ("[VISA]\ncapture_window = \"7d\"", "[VISA] capture_window: leave it out"),
            ("[VISA]\ncapture_window_from = \"CREATION\"", "[VISA] capture_window_from: leave it out"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"soon\"", "[CASH] patience: soon has to be"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"0s\"", "from 1s to 366d"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"367d\"", "from 1s to 366d"),
            (
                "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npatience = \"1500ms\"",
                "[CASH] patience: has to be whole seconds",
            ),
            (
                "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window = \"7\"",
                "[CASH] capture_window: 7 has to be",
            ),
            (
                "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window = \"7d\"\ncapture_window_from = \"capture\"",
                "neither AUTHORIZATION nor CREATION",
            ),
            (
                "[CASH]\nname = \"Cash\"\nclass = \"Offline\"\ncapture_window_from = \"CREATION\"",
                "with capture_window how long",
            ),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\nrefunds = 1", "line 4"),
            ("[CASH]\nname = \"Cash\"\nclass = \"Offline\"\npartial_capture = 1", "line 4"),
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
        let missing = read_adjustments(Path::new("/nowhere/at/all"), &Catalogue::of_sandbox()).unwrap_err();
        assert!(matches!(missing, ConfigError::Read { .. }), "{missing}");
    }
}
