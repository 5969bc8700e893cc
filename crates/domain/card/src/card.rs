use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A card exactly as the shopper typed it, valid or not (contract, Stash: invalid data does not fail the call).
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Card {
    name: String,
    number: String,
    verification_code: String,
    expiry_year: String,
    expiry_month: String,
}

impl Card {
    /// Keeps what was typed.
    pub fn new(
        name: impl Into<String>,
        number: impl Into<String>,
        verification_code: impl Into<String>,
        expiry_year: impl Into<String>,
        expiry_month: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            number: number.into(),
            verification_code: verification_code.into(),
            expiry_year: expiry_year.into(),
            expiry_month: expiry_month.into(),
        }
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Card(..)")
    }
}
