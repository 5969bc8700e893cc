use dropin_kernel::{Violation, ViolationCode};

use crate::text::Text;

/// A country, by its upper-case ISO 3166-1 alpha-2 code (contract, Address.Country).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Country(&'static str);

impl Country {
    /// Looks the code up.
    ///
    /// # Errors
    /// VALUE_NOT_ALLOWED at `field`.
    pub fn parse(field: &str, code: &str) -> Result<Self, Violation> {
        rust_iso3166::from_alpha2(code).map(|country| Self(country.alpha2)).ok_or_else(|| {
            Violation::new(field, ViolationCode::NotAllowed, "must be an upper-case ISO 3166-1 alpha-2 code such as US")
        })
    }

    /// The alpha-2 code.
    pub const fn code(self) -> &'static str {
        self.0
    }
}

/// A subdivision of a country as the merchant wrote it, checked against ISO 3166-2 where the contract requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region(Text);

impl Region {
    /// Reads a stored region back; `None` when it is no text: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        Text::parse("Region", stored).ok().filter(|text| text.as_str() == stored).map(Self)
    }

    /// The region as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}
