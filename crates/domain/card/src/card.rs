use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::brand::CardBrand;
use crate::co_badge;
use crate::last_four::LastFour;
use crate::scheme::Scheme;

/// A card exactly as the shopper typed it, valid or not (docs/SPECIFICATION.md#stash-warnings).
///
/// It wipes itself when dropped, cannot be cloned, written or serialized, and Debug shows nothing of it.
///
/// ```
/// use dropin_card::{Card, Scheme};
///
/// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
/// assert_eq!((card.scheme(), card.last4().as_str()), (Some(Scheme::Visa), "4242"));
/// assert_eq!(format!("{card:?}"), "Card(..)");
/// ```
///
/// ```compile_fail,E0599
/// dropin_card::Card::new("", "", "", "", "").to_string();
/// ```
///
/// ```compile_fail,E0599
/// dropin_card::Card::new("", "", "", "", "").clone();
/// ```
#[derive(PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Card {
    name: String,
    number: String,
    verification_code: String,
    expiry_year: String,
    expiry_month: String,
}

impl Card {
    /// Keeps what was typed. Strings are taken over without a copy; a code that was left out is the empty text.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.name(), "Ana");
    /// ```
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

    /// The card number without the spaces and dashes people write it with. For the processor's adapter only.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.expose_digits().len(), 16);
    /// ```
    pub fn expose_digits(&self) -> Zeroizing<String> {
        let mut digits = Zeroizing::new(String::with_capacity(self.number.len()));
        digits.extend(self.number.chars().filter(|c| !is_separator(*c)));
        digits
    }

    /// The card number as typed. For the vault only.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.expose_number().len(), 19);
    /// ```
    pub fn expose_number(&self) -> &str {
        &self.number
    }

    /// The verification code as typed; empty when it was left out. For the vault and the processor's adapter only.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.expose_verification_code().len(), 3);
    /// ```
    pub fn expose_verification_code(&self) -> &str {
        &self.verification_code
    }

    /// Whether nothing but a verification code was typed, as for a card that is stored (docs/SPECIFICATION.md#saved-card-payment).
    ///
    /// ```
    /// # use dropin_card::Card;
    /// assert!(Card::new("", "", "123", "", "").is_code_alone());
    /// assert!(!Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12").is_code_alone());
    /// ```
    pub fn is_code_alone(&self) -> bool {
        let others = [&self.name, &self.number, &self.expiry_year, &self.expiry_month];
        !self.verification_code.is_empty() && others.into_iter().all(String::is_empty)
    }

    /// The cardholder's name as typed.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.name(), "Ana");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The year of expiry as typed; four digits when it is right.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.expiry_year(), "2030");
    /// ```
    pub fn expiry_year(&self) -> &str {
        &self.expiry_year
    }

    /// The month of expiry as typed; one or two digits when it is right.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.expiry_month(), "12");
    /// ```
    pub fn expiry_month(&self) -> &str {
        &self.expiry_month
    }

    /// The last four digits of the number, where it has as many.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.last_four().map(|four| four.to_string()).as_deref(), Some("4242"));
    /// ```
    pub fn last_four(&self) -> Option<LastFour> {
        self.last4().parse().ok()
    }

    /// The last four digits of the number (docs/SPECIFICATION.md#stash-response), the most that may be shown of it; fewer when fewer were typed.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.last4(), "4242");
    /// ```
    pub fn last4(&self) -> String {
        let digits = self.expose_digits();
        let mut last: Vec<char> = digits.chars().rev().filter(char::is_ascii_digit).take(4).collect();
        last.reverse();
        last.into_iter().collect()
    }

    /// The scheme that the number's first digits belong to; `None` for one that we do not know.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.scheme(), Some(dropin_card::Scheme::Visa));
    /// ```
    pub fn scheme(&self) -> Option<Scheme> {
        Scheme::of_number(&self.expose_digits())
    }

    /// Every scheme whose mark the card bears, as far as its number tells: that of [`scheme`](Self::scheme) first, then those that a shopper may choose
    /// in its place (Regulation (EU) 2015/751, article 8); empty where none is known.
    ///
    /// ```
    /// # use dropin_card::{Card, Scheme};
    /// let card = Card::new("Ana", "4000 0025 0000 1001", "123", "2030", "12");
    /// assert_eq!(card.schemes(), [Scheme::Visa, Scheme::CartesBancaires]);
    /// ```
    pub fn schemes(&self) -> Vec<Scheme> {
        let digits = self.expose_digits();
        Scheme::of_number(&digits).into_iter().chain(co_badge::of_number(&digits)).collect()
    }

    /// The brand that the number's first digits belong to, also one that has no [`Scheme`]; `None` for one that we do not know.
    ///
    /// ```
    /// # use dropin_card::Card;
    /// let card = Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12");
    /// assert_eq!(card.brand(), Some(dropin_card::CardBrand::Visa));
    /// ```
    pub fn brand(&self) -> Option<CardBrand> {
        CardBrand::of_iin(&self.expose_digits())
    }
}

/// Spaces of any kind, hyphens and dashes: what people put between groups of digits.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '\u{2010}'..='\u{2015}')
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Card(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_for_reading_only() {
        for typed in ["4242424242424242", "4242 4242 4242 4242", "4242-4242\u{2013}4242\u{a0}4242 "] {
            let card = Card::new("Ana", typed, "123", "2030", "12");
            assert_eq!(card.expose_digits().as_str(), "4242424242424242");
            assert_eq!((card.last4().as_str(), card.expose_number()), ("4242", typed));
        }
    }

    #[test]
    fn last4_of_anything_is_at_most_four_digits() {
        for (typed, last4) in [("", ""), ("abc", ""), ("12", "12"), ("378282246310005", "0005"), ("4242x", "4242")] {
            assert_eq!(Card::new("", typed, "", "", "").last4(), last4, "{typed}");
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let card = Card::new("Ana", "4000000000000002", "987", "2030", "12");
        assert_eq!(format!("{card:?}"), "Card(..)");
    }

    #[test]
    fn wiping_leaves_nothing() {
        let mut card = Card::new("Ana", "4000000000000002", "987", "2030", "12");
        card.zeroize();
        assert_eq!(card, Card::new("", "", "", "", ""));
    }
}
