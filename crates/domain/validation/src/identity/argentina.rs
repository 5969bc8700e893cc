use std::fmt;
use std::str::FromStr;

use super::identifier::{Finding, IdentifierError, characters, has_form, identifier, write_form};

identifier! {
    /// A CUIT or CUIL, the tax or labour number of a person or company in Argentina (AFIP, ANSES): ten digits and a check digit.
    ///
    /// The ten digits are multiplied by 5 4 3 2 7 6 5 4 3 2; 11 less the remainder of the sum by 11 is the check digit, and 0 where that is 11.
    /// Where it would be 10 the authority issues the number under another prefix, 23 or 33, which gives another check digit. So a number whose
    /// check digit would be 10 is refused, whatever its last digit is.
    Cuit: "CUIT", 11 characters,
    read as ["99999999999", "99-99999999-9"],
    for example ["20123456786", "20-12345678-6"],
    rule check_cuit
}

fn check_cuit(digits: &[u8; 11]) -> Finding {
    let [body @ .., last] = digits;
    let weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];
    let sum: u32 = body.iter().zip(weights).map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    // A digit is never ten.
    if u32::from(last - b'0') == (11 - sum % 11) % 11 { Finding::Right } else { Finding::WrongCheckDigits }
}

/// A DNI, the number of a person's identity document in Argentina (Registro Nacional de las Personas): 7 or 8 digits, no check digit.
///
/// ```
/// use dropin_validation::identity::Dni;
///
/// let number: Dni = "12345678".parse().unwrap();
/// assert_eq!(number.to_string(), "12.345.678");
/// assert_eq!("12.345.678".parse(), Ok(number));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dni(u32);

impl Dni {
    /// Reads 7 or 8 digits, plain or with dots before the thousands and millions. A leading zero does not count.
    ///
    /// ```
    /// # use dropin_validation::identity::Dni;
    /// assert_eq!(Dni::parse("01234567"), Dni::parse("1.234.567"));
    /// assert!(Dni::parse("123456").is_err() && Dni::parse("12.34.5678").is_err());
    /// ```
    ///
    /// # Errors
    /// [`IdentifierError::WrongForm`].
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        let forms = ["9999999", "99999999", "9.999.999", "99.999.999"];
        if !forms.iter().any(|form| has_form(text, form)) {
            return Err(IdentifierError::WrongForm { forms: "12345678 or 12.345.678, with 7 or 8 digits" });
        }
        Ok(Self(text.bytes().filter(u8::is_ascii_digit).fold(0, |number, digit| 10 * number + u32::from(digit - b'0'))))
    }

    /// The number, below 100,000,000.
    ///
    /// ```
    /// # use dropin_validation::identity::Dni;
    /// assert_eq!(Dni::parse("1.234.567").unwrap().number(), 1_234_567);
    /// ```
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Dni {
    /// With dots, as the document shows it, and at least 7 digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (millions, thousands, ones) = (self.0 / 1_000_000, self.0 / 1_000 % 1_000, self.0 % 1_000);
        f.pad(&format!("{millions}.{thousands:03}.{ones:03}"))
    }
}

impl fmt::Debug for Dni {
    /// Shows the last two digits alone: the number is a person's, and Debug is for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dni(..{:02})", self.0 % 100)
    }
}

impl FromStr for Dni {
    type Err = IdentifierError;

    fn from_str(text: &str) -> Result<Self, IdentifierError> {
        Self::parse(text)
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(Dni);
