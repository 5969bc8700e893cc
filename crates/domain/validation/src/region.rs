use std::fmt;
use std::str::FromStr;

use dropin_kernel::{Violation, ViolationCode};

use crate::country::Country;
use crate::invalid_value::InvalidValue;
use crate::subdivisions::SUBDIVISIONS;
use crate::text::Text;

/// A subdivision of ISO 3166-2: a state, a province or a territory, with its name.
///
/// Those of Argentina, Brazil, Canada, India, Mexico and the United States are known, the countries that a rule of this crate names.
///
/// ```
/// use dropin_validation::Subdivision;
///
/// let state: Subdivision = "US-CA".parse().unwrap();
/// assert_eq!((state.country().code(), state.local_code(), state.name()), ("US", "CA", "California"));
/// assert!("US-QC".parse::<Subdivision>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subdivision(u8);

impl Subdivision {
    /// Every one that is known, in the order of the codes.
    ///
    /// ```
    /// # use dropin_validation::Subdivision;
    /// assert_eq!(Subdivision::ALL.iter().filter(|one| one.country().code() == "CA").count(), 13);
    /// ```
    pub const ALL: [Self; SUBDIVISIONS.len()] = {
        let mut all = [Self(0); SUBDIVISIONS.len()];
        let mut at: u8 = 1;
        while (at as usize) < all.len() {
            all[at as usize] = Self(at);
            at += 1;
        }
        all
    };

    /// The one of `country` that `code` names, with the country's prefix or without it; `None` when there is none.
    ///
    /// `DIF` was Mexico City's until `CMX` took its place (ISO 3166-2 newsletter of November 2017), and shops still send it.
    ///
    /// ```
    /// # use dropin_validation::{Country, Subdivision};
    /// let mexico: Country = "MX".parse().unwrap();
    /// for code in ["CMX", "MX-CMX", "DIF"] {
    ///     assert_eq!(Subdivision::find(mexico, code).map(Subdivision::name), Some("Ciudad de México"));
    /// }
    /// assert_eq!(Subdivision::find(mexico, "US-CA"), None);
    /// ```
    pub fn find(country: Country, code: &str) -> Option<Self> {
        let bare = code.strip_prefix(country.code()).and_then(|rest| rest.strip_prefix('-')).unwrap_or(code);
        let bare = if (country.code(), bare) == ("MX", "DIF") { "CMX" } else { bare };
        format!("{country}-{bare}").parse().ok()
    }

    /// The whole code, for example `US-CA`.
    ///
    /// ```
    /// # use dropin_validation::Subdivision;
    /// assert_eq!(Subdivision::ALL[0].as_str(), "AR-A");
    /// ```
    pub const fn as_str(self) -> &'static str {
        SUBDIVISIONS[self.0 as usize].0
    }

    /// The code without the country's prefix, for example `CA`.
    ///
    /// ```
    /// # use dropin_validation::Subdivision;
    /// assert_eq!("BR-SP".parse::<Subdivision>().unwrap().local_code(), "SP");
    /// ```
    pub fn local_code(self) -> &'static str {
        self.as_str().split_once('-').map_or("", |(_, local)| local)
    }

    /// The name that ISO 3166-2 lists, in the language and spelling of the country.
    ///
    /// ```
    /// # use dropin_validation::Subdivision;
    /// assert_eq!("BR-SP".parse::<Subdivision>().unwrap().name(), "São Paulo");
    /// ```
    pub const fn name(self) -> &'static str {
        SUBDIVISIONS[self.0 as usize].1
    }

    /// The country that it is a part of.
    ///
    /// ```
    /// # use dropin_validation::Subdivision;
    /// assert_eq!("IN-KA".parse::<Subdivision>().unwrap().country().name(), "India");
    /// ```
    pub fn country(self) -> Country {
        let code = self.as_str().split_once('-').map_or("", |(country, _)| country);
        code.parse().expect("each subdivision is one of a country")
    }
}

impl FromStr for Subdivision {
    type Err = InvalidValue;

    /// Reads the exact code with its prefix.
    fn from_str(code: &str) -> Result<Self, InvalidValue> {
        let found = SUBDIVISIONS.binary_search_by_key(&code, |(known, _)| known).ok();
        found.and_then(|at| u8::try_from(at).ok()).map(Self).ok_or_else(|| {
            InvalidValue::new(ViolationCode::NotAllowed, "must be an ISO 3166-2 subdivision code such as US-CA")
        })
    }
}

impl fmt::Display for Subdivision {
    /// The whole code.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Subdivision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subdivision").field(&self.as_str()).finish()
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Subdivision);

/// The region of an address as it was written (docs/SPECIFICATION.md#regions).
///
/// In Canada, Mexico and the United States it is the code of a subdivision of ISO 3166-2; elsewhere it is any text.
///
/// ```
/// use dropin_validation::{Country, Region};
///
/// let us: Country = "US".parse().unwrap();
/// let region = Region::parse("Address.Region", "US-CA", us).unwrap();
/// assert_eq!((region.as_str(), region.name(us)), ("US-CA", "California"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(Text);

