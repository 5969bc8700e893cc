//! National identifiers against second implementations, written after python-stdnum's formulas: 10,000 numbers of each kind with their right
//! check digits, 10,000 with any, and the differences that the module's documentation names.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use dropin_validation::identity::{Aadhaar, Cnpj, Cpf, Cuit, Dni, IdentifierError, IndianPan};

const COUNT: usize = 10_000;

/// The same numbers in each run (a linear congruential generator, Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn text(&mut self, length: usize, alphabet: &str) -> String {
        (0..length).map(|_| alphabet.as_bytes()[self.below(alphabet.len() as u64) as usize] as char).collect()
    }
}

const DIGITS: &str = "0123456789";
const DIGITS_AND_CAPITALS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// What each character counts: its ASCII code less 48.
fn values(text: &str) -> Vec<i64> {
    text.bytes().map(|c| i64::from(c) - 48).collect()
}

/// 11 less the sum, modulo 11, and 0 for 10.
fn modulo_11(sum: i64) -> i64 {
    (11 - sum).rem_euclid(11) % 10
}

fn cpf_digits(body: &str) -> String {
    let values = values(body);
    let first = modulo_11((0..9).map(|i| (10 - i as i64) * values[i]).sum());
    let second = modulo_11((0..9).map(|i| (11 - i as i64) * values[i]).sum::<i64>() + 2 * first);
    format!("{first}{second}")
}

fn cnpj_digits(body: &str) -> String {
    let values = values(body);
    let weight = |start: i64, i: usize| (start - i as i64).rem_euclid(8) + 2;
    let first = modulo_11((0..12).map(|i| weight(3, i) * values[i]).sum());
    let second = modulo_11((0..12).map(|i| weight(4, i) * values[i]).sum::<i64>() + 2 * first);
    format!("{first}{second}")
}

/// `None` where the digit would be ten.
fn cuit_digit(body: &str) -> Option<char> {
    let weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];
    let sum: i64 = values(body).iter().zip(weights).map(|(value, weight)| value * weight).sum();
    "0X9876543210".chars().nth((sum % 11) as usize).filter(|digit| *digit != 'X')
}

/// The tables of the Verhoeff method as they are usually printed.
const PRODUCTS: [&str; 10] = [
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
];
const PERMUTATIONS: [&str; 8] =
    ["0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"];
const INVERSES: &str = "0432156789";

fn at(table: &str, place: usize) -> usize {
    usize::from(table.as_bytes()[place] - b'0')
}

fn verhoeff_digit(body: &str) -> char {
    let digits = body.bytes().rev().map(|c| usize::from(c - b'0'));
    let check =
        digits.enumerate().fold(0, |check, (i, digit)| at(PRODUCTS[check], at(PERMUTATIONS[(i + 1) % 8], digit)));
    INVERSES.as_bytes()[check] as char
}

/// Compares a rule with its second implementation: numbers with the right ending, and with any.
fn compare(
    seed: u64,
    (length, alphabet): (usize, &str),
    ending: impl Fn(&str) -> Option<String>,
    accepts: impl Fn(&str) -> bool,
) {
    let (mut numbers, mut right_by_chance) = (Numbers(seed), 0);
    for _ in 0..COUNT {
        let body = numbers.text(length, alphabet);
        let Some(right) = ending(&body) else {
            assert!(DIGITS.chars().all(|any| !accepts(&format!("{body}{any}"))), "{body} has no check digit");
            continue;
        };
        assert!(accepts(&format!("{body}{right}")), "{body}{right}");
        let any = numbers.text(right.len(), DIGITS);
        right_by_chance += usize::from(any == right);
        assert_eq!(accepts(&format!("{body}{any}")), any == right, "{body}{any}");
    }
    assert!((1..COUNT / 5).contains(&right_by_chance), "{right_by_chance} of {COUNT}");
}

#[test]
fn cpf_has_the_check_digits_of_a_second_implementation() {
    compare(1, (9, DIGITS), |body| Some(cpf_digits(body)), |text| Cpf::parse(text).is_ok());
}

