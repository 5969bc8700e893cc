#![doc = include_str!("../README.md")]

mod bundle;
mod inventory;

pub use inventory::{Document, Script, scripts};

/// One file of the bundle, as it is to be served below `{asset_url}/v1/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Path below the `v1/` folder, for example `dropin.js` or `locales/de.json`.
    pub path: &'static str,
    /// Value of the `Content-Type` header.
    pub content_type: &'static str,
    /// The file, uncompressed.
    pub bytes: &'static [u8],
    /// The same, compressed by Brotli; `None` for documents that are written anew for each shopper, and for the manifest.
    pub brotli: Option<&'static [u8]>,
    /// The same, compressed by gzip.
    pub gzip: Option<&'static [u8]>,
    /// The content's name, 12 hexadecimal digits: our own files ask for each other as `path?fingerprint`, whose answer never changes.
    pub fingerprint: &'static str,
    /// Base64 of the SHA-384 of `bytes`: good as an `ETag`, and after `sha384-` as Subresource Integrity.
    pub sha384: &'static str,
}

impl Asset {
    /// The value of an `integrity` attribute for this file.
    #[must_use]
    pub fn integrity(&self) -> String {
        format!("sha384-{}", self.sha384)
    }
}

/// Names the content of the whole bundle: 16 hexadecimal digits that change with any byte of any file.
pub const VERSION: &str = bundle::VERSION;

/// The file served at `path` below `v1/`; `None` for every other path.
#[must_use]
pub fn asset(path: &str) -> Option<&'static Asset> {
    assets().iter().find(|asset| asset.path == path)
}

/// All files of the bundle, sorted by path.
#[must_use]
pub fn assets() -> &'static [Asset] {
    bundle::ASSETS
}

/// A language that the drop-in speaks, with all its texts, for pages of the service that speak to shoppers too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// BCP 47 tag, for example `de`, `pt-BR` or `zh-Hant`: good as `<html lang>`.
    pub tag: &'static str,
    /// Whether it is written from right to left.
    pub is_right_to_left: bool,
    /// A JSON object of texts by their names, with placeholders such as `{merchant}` in them.
    pub texts: &'static str,
}

/// All languages, sorted by tag.
#[must_use]
pub fn languages() -> &'static [Language] {
    bundle::LANGUAGES
}

/// English, which every shopper gets who reads none of the others.
#[must_use]
pub fn english() -> &'static Language {
    &bundle::ENGLISH
}

/// The language for a request such as `de`, `de-AT`, `pt_BR` or `zh-Hant-HK`, which the drop-in would choose too; `None` when
/// there are no texts for it.
///
/// ```
/// assert_eq!(dropin_browser::language("no-NO").map(|language| language.tag), Some("nb"));
/// assert_eq!(dropin_browser::language("zh_TW").map(|language| language.tag), Some("zh-Hant"));
/// assert_eq!(dropin_browser::language("xx"), None);
/// ```
#[must_use]
pub fn language(request: &str) -> Option<&'static Language> {
    let (tags, _country) = wanted(request)?;
    tags.iter().find_map(|tag| languages().iter().find(|language| language.tag == tag))
}

/// The language of one card form, with the files of its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormLanguage {
    /// BCP 47 tag for `lang`, numbers and currencies, for example `de-AT`: the language with the country that was asked for.
    pub format: String,
    /// Whether it is written from right to left.
    pub is_right_to_left: bool,
    /// What stands in the form.
    pub form_texts: &'static Asset,
    /// What is said after its button was pressed.
    pub outcome_texts: &'static Asset,
}

/// The first of `requests` that the drop-in has texts for; English when there is none. Languages that nobody speaks, which show a page what
/// long words do to it (`en-XA`), are found too.
///
/// ```
/// let locale = dropin_browser::locale(["tlh", "de_AT", "en"]).expect("every bundle has English");
/// assert_eq!((locale.format.as_str(), locale.form_texts.path), ("de-AT", "locales/de.json"));
/// ```
#[must_use]
pub fn locale<'a>(requests: impl IntoIterator<Item = &'a str>) -> Option<FormLanguage> {
    requests.into_iter().chain([ENGLISH]).find_map(|request| {
        let (tags, country) = wanted(request)?;
        let texts = |folder: &str, tag: &str| asset(&format!("{folder}/{tag}.json"));
        tags.iter().find_map(|tag| {
            Some(FormLanguage {
                format: country
                    .as_ref()
                    .map_or_else(|| tag.clone(), |country| format!("{}-{country}", without_country(tag))),
                is_right_to_left: languages().iter().any(|language| language.tag == tag && language.is_right_to_left),
                form_texts: texts("locales", tag)?,
                outcome_texts: texts("outcomes", tag)?,
            })
        })
    })
}

const ENGLISH: &str = "en";

/// The tags that may serve `request`, the best first, and the country that it names; `None` when it is no language.
fn wanted(request: &str) -> Option<(Vec<String>, Option<String>)> {
    let mut parts = request.split(['-', '_']);
    let spoken = parts.next().filter(|part| is_letters(part, 2..=3))?.to_ascii_lowercase();
    let second = parts.next();
    let script = second.filter(|part| is_letters(part, 4..=4));
    let land = if script.is_some() { parts.next() } else { second };
    let country = land.filter(|part| is_letters(part, 2..=2)).map(str::to_ascii_uppercase);
    // A script that is named outweighs what is usual in the country.
    let named = script.map(capitalized).or_else(|| country.clone()).map(|more| format!("{spoken}-{more}"));
    Some((named.into_iter().chain([spoken]).map(unaliased).collect(), country))
}

fn unaliased(tag: String) -> String {
    bundle::ALIASES.iter().find(|(alias, _)| *alias == tag).map_or(tag, |(_, tag)| (*tag).to_owned())
}

/// `pt-BR` as `pt`; `zh-Hant` as it is.
fn without_country(tag: &str) -> &str {
    tag.rsplit_once('-').filter(|(_, last)| last.len() == 2).map_or(tag, |(language, _)| language)
}

fn is_letters(part: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// As scripts are written: `Hant`.
fn capitalized(script: &str) -> String {
    let lower = script.to_ascii_lowercase();
    lower.char_indices().map(|(at, letter)| if at == 0 { letter.to_ascii_uppercase() } else { letter }).collect()
}
