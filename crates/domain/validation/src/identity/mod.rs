//! National identifiers: the tax and identity numbers of Argentina, Brazil and India, each by the rule of its authority.
//!
//! Each type reads the plain number and the authority's way of writing it, compares the check digits, and writes the number with
//! separators. Debug shows the last two characters alone.
//!
//! The Python library python-stdnum decides otherwise in these cases:
//!
//! | Number | python-stdnum | Here, and why |
//! |---|---|---|
//! | each | drops spaces, dots and dashes wherever they stand | separators stand where the authority writes them, or nowhere: a number with others is a slip of the keyboard |
//! | CPF | accepts 111.111.111-11 to 999.999.999-99 | refused: Receita Federal never issues one repeated digit |
//! | CNPJ | versions of before 2026 refuse capitals | accepted: issued since July 2026 (Instrução Normativa RFB 2.229/2024) |
//! | CUIT | takes 9 where the check digit would be 10 | refused: the authority issues such a number under another prefix |
//! | PAN | reads small letters, and knows eleven letters at the fourth place; refuses the serial number 0000 | capitals alone, any letter: rule 114 gives the form, the letters have grown before |
//! | Aadhaar | refuses numbers that begin with 0 or 1, and palindromes | accepted: the check digit tells slips of the keyboard; only UIDAI can tell which numbers are issued |

mod argentina;
mod brazil;
mod identifier;
mod india;

use std::fmt;

use dropin_kernel::ViolationCode;

pub use self::argentina::{Cuit, Dni};
pub use self::brazil::{Cnpj, Cpf};
pub use self::identifier::IdentifierError;
pub use self::india::{Aadhaar, IndianPan};
use crate::country::Country;
use crate::invalid_value::InvalidValue;

/// A national identifier of a country whose rules are known (docs/SPECIFICATION.md#national-identifiers).
///
/// ```
/// use dropin_validation::Country;
/// use dropin_validation::identity::NationalIdentifier;
///
/// let brazil: Country = "BR".parse().unwrap();
/// let company = NationalIdentifier::parse(brazil, "36002518000101").unwrap().unwrap();
/// assert!(company.is_brazilian_company());
/// assert_eq!(company.to_string(), "36.002.518/0001-01");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NationalIdentifier {
    /// Of a person in Brazil.
    Cpf(Cpf),
    /// Of a company in Brazil.
    Cnpj(Cnpj),
    /// Of an identity document of Argentina.
    Dni(Dni),
    /// Of a taxpayer or an employee in Argentina.
    Cuit(Cuit),
    /// Of a taxpayer in India.
    IndianPan(IndianPan),
    /// Of a resident of India.
    Aadhaar(Aadhaar),
}

impl NationalIdentifier {
    /// Reads an identifier of `country`: a CPF or CNPJ in Brazil, a DNI or CUIT in Argentina, a PAN or Aadhaar in India. `None` for a country
    /// whose rules are not known: any text may be one there.
    ///
    /// ```
    /// # use dropin_validation::{Country, identity::NationalIdentifier};
    /// let [india, germany] = ["IN", "DE"].map(|code| code.parse::<Country>().unwrap());
    /// assert!(NationalIdentifier::parse(india, "9999 4105 7059").is_err());
    /// assert_eq!(NationalIdentifier::parse(germany, "anything"), Ok(None));
    /// ```
    ///
    /// # Errors
    /// FIELD_INVALID, with the forms that the country has.
    pub fn parse(country: Country, text: &str) -> Result<Option<Self>, InvalidValue> {
        let (read, why) = match country.code() {
            "BR" => (
                text.parse().map(Self::Cpf).or_else(|_other| text.parse().map(Self::Cnpj)),
                "must be a CPF (11 digits) or a CNPJ (14 characters) with right check digits",
            ),
            "AR" => (
                text.parse().map(Self::Dni).or_else(|_other| text.parse().map(Self::Cuit)),
                "must be a DNI (7 or 8 digits) or a CUIT/CUIL (11 digits with a right check digit)",
            ),
            "IN" => (
                text.parse().map(Self::IndianPan).or_else(|_other| text.parse().map(Self::Aadhaar)),
                "must be a PAN (5 letters, 4 digits, 1 letter) or an Aadhaar (12 digits with a right check digit)",
            ),
            _ => return Ok(None),
        };
        read.map(Some).map_err(|_neither: IdentifierError| InvalidValue::new(ViolationCode::Invalid, why))
    }

    /// Whether a billing profile of `country` needs one: in Argentina, Brazil and India (docs/SPECIFICATION.md#billing-profile).
    ///
    /// ```
    /// # use dropin_validation::identity::NationalIdentifier;
    /// assert!(NationalIdentifier::is_required("AR".parse().unwrap()));
    /// ```
    pub fn is_required(country: Country) -> bool {
        matches!(country.code(), "AR" | "BR" | "IN")
    }

    /// Whether it is a CNPJ, so that the name of the company becomes required (docs/SPECIFICATION.md#national-identifiers).
    ///
    /// ```
    /// # use dropin_validation::identity::NationalIdentifier;
    /// let person = NationalIdentifier::parse("BR".parse().unwrap(), "255.248.930-33").unwrap().unwrap();
    /// assert!(!person.is_brazilian_company());
    /// ```
    pub const fn is_brazilian_company(self) -> bool {
        matches!(self, Self::Cnpj(_))
    }
}

