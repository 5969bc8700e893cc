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