#[test]
fn cnpj_has_the_check_digits_of_a_second_implementation() {
    compare(2, (12, DIGITS), |body| Some(cnpj_digits(body)), |text| Cnpj::parse(text).is_ok());
    compare(3, (12, DIGITS_AND_CAPITALS), |body| Some(cnpj_digits(body)), |text| Cnpj::parse(text).is_ok());
}

#[test]
fn cuit_has_the_check_digit_of_a_second_implementation() {
    compare(4, (10, DIGITS), |body| cuit_digit(body).map(String::from), |text| Cuit::parse(text).is_ok());
}

#[test]
fn aadhaar_has_the_check_digit_of_a_second_implementation() {
    compare(5, (11, DIGITS), |body| Some(verhoeff_digit(body).to_string()), |text| Aadhaar::parse(text).is_ok());
}

#[test]
fn dni_and_pan_have_their_form_alone() {
    let mut numbers = Numbers(6);
    for _ in 0..COUNT {
        let dni = numbers.text(8, DIGITS);
        assert_eq!(Dni::parse(&dni).map(|dni| dni.number().to_string()), Ok(dni.parse::<u32>().unwrap().to_string()));
        let pan = numbers.text(10, DIGITS_AND_CAPITALS);
        let letters = |part: &str| part.bytes().all(|c| c.is_ascii_uppercase());
        let form = letters(&pan[..5]) && pan[5..9].parse::<u16>().is_ok() && letters(&pan[9..]);
        assert_eq!(IndianPan::parse(&pan).is_ok(), form, "{pan}");
        let capitals = &DIGITS_AND_CAPITALS[10..];
        let pan = format!("{}{}{}", numbers.text(5, capitals), numbers.text(4, DIGITS), numbers.text(1, capitals));
        assert_eq!(IndianPan::parse(&pan).map(|pan| pan.to_string()), Ok(pan));
    }
}

#[test]
fn each_is_read_back_as_it_is_written() {
    let mut numbers = Numbers(7);
    for _ in 0..COUNT {
        let body = numbers.text(9, DIGITS);
        let cpf = Cpf::parse(&format!("{body}{}", cpf_digits(&body))).unwrap();
        assert_eq!((cpf.to_string().parse(), Cpf::parse(cpf.as_str())), (Ok(cpf), Ok(cpf)));
        let body = numbers.text(12, DIGITS_AND_CAPITALS);
        let cnpj = Cnpj::parse(&format!("{body}{}", cnpj_digits(&body))).unwrap();
        assert_eq!((cnpj.to_string().parse(), Cnpj::parse(cnpj.as_str())), (Ok(cnpj), Ok(cnpj)));
        let dni = Dni::parse(&numbers.text(7, DIGITS)).unwrap();
        assert_eq!(dni.to_string().parse(), Ok(dni));
    }
}

/// The table in the documentation of `identity`, case by case.
#[test]
fn where_python_stdnum_decides_otherwise() {
    assert_eq!(Cpf::parse("255 248 930 33").map_err(|why| matches!(why, IdentifierError::WrongForm { .. })), Err(true));
    for digit in DIGITS.chars() {
        let repeated = digit.to_string().repeat(11);
        assert_eq!(repeated[9..], cpf_digits(&repeated[..9]), "the check digits are right");
        assert_eq!(Cpf::parse(&repeated), Err(IdentifierError::NeverIssued { kind: "CPF" }));
    }
    assert_eq!(Cnpj::parse("00000000000000"), Err(IdentifierError::NeverIssued { kind: "CNPJ" }));
    assert!(Cnpj::parse("12ABC34501DE35").is_ok());
    let without_digit = "2000000001";
    assert_eq!(cuit_digit(without_digit), None);
    assert!(Cuit::parse(&format!("{without_digit}9")).is_err());
    assert!(IndianPan::parse("ABCXE0000F").is_ok() && IndianPan::parse("abcpe1234f").is_err());
    for body in ["01234567890", "11111111111", "22222222222"] {
        assert!(Aadhaar::parse(&format!("{body}{}", verhoeff_digit(body))).is_ok(), "{body}");
    }
}
