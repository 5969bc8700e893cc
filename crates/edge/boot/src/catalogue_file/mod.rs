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
    read_as(path, |text| parse_adjustments(text, known))
}

/// The same of a text.
///
/// # Errors
/// What to change.
pub fn parse_adjustments(text: &str, known: &Catalogue) -> Result<Adjustments, String> {
    let mut all = Adjustments::default();
    for (id, table) in tables(text)? {
        let method = known.method(&id).ok_or_else(|| {
            format!(
                "[{id}] is no payment method: correct the id; only the deployment's file (DROPIN_CATALOGUE) adds one"
            )
        })?;
        all.set(method, table.adjust().map_err(|why| format!("[{id}] {why}"))?);
    }
    Ok(all)
}

/// Adjustments as a merchant's file has them.
pub fn write_adjustments(adjustments: &Adjustments) -> String {
    let list = |items: Vec<String>| items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for (id, one) in adjustments.iter() {
        let codes = |all: &[Currency]| all.iter().map(|one| one.code().to_owned()).collect();
        let names = |all: &[SalesChannel]| all.iter().map(|one| one.as_str().to_owned()).collect();
        let flag = |name: &str, value: Option<bool>| value.map(|value| format!("{name} = {value}"));
        let lists = [
            ("countries", one.countries.clone()),
            ("currencies", one.currencies.as_deref().map(codes)),
            ("channels", one.channels.as_deref().map(names)),
        ];
        let lists = lists.into_iter().filter_map(|(name, all)| Some(format!("{name} = [{}]", list(all?))));
        let amounts = one
            .amounts
            .as_deref()
            .filter(|all| !all.is_empty())
            .map(|all| format!("amounts = {{ {} }}", all.iter().map(limit).collect::<Vec<_>>().join(", ")));
        let flags = [
            flag("offered", one.offered),
            flag("recurring", one.recurring),
            flag("capture_later", one.capture_later),
            flag("sandbox", one.sandbox),
        ];
        let lines: Vec<_> = flags.into_iter().flatten().chain(lists).chain(amounts).collect();
        text.push_str(&format!("[{id}]\n{}\n\n", lines.join("\n")));
    }
    text.trim_end().to_owned()
}

/// `EUR = "0.50..5000"`.
fn limit(range: &Range) -> String {
    let currency = range.currency();
    let amount = |minor| Amount::from_minor(currency, minor).map(|amount| amount.to_string()).unwrap_or_default();
    let least = if range.least() == 0 { String::new() } else { amount(range.least()) };
    format!("{} = \"{least}..{}\"", currency.code(), range.most().map(amount).unwrap_or_default())
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
pub(crate) mod tests;
