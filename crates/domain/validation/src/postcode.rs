use std::fmt;
use std::ops::RangeInclusive;

use dropin_kernel::ViolationCode;

use crate::country::Country;
use crate::invalid_value::InvalidValue;
use crate::text::Text;

/// Most characters of a postcode in a country whose form is not known.
const MAX_CHARS: usize = 12;

/// How a country writes its postcodes.
struct Form {
    country: &'static str,
    /// `9` stands for a digit, `A` for a letter, `X` for either, a letter in small for itself in capitals; a space or hyphen may be left out
    /// or stand for the other, and `_` for one that is read and not written.
    patterns: &'static [&'static str],
    /// What the first two digits may be.
    first_two_digits: RangeInclusive<u8>,
    example: &'static str,
}

const fn form(
    country: &'static str,
    patterns: &'static [&'static str],
    first_two_digits: RangeInclusive<u8>,
    example: &'static str,
) -> Form {
    Form { country, patterns, first_two_digits, example }
}

/// As the postal operators publish them (Universal Postal Union, Postal Addressing Systems), by country.
const FORMS: [Form; 21] = [
    form("AR", &["A9999AAA", "9999"], 10..=99, "C1425CLA"),
    form("AT", &["9999"], 10..=99, "1010"),
    form("AU", &["9999"], 2..=99, "2000"),
    form("BE", &["9999"], 10..=99, "1000"),
    form("BR", &["99999-999"], 1..=99, "01310-100"),
    form("CA", &["A9A 9A9"], 0..=99, "K1A 0B1"),
    form("CH", &["9999"], 10..=99, "8001"),
    form("DE", &["99999"], 1..=99, "10117"),
    form("ES", &["99999"], 1..=52, "28013"),
    form("FR", &["99999"], 1..=98, "75001"),
    form("GB", &["A9 9AA", "A99 9AA", "AA9 9AA", "AA99 9AA", "A9A 9AA", "AA9A 9AA"], 0..=99, "SW1A 1AA"),
    form("IE", &["A99 XXXX", "d6w XXXX"], 0..=99, "D02 AF30"),
    form("IN", &["999_999"], 11..=99, "110001"),
    form("IT", &["99999"], 0..=98, "00187"),
    form("JP", &["999-9999"], 0..=99, "100-0001"),
    form("MX", &["99999"], 1..=99, "06000"),
    form("NL", &["9999 AA"], 10..=99, "1012 JS"),
    form("PL", &["99-999"], 0..=99, "00-001"),
    form("PT", &["9999-999"], 10..=99, "1100-148"),
    form("SE", &["999 99"], 10..=99, "111 22"),
    form("US", &["99999", "99999-9999"], 0..=99, "20500"),
];

/// A postcode of a country, checked by the form that the country's postal operator publishes.
///
/// The forms of Argentina, Australia, Austria, Belgium, Brazil, Canada, France, Germany, India, Ireland, Italy, Japan, Mexico, the Netherlands,
/// Poland, Portugal, Spain, Sweden, Switzerland, the United Kingdom and the United States are known. Elsewhere any text of 1 to 12 characters
/// is a postcode. Whether a postcode of the right form is in use is not checked. [`Address`](crate::Address) takes any text: it does not ask
/// this type.
///
/// ```
/// use dropin_validation::{Country, Postcode};
///
/// let [britain, germany] = ["GB", "DE"].map(|code| code.parse::<Country>().unwrap());
/// assert_eq!(Postcode::parse(britain, " sw1a1aa ").unwrap().as_str(), "SW1A 1AA");
/// assert_eq!(
///     Postcode::parse(germany, "SW1A 1AA").unwrap_err().to_string(),
///     "must be a postcode of Germany such as 10117",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "PascalCase", try_from = "StoredPostcode")
)]
pub struct Postcode {
    country: Country,
    #[cfg_attr(feature = "serde", serde(rename = "Postcode"))]
    text: String,
}

