use std::fmt;

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
    pub fn parse(field: impl fmt::Display, code: &str) -> Result<Self, Violation> {
        rust_iso3166::from_alpha2(code).map(|country| Self(country.alpha2)).ok_or_else(|| {
            Violation::new(
                field.to_string(),
                ViolationCode::NotAllowed,
                "must be an upper-case ISO 3166-1 alpha-2 code such as US",
            )
        })
    }

    /// The alpha-2 code.
    pub const fn code(self) -> &'static str {
        self.0
    }

    /// Whether an address there needs a Region (contract, Address.Region).
    pub fn requires_region(self) -> bool {
        matches!(self.0, "CA" | "MX" | "US")
    }

    /// Whether an address there needs a Postcode (contract, Address.Postcode).
    pub fn requires_postcode(self) -> bool {
        matches!(self.0, "BR" | "CA" | "MX" | "US")
    }
}

/// A subdivision of a country as the merchant wrote it, checked against ISO 3166-2 where the contract requires it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region(Text);

impl Region {
    /// Checks `raw` as a region of `country`: where a Region is required it is a code of ISO 3166-2, with or without the
    /// country's prefix (`CA` or `US-CA`); elsewhere any text (decisions.md section 2).
    ///
    /// # Errors
    /// A violation at `field`: VALUE_NOT_ALLOWED for a code that is not one of the country's.
    pub fn parse(field: impl fmt::Display, raw: &str, country: Country) -> Result<Self, Violation> {
        let text = Text::parse(&field, raw)?;
        if country.requires_region() && !is_subdivision(country, text.as_str()) {
            let why = format!("must be an ISO 3166-2 subdivision code of {}, with or without its prefix", country.0);
            return Err(Violation::new(field.to_string(), ViolationCode::NotAllowed, why));
        }
        Ok(Self(text))
    }

    /// Reads a stored region back; `None` when it is no text: the row is corrupt.
    pub fn restore(stored: &str) -> Option<Self> {
        Text::restore(stored).map(Self)
    }

    /// The region as written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Whether ISO 3166-2 has the code, with or without the country's prefix. `MX-DIF` was Mexico City's until `MX-CMX` took its place (ISO 3166-2
/// newsletter of November 2017), and shops still send it.
fn is_subdivision(country: Country, code: &str) -> bool {
    let bare = code.strip_prefix(country.0).and_then(|rest| rest.strip_prefix('-')).unwrap_or(code);
    rust_iso3166::iso3166_2::from_code(&format!("{}-{bare}", country.0)).is_some() || (country.0, bare) == ("MX", "DIF")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(country: &str, code: &str) -> Result<String, ViolationCode> {
        let country = Country::parse("Country", country).unwrap();
        Region::parse("Region", code, country).map(|region| region.0.to_string()).map_err(|violation| violation.code)
    }

    #[test]
    fn country_is_an_upper_case_alpha_2_code() {
        for (code, known) in [("US", true), ("GB", true), ("us", false), ("UK", false), ("USA", false), ("", false)] {
            assert_eq!(Country::parse("Country", code).is_ok(), known, "{code}");
        }
    }

    #[test]
    fn region_of_ca_mx_us_is_a_subdivision_with_or_without_prefix() {
        for (country, code) in
            [("US", "CA"), ("US", "US-CA"), ("US", "PR"), ("MX", "CMX"), ("CA", "CA-QC"), ("CA", "ON")]
        {
            assert_eq!(region(country, code), Ok(code.to_owned()));
        }
        for (country, code) in
            [("US", "QC"), ("US", "CA-QC"), ("US", "ca"), ("US", "US-US-CA"), ("MX", "US-CA"), ("US", "-CA")]
        {
            assert_eq!(region(country, code), Err(ViolationCode::NotAllowed), "{country} {code}");
        }
        assert_eq!(region("US", " "), Err(ViolationCode::Missing));
    }

    /// ISO 3166-2: the thirteen provinces and territories of Canada, the 32 states of Mexico (and the former code of its capital), the 50 states,
    /// the district and the six outlying territories of the United States.
    const SUBDIVISIONS: [(&str, &str); 3] = [
        ("CA", "AB BC MB NB NL NS NT NU ON PE QC SK YT"),
        (
            "MX",
            "AGU BCN BCS CAM CHH CHP CMX COA COL DIF DUR GRO GUA HID JAL MEX MIC MOR NAY NLE OAX PUE QUE ROO SIN SLP SON TAB TAM TLA VER YUC \
             ZAC",
        ),
        (
            "US",
            "AK AL AR AS AZ CA CO CT DC DE FL GA GU HI IA ID IL IN KS KY LA MA MD ME MI MN MO MP MS MT NC ND NE NH NJ NM NV NY OH OK OR PA PR \
             RI SC SD TN TX UM UT VA VI VT WA WI WV WY",
        ),
    ];

    #[test]
    fn every_region_of_ca_mx_us_and_no_other() {
        for ((country, list), length) in SUBDIVISIONS.into_iter().zip([2, 3, 2]) {
            let known: Vec<_> = list.split_whitespace().collect();
            let letters = || (b'A'..=b'Z').map(|letter| char::from(letter).to_string());
            let mut all: Vec<String> = letters().collect();
            for _ in 1..length {
                all = all.iter().flat_map(|one| letters().map(move |letter| format!("{one}{letter}"))).collect();
            }
            let accepted: Vec<_> = all.into_iter().filter(|code| region(country, code).is_ok()).collect();
            assert_eq!(accepted, known, "{country}");
            for code in known {
                assert_eq!(region(country, &format!("{country}-{code}")), Ok(format!("{country}-{code}")));
            }
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
    fn region_elsewhere_is_any_text() {
        assert_eq!(region("DE", "Bayern"), Ok("Bayern".to_owned()));
    }

    #[test]
    fn stored_regions_are_read_back_and_nonsense_is_not() {
        assert_eq!(Region::restore("US-CA").map(|region| region.0.to_string()), Some("US-CA".to_owned()));
        assert_eq!((Region::restore(""), Region::restore(" CA"), Region::restore("C\0")), (None, None, None));
    }
}