impl fmt::Display for NationalIdentifier {
    /// As its authority writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpf(number) => number.fmt(f),
            Self::Cnpj(number) => number.fmt(f),
            Self::Dni(number) => number.fmt(f),
            Self::Cuit(number) => number.fmt(f),
            Self::IndianPan(number) => number.fmt(f),
            Self::Aadhaar(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::india::verhoeff;
    use super::*;

    /// Whose number it is, as far as the country's rules tell; anything is a person's where there are none.
    #[derive(Debug, PartialEq, Eq)]
    enum Holder {
        Person,
        BrazilianCompany,
    }

    fn holder(country: &str, id: &str) -> Option<Holder> {
        let read = NationalIdentifier::parse(Country::parse("Country", country).unwrap(), id).ok()?;
        let company = read.is_some_and(NationalIdentifier::is_brazilian_company);
        Some(if company { Holder::BrazilianCompany } else { Holder::Person })
    }

    fn digits(text: &str) -> Vec<u32> {
        text.chars().filter_map(|c| c.to_digit(10)).collect()
    }

    #[test]
    fn br_cpf_has_two_check_digits_and_one_of_two_forms() {
        for right in ["25524893033", "255.248.930-33"] {
            assert_eq!(holder("BR", right), Some(Holder::Person), "{right}");
        }
        for wrong in [
            "25524893034",
            "255-248-930.33",
            "....25524893033",
            "111.111.111-11",
            "２５５２４８９３０３３",
            "2552489303",
        ] {
            assert_eq!(holder("BR", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn br_cnpj_may_be_alphanumeric_and_tells_a_company() {
        for right in ["36.002.518/0001-01", "36002518000101", "12.ABC.345/01DE-35", "12ABC34501DE35"] {
            assert_eq!(holder("BR", right), Some(Holder::BrazilianCompany), "{right}");
        }
        for wrong in ["36002518000102", "12abc34501de35", "12ABC34501DE3A", "00000000000000", "12.ABC.345-01DE/35"] {
            assert_eq!(holder("BR", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ar_dni_has_7_or_8_digits() {
        for right in ["1234567", "12345678", "1.234.567", "12.345.678"] {
            assert_eq!(holder("AR", right), Some(Holder::Person), "{right}");
        }
        for wrong in ["123456", "123456789", "12.34.5678", "1234567A"] {
            assert_eq!(holder("AR", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ar_cuit_has_a_check_digit() {
        for right in ["20-12345678-6", "20123456786", "30500010912"] {
            assert_eq!(holder("AR", right), Some(Holder::Person), "{right}");
        }
        let others = (0..10).filter(|digit| *digit != 6).map(|digit| format!("2012345678{digit}"));
        for wrong in others.chain(["2-012345678-6".to_owned()]) {
            assert_eq!(holder("AR", &wrong), None, "{wrong}");
        }
    }

    #[test]
    fn in_pan_is_5_letters_4_digits_1_letter() {
        assert_eq!(holder("IN", "ABCPE1234F"), Some(Holder::Person));
        for wrong in ["ABCPE12345", "abcpe1234f", "ABCP1234FF", "ABCPE1234FG"] {
            assert_eq!(holder("IN", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn in_aadhaar_has_a_verhoeff_digit() {
        for right in ["999941057058", "9999 4105 7058"] {
            assert_eq!(holder("IN", right), Some(Holder::Person), "{right}");
        }
        for wrong in ["999941057059", "000000000000", "99994 105 7058", "99994105705"] {
            assert_eq!(holder("IN", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn verhoeff_finds_every_single_error_and_swap() {
        // The worked example of the method: 236 has the check digit 3.
        assert!(verhoeff(&[2, 3, 6, 3]));
        let right = digits("999941057058");
        for at in 0..right.len() {
            for other in (0..10).filter(|other| *other != right[at]) {
                let mut wrong = right.clone();
                wrong[at] = other;
                assert!(!verhoeff(&wrong), "{wrong:?}");
            }
            if at + 1 < right.len() && right[at] != right[at + 1] {
                let mut swapped = right.clone();
                swapped.swap(at, at + 1);
                assert!(!verhoeff(&swapped), "{swapped:?}");
            }
        }
    }

    #[test]
    fn other_countries_have_no_rule() {
        assert_eq!(holder("DE", "anything"), Some(Holder::Person));
        assert!(!NationalIdentifier::is_required(Country::parse("Country", "DE").unwrap()));
    }

    #[test]
    fn an_identifier_displays_as_its_kind_does_and_debug_hides_it() {
        let shown = |country: &str, id: &str| {
            let read = NationalIdentifier::parse(country.parse().unwrap(), id).unwrap().unwrap();
            (read.to_string(), format!("{read:?}"))
        };
        for (country, id, display, debug) in [
            ("BR", "25524893033", "255.248.930-33", "Cpf(Cpf(..33))"),
            ("BR", "36002518000101", "36.002.518/0001-01", "Cnpj(Cnpj(..01))"),
            ("AR", "01234567", "1.234.567", "Dni(Dni(..67))"),
            ("AR", "20123456786", "20-12345678-6", "Cuit(Cuit(..86))"),
            ("IN", "ABCPE1234F", "ABCPE1234F", "IndianPan(IndianPan(..4F))"),
            ("IN", "999941057058", "9999 4105 7058", "Aadhaar(Aadhaar(..58))"),
        ] {
            assert_eq!(shown(country, id), (display.to_owned(), debug.to_owned()));
        }
    }
}