impl Postcode {
    /// Reads a postcode of `country`: trims it, and where the form is known takes small letters for capitals and puts the separator where
    /// it belongs.
    ///
    /// ```
    /// # use dropin_validation::Postcode;
    /// let read = |country: &str, text| Postcode::parse(country.parse().unwrap(), text).map(|code| code.to_string());
    /// assert_eq!(read("BR", "01310100").as_deref(), Ok("01310-100"));
    /// assert_eq!(read("KE", "00100").as_deref(), Ok("00100"));
    /// assert!(read("ES", "53000").is_err(), "Spain has 52 provinces");
    /// ```
    ///
    /// # Errors
    /// FIELD_INVALID for another form, with an example; VALUE_TOO_LONG for more than 12 characters; those of [`Text`].
    pub fn parse(country: Country, text: &str) -> Result<Self, InvalidValue> {
        let text: Text = text.parse()?;
        let Some(form) = Form::of(country) else {
            if MAX_CHARS < text.as_str().chars().count() {
                return Err(InvalidValue::new(ViolationCode::TooLong, "must have at most 12 characters"));
            }
            return Ok(Self { country, text: text.into_string() });
        };
        let read = form.patterns.iter().find_map(|pattern| read(pattern, text.as_str()));
        let text = read.filter(|text| form.allows_digits(text)).ok_or_else(|| {
            let why = format!("must be a postcode of {} such as {}", country.name(), form.example);
            InvalidValue::new(ViolationCode::Invalid, why)
        })?;
        Ok(Self { country, text })
    }

    /// A postcode of `country` to show in a form; `None` for a country whose form is not known.
    ///
    /// ```
    /// # use dropin_validation::Postcode;
    /// assert_eq!(Postcode::example("JP".parse().unwrap()), Some("100-0001"));
    /// assert_eq!(Postcode::example("KE".parse().unwrap()), None);
    /// ```
    pub fn example(country: Country) -> Option<&'static str> {
        Form::of(country).map(|form| form.example)
    }

    /// What a postcode of `country` looks like, as a regular expression that a form may check by before it is sent: small letters count, and
    /// separators may be left out or stand for each other. `None` for a country whose form is not known. [`Postcode::parse`] has the last word.
    ///
    /// ```
    /// # use dropin_validation::Postcode;
    /// assert_eq!(Postcode::pattern("PL".parse().unwrap()).as_deref(), Some("[0-9]{2}[ -]?[0-9]{3}"));
    /// assert_eq!(Postcode::pattern("KE".parse().unwrap()), None);
    /// ```
    pub fn pattern(country: Country) -> Option<String> {
        Form::of(country).map(|form| form.patterns.iter().map(|one| expression(one)).collect::<Vec<_>>().join("|"))
    }

    /// The country whose postcode it is.
    ///
    /// ```
    /// # use dropin_validation::Postcode;
    /// assert_eq!(Postcode::parse("AT".parse().unwrap(), "1010").unwrap().country().code(), "AT");
    /// ```
    pub const fn country(&self) -> Country {
        self.country
    }

    /// The postcode as the country writes it.
    ///
    /// ```
    /// # use dropin_validation::Postcode;
    /// assert_eq!(Postcode::parse("SE".parse().unwrap(), "11122").unwrap().as_str(), "111 22");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Form {
    fn of(country: Country) -> Option<&'static Self> {
        FORMS.binary_search_by_key(&country.code(), |form| form.country).ok().map(|at| &FORMS[at])
    }

    fn allows_digits(&self, text: &str) -> bool {
        let first_two =
            text.bytes().filter(u8::is_ascii_digit).take(2).fold(0, |number, digit| 10 * number + (digit - b'0'));
        self.first_two_digits.contains(&first_two)
    }
}

/// The regular expression of what [`read`] reads by `pattern`.
fn expression(pattern: &str) -> String {
    let mut written = String::new();
    let mut places = pattern.chars().peekable();
    while let Some(place) = places.next() {
        let class = match place {
            '9' => "[0-9]".to_owned(),
            'A' => "[A-Za-z]".to_owned(),
            'X' => "[A-Za-z0-9]".to_owned(),
            ' ' | '-' | '_' => "[ -]?".to_owned(),
            itself if !itself.is_ascii_alphabetic() => itself.to_string(),
            itself => format!("[{}{}]", itself.to_ascii_uppercase(), itself.to_ascii_lowercase()),
        };
        let mut times = 1;
        while places.next_if_eq(&place).is_some() {
            times += 1;
        }
        written.push_str(&class);
        if 1 < times {
            written.push_str(&format!("{{{times}}}"));
        }
    }
    written
}

/// `text` as `pattern` writes it; `None` when it has another form.
fn read(pattern: &str, text: &str) -> Option<String> {
    let is_separator = |c: char| matches!(c, ' ' | '-');
    let mut characters = text.chars().map(|c| c.to_ascii_uppercase()).peekable();
    let mut written = String::with_capacity(pattern.len());
    for place in pattern.chars() {
        if is_separator(place) || place == '_' {
            characters.next_if(|c| is_separator(*c));
            written.extend(is_separator(place).then_some(place));
            continue;
        }
        let fits = |c: &char| match place {
            '9' => c.is_ascii_digit(),
            'A' => c.is_ascii_uppercase(),
            'X' => c.is_ascii_digit() || c.is_ascii_uppercase(),
            itself => *c == itself.to_ascii_uppercase(),
        };
        written.push(characters.next_if(fits)?);
    }
    characters.next().is_none().then_some(written)
}

