use dropin_kernel::coded_enum;

use crate::iin_range::IinRange;
use crate::scheme::Scheme;

coded_enum! {
    /// The brand that a number's first digits belong to: the schemes of [`Scheme`] and others that are issued in large numbers.
    ///
    /// It is for showing: which logo stands beside the field. Whether a card is accepted is told by its [`Scheme`], which has a payment method.
    ///
    /// ```
    /// use dropin_card::CardBrand;
    ///
    /// assert_eq!(CardBrand::of_iin("424242"), Some(CardBrand::Visa));
    /// assert_eq!(CardBrand::of_iin("620000"), Some(CardBrand::UnionPay));
    /// assert_eq!(CardBrand::Hipercard.name(), "Hipercard");
    /// ```
    #[non_exhaustive]
    pub enum CardBrand: "card brand" {
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
        /// UnionPay, of China.
        UnionPay = "UNIONPAY",
        /// Maestro, Mastercard's debit brand, which it withdraws since July 2023.
        Maestro = "MAESTRO",
        /// Mir, of Russia.
        Mir = "MIR",
        /// Elo, of Brazil.
        Elo = "ELO",
        /// Hipercard, of Brazil.
        Hipercard = "HIPERCARD",
        /// Cartes Bancaires, of France, which stands on cards of Visa and Mastercard: no number tells it alone.
        CartesBancaires = "CB",
    }
}

/// Issuer identification numbers (ISO/IEC 7812) of brands that have no [`Scheme`]; longer ones win over shorter ones. By the brands' own publications for merchants: UnionPay International (62, 81; co-branded
/// Discover numbers within 62 count as UnionPay); Mastercard Rules for Maestro (50, 56 to 58, 63, 67); NSPK for Mir (2200 to 2204); Elo's and
/// Hipercard's tables of first six digits, which lie inside the ranges of Visa, Discover, UnionPay and Maestro.
const RANGES: [IinRange<CardBrand>; 36] = [
    IinRange(CardBrand::UnionPay, "62", "62"),
    IinRange(CardBrand::UnionPay, "81", "81"),
    IinRange(CardBrand::Maestro, "50", "50"),
    IinRange(CardBrand::Maestro, "56", "58"),
    IinRange(CardBrand::Maestro, "63", "63"),
    IinRange(CardBrand::Maestro, "67", "67"),
    IinRange(CardBrand::Mir, "2200", "2204"),
    IinRange(CardBrand::Hipercard, "606282", "606282"),
    IinRange(CardBrand::Hipercard, "637095", "637095"),
    IinRange(CardBrand::Hipercard, "637568", "637568"),
    IinRange(CardBrand::Hipercard, "637599", "637599"),
    IinRange(CardBrand::Hipercard, "637609", "637609"),
    IinRange(CardBrand::Hipercard, "637612", "637612"),
    IinRange(CardBrand::Elo, "401178", "401179"),
    IinRange(CardBrand::Elo, "431274", "431274"),
    IinRange(CardBrand::Elo, "438935", "438935"),
    IinRange(CardBrand::Elo, "451416", "451416"),
    IinRange(CardBrand::Elo, "457393", "457393"),
    IinRange(CardBrand::Elo, "457631", "457632"),
    IinRange(CardBrand::Elo, "504175", "504175"),
    IinRange(CardBrand::Elo, "506699", "506778"),
    IinRange(CardBrand::Elo, "509000", "509999"),
    IinRange(CardBrand::Elo, "627780", "627780"),
    IinRange(CardBrand::Elo, "636297", "636297"),
    IinRange(CardBrand::Elo, "636368", "636368"),
    IinRange(CardBrand::Elo, "650031", "650033"),
    IinRange(CardBrand::Elo, "650035", "650051"),
    IinRange(CardBrand::Elo, "650405", "650439"),
    IinRange(CardBrand::Elo, "650485", "650538"),
    IinRange(CardBrand::Elo, "650541", "650598"),
    IinRange(CardBrand::Elo, "650700", "650718"),
    IinRange(CardBrand::Elo, "650720", "650727"),
    IinRange(CardBrand::Elo, "650901", "650978"),
    IinRange(CardBrand::Elo, "651652", "651679"),
    IinRange(CardBrand::Elo, "655000", "655019"),
    IinRange(CardBrand::Elo, "655021", "655058"),
];

