use std::fmt;
use std::str::FromStr;

use dropin_kernel::{Violation, ViolationCode};

use crate::countries::COUNTRIES;
use crate::invalid_value::InvalidValue;

/// A country of ISO 3166-1, by its upper-case alpha-2 code (docs/SPECIFICATION.md#countries).
///
/// Codes that are reserved or withdrawn (`UK`, `EU`, `AN`, `XK`) are none.
///
/// ```
/// use dropin_validation::Country;
///
/// let brazil: Country = "BR".parse().unwrap();
/// assert_eq!((brazil.as_str(), brazil.name()), ("BR", "Brazil"));
/// assert!("br".parse::<Country>().is_err() && "UK".parse::<Country>().is_err());
/// assert_eq!(Country::ALL.len(), 249);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country(u8);

impl Country {
    /// Every country, in the order of the codes.
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// let named: Vec<_> = Country::ALL.iter().filter(|country| country.name().starts_with("Saint ")).collect();
    /// assert_eq!(named.len(), 7);
    /// ```
    pub const ALL: [Self; COUNTRIES.len()] = {
        let mut all = [Self(0); COUNTRIES.len()];
        let mut at: u8 = 1;
        while (at as usize) < all.len() {
            all[at as usize] = Self(at);
            at += 1;
        }
        all
    };

    /// Looks the code up, as [`FromStr`] does, for the field at `field`.
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert!(Country::parse("Address.Country", "US").is_ok());
    /// assert_eq!(Country::parse("Address.Country", "USA").unwrap_err().field, "Address.Country");
    /// ```
    ///
    /// # Errors
    /// VALUE_NOT_ALLOWED at `field`.
    pub fn parse(field: impl fmt::Display, code: &str) -> Result<Self, Violation> {
        code.parse().map_err(|refused: InvalidValue| refused.at(field))
    }

    /// The alpha-2 code; the same as [`Country::as_str`].
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert_eq!(Country::ALL[0].code(), "AD");
    /// ```
    pub const fn code(self) -> &'static str {
        COUNTRIES[self.0 as usize].0
    }

    /// The alpha-2 code.
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert_eq!(Country::ALL[248].as_str(), "ZW");
    /// ```
    pub const fn as_str(self) -> &'static str {
        self.code()
    }

    /// The English short name of ISO 3166-1, for example `Netherlands (Kingdom of the)`.
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert_eq!("CI".parse::<Country>().unwrap().name(), "Côte d'Ivoire");
    /// ```
    pub const fn name(self) -> &'static str {
        COUNTRIES[self.0 as usize].1
    }

    /// Whether an address there needs a region: in Canada, Mexico and the United States (docs/SPECIFICATION.md#address).
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert!("MX".parse::<Country>().unwrap().requires_region());
    /// ```
    pub fn requires_region(self) -> bool {
        matches!(self.code(), "CA" | "MX" | "US")
    }

    /// Whether an address there needs a postcode: in Brazil, Canada, Mexico and the United States (docs/SPECIFICATION.md#address).
    ///
    /// ```
    /// # use dropin_validation::Country;
    /// assert!("BR".parse::<Country>().unwrap().requires_postcode());
    /// assert!(!"IE".parse::<Country>().unwrap().requires_postcode());
    /// ```
    pub fn requires_postcode(self) -> bool {
        matches!(self.code(), "BR" | "CA" | "MX" | "US")
    }
}

impl FromStr for Country {
    type Err = InvalidValue;

    /// Reads the exact code: two capitals, nothing around them.
    fn from_str(code: &str) -> Result<Self, InvalidValue> {
        let found = COUNTRIES.binary_search_by_key(&code, |(known, _)| known).ok();
        found.and_then(|at| u8::try_from(at).ok()).map(Self).ok_or_else(|| {
            InvalidValue::new(ViolationCode::NotAllowed, "must be an upper-case ISO 3166-1 alpha-2 code such as US")
        })
    }
}

impl fmt::Display for Country {
    /// The code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Country").field(&self.code()).finish()
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Country);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn country_is_an_upper_case_alpha_2_code() {
        for (code, known) in [("US", true), ("GB", true), ("us", false), ("UK", false), ("USA", false), ("", false)] {
            assert_eq!(Country::parse("Country", code).is_ok(), known, "{code}");
        }
    }

    #[test]
    fn the_249_countries_of_iso_3166_1() {
        let letters = || b'A'..=b'Z';
        let codes =
            letters().flat_map(|one| letters().map(move |two| String::from_utf8_lossy(&[one, two]).into_owned()));
        assert_eq!(codes.filter(|code| Country::parse("Country", code).is_ok()).count(), 249);
    }

    #[test]
    fn each_country_is_found_by_its_code_and_has_a_name_of_its_own() {
        assert!(COUNTRIES.is_sorted());
        let mut names: Vec<_> = Country::ALL.map(Country::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 249);
        for country in Country::ALL {
            assert_eq!(country.to_string().parse(), Ok(country));
        }
        assert_eq!(format!("{:?} {:>3}", Country::ALL[0], Country::ALL[0]), "Country(\"AD\")  AD");
    }

    /// What the crate rust_iso3166 0.2.0 accepted, which stood here before the table.
    const ACCEPTED: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY \
        BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE \
        GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR \
        KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI \
        NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS \
        ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

    #[test]
    fn the_same_countries_are_accepted_as_by_the_crate_before() {
        assert_eq!(Country::ALL.map(Country::code).to_vec(), ACCEPTED.split_whitespace().collect::<Vec<_>>());
    }
}