impl fmt::Display for Postcode {
    /// As the country writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The serialized form, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StoredPostcode {
    country: Country,
    postcode: String,
}

#[cfg(feature = "serde")]
impl TryFrom<StoredPostcode> for Postcode {
    type Error = InvalidValue;

    fn try_from(stored: StoredPostcode) -> Result<Self, InvalidValue> {
        Self::parse(stored.country, &stored.postcode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(country: &str, text: &str) -> Option<String> {
        Postcode::parse(country.parse().unwrap(), text).ok().map(|postcode| postcode.to_string())
    }

    #[test]
    fn every_example_is_one_and_is_read_without_its_separator() {
        assert!(FORMS.is_sorted_by_key(|form| form.country));
        for form in &FORMS {
            let bare = form.example.replace([' ', '-'], "").to_lowercase();
            let other = form.example.replace(' ', "-");
            for text in [form.example, &bare, &other] {
                assert_eq!(read_back(form.country, text).as_deref(), Some(form.example), "{} {text}", form.country);
            }
            assert_eq!(read_back(form.country, &format!("{}0", form.example)), None, "{}", form.country);
            assert_eq!(read_back(form.country, &format!("{} x", form.example)), None, "{}", form.country);
        }
    }

    #[test]
    fn each_form_takes_its_own_and_refuses_others() {
        for (country, right, wrong) in [
            ("US", ["20500", "20500-0003", "00501"], ["2050", "20500-", "20500-03"]),
            ("CA", ["K1A 0B1", "k1a0b1", "V6B-4Y8"], ["K1A", "11A 0B1", "K1A  0B1"]),
            ("GB", ["M1 1AE", "B33 8TH", "EC1A 1BB"], ["M1", "1M1 1AE", "SW1A 1A1"]),
            ("DE", ["01067", "10117", "99998"], ["00123", "1011", "D-10117"]),
            ("FR", ["75001", "20000", "97400"], ["99000", "7500", "75 001"]),
            ("NL", ["1012 JS", "1012js", "9999-ZZ"], ["0999 AA", "1012", "1012 J1"]),
            ("IE", ["D02 AF30", "d6wxy00", "A65F4E2"], ["D2 AF30", "D02", "D7W XY00"]),
            ("IN", ["110001", "560 038", "999999"], ["010001", "11000", "1100 01"]),
            ("JP", ["100-0001", "1000001", "999 8531"], ["100-001", "10-00001", "100-00011"]),
            ("AR", ["C1425CLA", "c1425cla", "1425"], ["0999", "C1425", "C1425CL"]),
        ] {
            for text in right {
                assert!(read_back(country, text).is_some(), "{country} {text}");
            }
            for text in wrong {
                assert_eq!(read_back(country, text), None, "{country} {text}");
            }
        }
    }

    #[test]
    fn a_form_is_told_as_a_regular_expression() {
        for (country, expected) in [
            ("US", "[0-9]{5}|[0-9]{5}[ -]?[0-9]{4}"),
            ("CA", "[A-Za-z][0-9][A-Za-z][ -]?[0-9][A-Za-z][0-9]"),
            ("IE", "[A-Za-z][0-9]{2}[ -]?[A-Za-z0-9]{4}|[Dd]6[Ww][ -]?[A-Za-z0-9]{4}"),
            ("IN", "[0-9]{3}[ -]?[0-9]{3}"),
        ] {
            assert_eq!(Postcode::pattern(country.parse().unwrap()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn elsewhere_a_postcode_is_any_text_of_1_to_12_characters() {
        for (text, right) in
            [("00100", true), ("LV-1010", true), ("é-123", true), ("", false), ("1234567890123", false)]
        {
            assert_eq!(read_back("KE", text).as_deref(), right.then_some(text), "{text}");
        }
        assert_eq!(read_back("KE", "12\u{202e}34"), None);
    }

    proptest::proptest! {
        #[test]
        fn a_postcode_is_read_back_as_it_was_written(text in "[A-Za-z0-9 -]{0,10}", at in 0..FORMS.len()) {
            if let Some(written) = read_back(FORMS[at].country, &text) {
                proptest::prop_assert_eq!(read_back(FORMS[at].country, &written), Some(written));
            }
        }
    }
}
