#![doc = include_str!("../README.md")]

mod bundle;

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
    let mut parts = request.split(['-', '_']);
    let spoken = parts.next().filter(|part| is_letters(part, 2..=3))?.to_ascii_lowercase();
    let second = parts.next();
    let named = match second.filter(|part| is_letters(part, 4..=4)) {
        // A script that is named outweighs what is usual in the country.
        Some(script) => Some(format!("{spoken}-{}", capitalized(script))),
        None => {
            second.filter(|part| is_letters(part, 2..=2)).map(|land| format!("{spoken}-{}", land.to_ascii_uppercase()))
        }
    };
    named.into_iter().chain([spoken]).find_map(|tag| {
        let alias = bundle::ALIASES.iter().find(|(alias, _)| *alias == tag).map_or(tag.as_str(), |(_, tag)| *tag);
        languages().iter().find(|language| language.tag == alias)
    })
}

fn is_letters(part: &str, lengths: std::ops::RangeInclusive<usize>) -> bool {
    lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// As scripts are written: `Hant`.
fn capitalized(script: &str) -> String {
    let lower = script.to_ascii_lowercase();
    lower.char_indices().map(|(at, letter)| if at == 0 { letter.to_ascii_uppercase() } else { letter }).collect()
}
