use std::fmt;

use cpf_cnpj::{cnpj, cpf};
use dropin_kernel::{Violation, ViolationCode};

use crate::country::Country;

/// Whose number a national identifier is, as far as its country's rules tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A person, or not told apart.
    Person,
    /// A Brazilian company (CNPJ): Company becomes required (contract, BillingProfile.Company).
    BrazilianCompany,
}

/// Checks a national identifier against the rules of `country`; anything goes where there are none
/// (contract, BillingProfile.NationalIdentifier; decisions.md section 2).
///
/// # Errors
/// FIELD_INVALID at `field`.
pub(crate) fn check(field: impl fmt::Display, country: Country, id: &str) -> Result<Holder, Violation> {
    let invalid = |why: &str| Err(Violation::new(field.to_string(), ViolationCode::Invalid, why));
    match country.code() {
        "BR" if is_cpf(id) => Ok(Holder::Person),
        "BR" if is_cnpj(id) => Ok(Holder::BrazilianCompany),
        "BR" => invalid("must be a CPF (11 digits) or a CNPJ (14 characters) with right check digits"),
        "AR" if is_dni(id) || is_cuit(id) => Ok(Holder::Person),
        "AR" => invalid("must be a DNI (7 or 8 digits) or a CUIT/CUIL (11 digits with a right check digit)"),
        "IN" if is_pan(id) || is_aadhaar(id) => Ok(Holder::Person),
        "IN" => {
            invalid("must be a PAN (5 letters, 4 digits, 1 letter) or an Aadhaar (12 digits with a right check digit)")
        }
        _ => Ok(Holder::Person),
    }
}

/// Whether the contract requires a national identifier there (contract, BillingProfile.NationalIdentifier).
pub(crate) fn is_required(country: Country) -> bool {
    matches!(country.code(), "AR" | "BR" | "IN")
}

/// CPF, plain or as `000.000.000-00` (Receita Federal, two check digits modulo 11).
///
/// The form is checked here because cpf_cnpj drops punctuation wherever it stands.
fn is_cpf(id: &str) -> bool {
    (has_form(id, "99999999999") || has_form(id, "999.999.999-99")) && cpf::validate(id)
}

/// CNPJ, plain or as `XX.XXX.XXX/XXXX-00`, alphanumeric ones of 2026 included (Receita Federal, Instrução Normativa
/// RFB 2.229/2024; letters count as their ASCII code less 48).
fn is_cnpj(id: &str) -> bool {
    (has_form(id, "XXXXXXXXXXXX99") || has_form(id, "XX.XXX.XXX/XXXX-99")) && cnpj::validate(id)
}

/// DNI, plain or with dots (Registro Nacional de las Personas; it has no check digit).
fn is_dni(id: &str) -> bool {
    ["9999999", "99999999", "9.999.999", "99.999.999"].iter().any(|form| has_form(id, form))
}

/// CUIT or CUIL, plain or as `99-99999999-9`: weights 5 4 3 2 7 6 5 4 3 2, check digit 11 less the sum modulo 11 (ANSES).
///
/// Numbers whose check digit would be ten are issued under another prefix, so ten never matches.
fn is_cuit(id: &str) -> bool {
    if !has_form(id, "99999999999") && !has_form(id, "99-99999999-9") {
        return false;
    }
    let digits = digits(id);
    let sum: u32 = digits.iter().zip([5, 4, 3, 2, 7, 6, 5, 4, 3, 2]).map(|(digit, weight)| digit * weight).sum();
    digits.last() == Some(&((11 - sum % 11) % 11))
}

/// PAN (Income-tax Rules 1962, rule 114: five letters, four digits, one letter, in capitals).
fn is_pan(id: &str) -> bool {
    has_form(id, "AAAAA9999A")
}

/// Aadhaar, plain or in groups of four (UIDAI: the last digit is a Verhoeff check digit).
fn is_aadhaar(id: &str) -> bool {
    let well_formed = has_form(id, "999999999999") || has_form(id, "9999 9999 9999");
    well_formed && digits(id).iter().any(|digit| *digit != 0) && verhoeff(&digits(id))
}

/// Whether a number ends in its Verhoeff check digit (J. Verhoeff, Error Detecting Decimal Codes, 1969).
///
/// The tables are computed: multiplication in the dihedral group of order ten, and the powers of its permutation.
fn verhoeff(digits: &[u32]) -> bool {
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

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// Whether `text` has the form: `9` stands for a digit, `A` for a capital, `X` for either, anything else for itself.
fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(c, place)| match place {
            b'9' => c.is_ascii_digit(),
            b'A' => c.is_ascii_uppercase(),
            b'X' => c.is_ascii_digit() || c.is_ascii_uppercase(),
            itself => c == itself,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(country: &str, id: &str) -> Option<Holder> {
        check("NationalIdentifier", Country::parse("Country", country).unwrap(), id).ok()
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
        assert!(!is_required(Country::parse("Country", "DE").unwrap()));
    }
}