impl Region {
    /// Checks `raw` as a region of `country`: where a region is required it is a code of ISO 3166-2, with or without the country's prefix (`CA` or
    /// `US-CA`); elsewhere any text of 1 to 255 characters (docs/SPECIFICATION.md#regions).
    ///
    /// ```
    /// # use dropin_kernel::ViolationCode;
    /// # use dropin_validation::{Country, Region};
    /// let [us, germany] = ["US", "DE"].map(|code| code.parse::<Country>().unwrap());
    /// assert_eq!(Region::parse("Region", "Bayern", germany).unwrap().as_str(), "Bayern");
    /// assert_eq!(Region::parse("Region", "Bayern", us).unwrap_err().code, ViolationCode::NotAllowed);
    /// ```
    ///
    /// # Errors
    /// A violation at `field`: VALUE_NOT_ALLOWED for a code that is not one of the country's, and those of [`Text::parse`].
    pub fn parse(field: impl fmt::Display, raw: &str, country: Country) -> Result<Self, Violation> {
        let text = Text::parse(&field, raw)?;
        if country.requires_region() && Subdivision::find(country, text.as_str()).is_none() {
            let why = format!("must be an ISO 3166-2 subdivision code of {country}, with or without its prefix");
            return Err(Violation::new(field.to_string(), ViolationCode::NotAllowed, why));
        }
        Ok(Self(text))
    }

    /// Reads a stored region back; `None` when it is no text: the row is corrupt. Its country is not asked.
    ///
    /// ```
    /// # use dropin_validation::Region;
    /// assert!(Region::restore("Bayern").is_some() && Region::restore("").is_none());
    /// ```
    pub fn restore(stored: &str) -> Option<Self> {
        Text::restore(stored).map(Self)
    }

    /// The region as written.
    ///
    /// ```
    /// # use dropin_validation::Region;
    /// assert_eq!(Region::restore("US-CA").unwrap().as_str(), "US-CA");
    /// ```
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The subdivision of `country` that it names; `None` when its text is no code of one that is known.
    ///
    /// ```
    /// # use dropin_validation::{Country, Region};
    /// let brazil: Country = "BR".parse().unwrap();
    /// assert_eq!(Region::restore("SP").unwrap().subdivision(brazil).unwrap().as_str(), "BR-SP");
    /// assert_eq!(Region::restore("Bahia").unwrap().subdivision(brazil), None);
    /// ```
    pub fn subdivision(&self, country: Country) -> Option<Subdivision> {
        Subdivision::find(country, self.as_str())
    }

    /// What to show for it: the name of its subdivision, or the text as written.
    ///
    /// ```
    /// # use dropin_validation::{Country, Region};
    /// let [canada, germany] = ["CA", "DE"].map(|code| code.parse::<Country>().unwrap());
    /// assert_eq!(Region::restore("QC").unwrap().name(canada), "Quebec");
    /// assert_eq!(Region::restore("Bayern").unwrap().name(germany), "Bayern");
    /// ```
    pub fn name(&self, country: Country) -> &str {
        self.subdivision(country).map_or(self.as_str(), |one| one.name())
    }
}

impl fmt::Display for Region {
    /// As written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(feature = "serde")]
crate::stored::serialize_as_stored!(Region, Region::restore);

#[cfg(test)]
mod tests {
    use super::*;

    fn region(country: &str, code: &str) -> Result<String, ViolationCode> {
        let country = Country::parse("Country", country).unwrap();
        Region::parse("Region", code, country).map(|region| region.0.to_string()).map_err(|violation| violation.code)
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
    fn region_elsewhere_is_any_text() {
        assert_eq!(region("DE", "Bayern"), Ok("Bayern".to_owned()));
    }

    #[test]
    fn stored_regions_are_read_back_and_nonsense_is_not() {
        assert_eq!(Region::restore("US-CA").map(|region| region.0.to_string()), Some("US-CA".to_owned()));
        assert_eq!((Region::restore(""), Region::restore(" CA"), Region::restore("C\0")), (None, None, None));
    }

    #[test]
    fn each_subdivision_is_found_by_its_code_and_its_country() {
        assert!(crate::subdivisions::SUBDIVISIONS.is_sorted());
        for one in Subdivision::ALL {
            assert_eq!(one.to_string().parse(), Ok(one));
            assert_eq!(Subdivision::find(one.country(), one.local_code()), Some(one));
            assert_eq!(
                Region::restore(one.as_str()).map(|region| region.name(one.country()).to_owned()).as_deref(),
                Some(one.name())
            );
        }
        let of = |code: &str| Subdivision::ALL.iter().filter(|one| one.country().code() == code).count();
        assert_eq!(["AR", "BR", "CA", "IN", "MX", "US"].map(of), [24, 27, 13, 36, 32, 57]);
    }
}
