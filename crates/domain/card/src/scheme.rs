use dropin_kernel::coded_enum;

use crate::iin_range::IinRange;

coded_enum! {
    /// A card scheme that is accepted; its code is also the id of the payment method (docs/SPECIFICATION.md#sandbox-methods).
    ///
    /// [`CardBrand`](crate::CardBrand) has more, which are recognised and have no payment method.
    ///
    /// ```
    /// use dropin_card::Scheme;
    ///
    /// assert_eq!("MC".parse(), Ok(Scheme::Mastercard));
    /// assert_eq!(Scheme::Mastercard.to_string(), "MC");
    /// ```
    #[non_exhaustive]
    pub enum Scheme: "card scheme" {
        /// Visa.
        Visa = "VISA",
        /// Mastercard.
        Mastercard = "MC",
        /// American Express.
        AmericanExpress = "AMEX",
        /// Discover.
        Discover = "DISC",
        /// JCB.
        Jcb = "JCB",
        /// Diners Club.
        Diners = "DINERS",
        /// Cartes Bancaires, of France. Its cards bear the mark of Visa or Mastercard too, and have their numbers: see [`Card::schemes`](crate::Card::schemes).
        CartesBancaires = "CB",
    }
}

/// Issuer identification numbers (ISO/IEC 7812) as the schemes publish them in their rules for merchants:
/// Visa Core Rules (4); Mastercard Rules (51 to 55, and the 2-series 2221 to 2720 since 2017); American Express (34, 37);
/// Discover Global Network ranges (6011, 644 to 65 for Discover; 300 to 305, 3095, 36, 38, 39 for Diners Club); JCB (3528 to 3589).
/// National schemes inside these ranges (Elo, RuPay) count as the one whose range it is; [`crate::co_badge`] has those that a shopper may choose.
const RANGES: [IinRange<Scheme>; 13] = [
    IinRange(Scheme::Visa, "4", "4"),
    IinRange(Scheme::Mastercard, "51", "55"),
    IinRange(Scheme::Mastercard, "2221", "2720"),
    IinRange(Scheme::AmericanExpress, "34", "34"),
    IinRange(Scheme::AmericanExpress, "37", "37"),
    IinRange(Scheme::Discover, "6011", "6011"),
    IinRange(Scheme::Discover, "644", "649"),
    IinRange(Scheme::Discover, "65", "65"),
    IinRange(Scheme::Jcb, "3528", "3589"),
    IinRange(Scheme::Diners, "300", "305"),
    IinRange(Scheme::Diners, "3095", "3095"),
    IinRange(Scheme::Diners, "36", "36"),
    IinRange(Scheme::Diners, "38", "39"),
];

impl Scheme {
    /// The scheme whose range the first digits lie in.
    pub(crate) fn of_number(digits: &str) -> Option<Self> {
        RANGES.iter().find(|range| range.has(digits)).map(|range| range.0)
    }

    /// How many digits its numbers have.
    pub(crate) const fn lengths(self) -> &'static [usize] {
        match self {
            Self::Visa => &[13, 16, 18, 19],
            Self::Mastercard | Self::CartesBancaires => &[16],
            Self::AmericanExpress => &[15],
            Self::Discover | Self::Jcb => &[16, 17, 18, 19],
            Self::Diners => &[14, 15, 16, 17, 18, 19],
        }
    }

    /// How many digits its verification codes have.
    ///
    /// ```
    /// assert_eq!(dropin_card::Scheme::AmericanExpress.code_length(), 4);
    /// ```
    pub const fn code_length(self) -> usize {
        match self {
            Self::AmericanExpress => 4,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_test_numbers_have_the_scheme_they_are_published_for() {
        for (number, scheme) in [
            ("4242424242424242", Scheme::Visa),
            ("5555555555554444", Scheme::Mastercard),
            ("378282246310005", Scheme::AmericanExpress),
            ("6011111111111117", Scheme::Discover),
            ("3530111333300000", Scheme::Jcb),
            ("30569309025904", Scheme::Diners),
        ] {
            assert_eq!(Scheme::of_number(number), Some(scheme));
            assert!(scheme.lengths().contains(&number.len()), "{scheme:?}");
        }
    }

    #[test]
    fn ranges_end_where_they_end() {
        let schemes = |heads: &[&str]| heads.iter().map(|head| Scheme::of_number(head)).collect::<Vec<_>>();
        assert!(schemes(&["2221", "2720", "51", "55"]).iter().all(|scheme| *scheme == Some(Scheme::Mastercard)));
        assert!(schemes(&["3528", "3589"]).iter().all(|scheme| *scheme == Some(Scheme::Jcb)));
        assert!(
            schemes(&["2220", "2721", "50", "56", "3527", "3590", "306", "35", "6012", "643", "62", ""])
                .iter()
                .all(Option::is_none)
        );
        assert_eq!(Scheme::of_number("４242"), None, "a full-width digit is no digit of a card");
    }

    #[test]
    fn codes_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.as_str().parse(), Ok(scheme));
        }
        assert!("visa".parse::<Scheme>().is_err());
    }
}
