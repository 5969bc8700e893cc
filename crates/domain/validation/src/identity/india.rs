use std::fmt;
use std::str::FromStr;

use super::identifier::{Finding, IdentifierError, characters, identifier, write_form};

identifier! {
    /// A permanent account number (PAN), the tax number of India (Income-tax Rules 1962, rule 114): five capitals, four digits, one capital.
    ///
    /// It is no card's PAN. The fourth character tells the kind of holder (P a person, C a company), the fifth begins the holder's name; the
    /// last one is a check character by a rule that the Income Tax Department does not publish, so the form alone is checked.
    IndianPan: "PAN", 10 characters,
    read as ["AAAAA9999A", "AAAAA9999A"],
    for example ["ABCPE1234F", "ABCPE1234F"],
    rule check_pan
}

identifier! {
    /// An Aadhaar number, the identity number of residents of India (UIDAI): eleven digits and a Verhoeff check digit.
    ///
    /// The check digit finds each single wrong digit and each swap of two neighbours (J. Verhoeff, Error Detecting Decimal Codes, 1969).
    /// Twelve zeros pass this rule and are refused.
    Aadhaar: "Aadhaar", 12 characters,
    read as ["999999999999", "9999 9999 9999"],
    for example ["999941057058", "9999 4105 7058"],
    rule check_aadhaar
}

fn check_pan(_characters: &[u8; 10]) -> Finding {
    Finding::Right
}

fn check_aadhaar(characters: &[u8; 12]) -> Finding {
    let digits = characters.map(|c| u32::from(c - b'0'));
    match verhoeff(&digits) {
        false => Finding::WrongCheckDigits,
        true if digits == [0; 12] => Finding::NeverIssued,
        true => Finding::Right,
    }
}

/// Whether a number ends in its Verhoeff check digit.
///
/// The tables are computed: multiplication in the dihedral group of order ten, and the powers of its permutation.
pub(super) fn verhoeff(digits: &[u32]) -> bool {
    const PERMUTATION: [u32; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let times = |a: u32, b: u32| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => 5 + (a + b - 5) % 5,
        (false, true) => 5 + (a - 5 + 5 - b) % 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let permuted = |digit: u32, times: usize| (0..times).fold(digit, |now, _| PERMUTATION[now as usize]);
    0 == digits.iter().rev().enumerate().fold(0, |check, (at, digit)| times(check, permuted(*digit, at % 8)))
}