impl CardBrand {
    /// The brand that issues numbers which begin with `iin`: six to eight digits, or a whole number; `None` for a brand that is not known. Fewer
    /// digits give the brand as far as they tell it.
    ///
    /// ```
    /// # use dropin_card::CardBrand;
    /// // While a shopper types: a Visa until the sixth digit tells that it is one of Elo's.
    /// assert_eq!(CardBrand::of_iin("40117"), Some(CardBrand::Visa));
    /// assert_eq!(CardBrand::of_iin("401178"), Some(CardBrand::Elo));
    /// assert_eq!(CardBrand::of_iin("99"), None);
    /// ```
    pub fn of_iin(iin: &str) -> Option<Self> {
        // Elo's six digits lie inside Visa's and Discover's ranges; no other range of the table crosses one of a scheme.
        let longest =
            RANGES.iter().filter(|range| range.has(iin)).max_by_key(|range| range.1.len()).map(|range| range.0);
        longest.or_else(|| Scheme::of_number(iin).map(Self::from))
    }

    /// What a shopper knows it as.
    ///
    /// ```
    /// # use dropin_card::CardBrand;
    /// assert_eq!(CardBrand::AmericanExpress.name(), "American Express");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Visa => "Visa",
            Self::Mastercard => "Mastercard",
            Self::AmericanExpress => "American Express",
            Self::Discover => "Discover",
            Self::Jcb => "JCB",
            Self::Diners => "Diners Club",
            Self::UnionPay => "UnionPay",
            Self::Maestro => "Maestro",
            Self::Mir => "Mir",
            Self::Elo => "Elo",
            Self::Hipercard => "Hipercard",
            Self::CartesBancaires => "Cartes Bancaires",
        }
    }
}

impl From<Scheme> for CardBrand {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Visa => Self::Visa,
            Scheme::Mastercard => Self::Mastercard,
            Scheme::AmericanExpress => Self::AmericanExpress,
            Scheme::Discover => Self::Discover,
            Scheme::Jcb => Self::Jcb,
            Scheme::Diners => Self::Diners,
            Scheme::CartesBancaires => Self::CartesBancaires,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_belongs_to_its_brand_and_ends_where_it_ends() {
        for (iin, brand) in [
            ("620000", Some(CardBrand::UnionPay)),
            ("629999", Some(CardBrand::UnionPay)),
            ("810000", Some(CardBrand::UnionPay)),
            ("610000", None),
            ("820000", None),
            ("500000", Some(CardBrand::Maestro)),
            ("569999", Some(CardBrand::Maestro)),
            ("675964", Some(CardBrand::Maestro)),
            ("510000", Some(CardBrand::Mastercard)),
            ("219999", None),
            ("220000", Some(CardBrand::Mir)),
            ("220499", Some(CardBrand::Mir)),
            ("220500", None),
            ("222100", Some(CardBrand::Mastercard)),
            ("606282", Some(CardBrand::Hipercard)),
            ("606283", None),
            ("401177", Some(CardBrand::Visa)),
            ("401178", Some(CardBrand::Elo)),
            ("401180", Some(CardBrand::Visa)),
            ("650034", Some(CardBrand::Discover)),
            ("650035", Some(CardBrand::Elo)),
            ("627780", Some(CardBrand::Elo)),
            ("636297", Some(CardBrand::Elo)),
            ("504175", Some(CardBrand::Elo)),
            ("４２４２", None),
            ("", None),
        ] {
            assert_eq!(CardBrand::of_iin(iin), brand, "{iin}");
        }
    }

    #[test]
    fn ranges_are_equally_long_and_ordered_pairs() {
        for IinRange(brand, low, high) in &RANGES {
            assert!(low.len() == high.len() && low <= high, "{brand} {low} {high}");
        }
    }

    #[test]
    fn a_scheme_has_the_code_and_the_numbers_of_its_brand() {
        for scheme in Scheme::ALL {
            assert_eq!(CardBrand::from(scheme).as_str(), scheme.as_str());
        }
        for head in 0..10_000 {
            let head = format!("{head:04}");
            // Four digits are too few for Elo; the ranges of the other brands and of the schemes do not cross.
            if let Some(scheme) = Scheme::of_number(&head) {
                assert_eq!(CardBrand::of_iin(&head), Some(CardBrand::from(scheme)), "{head}");
            }
        }
    }
}
