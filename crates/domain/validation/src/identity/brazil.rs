use std::fmt;
use std::str::FromStr;

use super::identifier::{Finding, IdentifierError, characters, identifier, write_form};

identifier! {
    /// A CPF, the tax number of a person in Brazil (Receita Federal): nine digits and two check digits.
    ///
    /// A check digit is made of all digits before it: they are multiplied, from the right, by 2, 3, 4 and so on; 11 less the remainder of the
    /// sum by 11 is the digit, and 0 where that is 10 or 11. The ten numbers of one repeated digit pass this rule and are never issued, so
    /// they are refused.
    Cpf: "CPF", 11 characters,
    read as ["99999999999", "999.999.999-99"],
    for example ["25524893033", "255.248.930-33"],
    rule check_cpf
}

identifier! {
    /// A CNPJ, the tax number of a company in Brazil (Receita Federal): twelve digits or capitals and two check digits.
    ///
    /// Eight characters are the company's, four the establishment's. Capitals are issued since July 2026 (Instrução Normativa RFB 2.229/2024).
    /// A check digit is made of all characters before it: each counts as its ASCII code less 48 (a digit as itself, A as 17); they are
    /// multiplied, from the right, by 2 to 9, again and again; 11 less the remainder of the sum by 11 is the digit, and 0 where that is 10 or
    /// 11. Fourteen zeros pass this rule and are refused.
    Cnpj: "CNPJ", 14 characters,
    read as ["XXXXXXXXXXXX99", "XX.XXX.XXX/XXXX-99"],
    for example ["12ABC34501DE35", "12.ABC.345/01DE-35"],
    rule check_cnpj
}

fn check_cpf(digits: &[u8; 11]) -> Finding {
    check(digits, 11)
}

fn check_cnpj(characters: &[u8; 14]) -> Finding {
    check(characters, 9)
}

/// Compares the last two characters with the check digits of those before them.
fn check(characters: &[u8], largest_weight: u32) -> Finding {
    let first = characters.len() - 2;
    let right = |at: usize| characters[at] == check_digit(&characters[..at], largest_weight);
    if !right(first) || !right(first + 1) {
        Finding::WrongCheckDigits
    } else if characters.windows(2).all(|pair| pair[0] == pair[1]) {
        Finding::NeverIssued
    } else {
        Finding::Right
    }
}

/// The check digit behind `characters`: weights from 2 to the largest, from the right and again and again, modulo 11.
fn check_digit(characters: &[u8], largest_weight: u32) -> u8 {
    let weights = (2..=largest_weight).cycle();
    let sum: u32 = characters.iter().rev().zip(weights).map(|(c, weight)| u32::from(c - b'0') * weight).sum();
    match sum % 11 {
        0 | 1 => b'0',
        rest => b'0' + (11 - rest) as u8,
    }
}
