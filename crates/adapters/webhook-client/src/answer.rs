//! What is kept of an answer's body: readable, and without anybody's secrets.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Bytes that are kept.
const KEPT: usize = 4 * 1024;
/// Bytes to collect for that: what is masked is then seen whole.
pub(crate) const COLLECTED: usize = KEPT + 512;

/// Shortest and longest card number (ISO/IEC 7812-1).
const PAN_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// The beginning of `body` as text: at most 4 KiB, what is no text replaced; card numbers, webhook secrets in any form, and the signatures that
/// were sent are masked, since some receivers echo what they get.
pub(crate) fn readable(body: &[u8], secrets: &[Vec<u8>], signatures: &str) -> Vec<u8> {
    if body.is_empty() {
        return Vec::new();
    }
    let mut bytes = body.to_vec();
    mask_shown_secrets(&mut bytes);
    for secret in secrets {
        secret_forms(secret).iter().for_each(|form| mask(&mut bytes, form, b"[secret]"));
    }
    for signature in signatures.split(' ').filter_map(|one| one.split_once(',')) {
        let bare = signature.1.trim_end_matches('=');
        text_forms(bare).iter().for_each(|form| mask(&mut bytes, form.as_bytes(), b"[signature]"));
    }
    mask_card_numbers(&mut bytes);
    let mut text: String = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").chars().map(printable).collect();
    text.truncate(text.floor_char_boundary(KEPT));
    text.into_bytes()
}

/// Control characters, and those that turn the direction of writing, may make a terminal or a log lie.
fn printable(c: char) -> char {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if turns || (c.is_control() && c != '\n' && c != '\t') { char::REPLACEMENT_CHARACTER } else { c }
}

fn secret_forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![secret.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()];
    forms.push(URL_SAFE_NO_PAD.encode(secret).into_bytes());
    forms.extend(text_forms(&STANDARD_NO_PAD.encode(secret)).map(String::into_bytes));
    forms
}

/// A base64 text as it is, as some write it into JSON, and as it stands in a form.
fn text_forms(text: &str) -> [String; 3] {
    [text.to_owned(), text.replace('/', r"\/"), text.replace('+', "%2B").replace('/', "%2F")]
}

/// Replaces every `form` in `bytes`.
fn mask(bytes: &mut Vec<u8>, form: &[u8], with: &[u8]) {
    // Nothing so short is a secret of ours, and an empty one would be everywhere.
    if form.len() < 8 {
        return;
    }
    let mut from = 0;
    while let Some(found) = find(&bytes[from..], form) {
        let at = from + found;
        bytes.splice(at..at + form.len(), with.iter().copied());
        from = at + with.len();
    }
}

fn find(bytes: &[u8], form: &[u8]) -> Option<usize> {
    bytes.windows(form.len()).position(|window| window == form)
}

/// Whatever is written as a webhook secret, also of other senders.
fn mask_shown_secrets(bytes: &mut Vec<u8>) {
    const PREFIX: &[u8] = b"whsec_";
    let mut from = 0;
    while let Some(found) = find(&bytes[from..], PREFIX) {
        let start = from + found + PREFIX.len();
        let of_it = |byte: &&u8| byte.is_ascii_alphanumeric() || br"+/=-_\%".contains(byte);
        let end = start + bytes[start..].iter().take_while(of_it).count();
        bytes.splice(start..end, *b"***");
        from = start;
    }
}

/// Stars for the digits of whatever may be a card number, also when it is written in groups.
fn mask_card_numbers(bytes: &mut [u8]) {
    let (mut run, mut gap) = (Vec::new(), 0);
    for at in 0..=bytes.len() {
        match bytes.get(at) {
            Some(digit) if digit.is_ascii_digit() => {
                run.push(at);
                gap = 0;
            }
            Some(byte) if gap < 3 && !run.is_empty() && is_between_groups(*byte) => gap += 1,
            _ => {
                mask_run(bytes, &run);
                run.clear();
            }
        }
    }
}

/// Spaces and dashes of several kinds; all but ASCII in UTF-8 begin with C2 or E2 and go on with 80 to BF.
const fn is_between_groups(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'+' | b'.' | b'_' | b'\t' | 0xc2 | 0xe2 | 0x80..=0xbf)
}

/// ISO/IEC 7812-1 annex B for every stretch that is as long as a card number. Each takes two look-ups: a receiver that answers nothing but digits
/// must not keep the thread busy.
fn mask_run(bytes: &mut [u8], run: &[usize]) {
    let sums = [0, 1].map(|doubled| weighed_before(bytes, run, doubled));
    for end in *PAN_DIGITS.start()..=run.len() {
        // Counted from the last one, every second digit is doubled.
        let sums = &sums[end % 2];
        for start in PAN_DIGITS.filter_map(|length| end.checked_sub(length)) {
            if (sums[end] - sums[start]).is_multiple_of(10) {
                run[start..end].iter().for_each(|at| bytes[*at] = b'*');
            }
        }
    }
}

/// Before each place, the sum of the digits so far, where those at even places (0) or odd ones (1) are doubled.
fn weighed_before(bytes: &[u8], run: &[usize], doubled: usize) -> Vec<u32> {
    let mut sum = 0;
    let mut sums = vec![0];
    for (place, at) in run.iter().enumerate() {
        sum += match (place % 2 == doubled, u32::from(bytes[*at] - b'0')) {
            (false, digit) => digit,
            (true, digit @ 0..=4) => 2 * digit,
            (true, digit) => 2 * digit - 9,
        };
        sums.push(sum);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = *b"\xfb\xff\x00\x01 a secret of 32 bytes, no 7s";

    fn kept(body: impl AsRef<[u8]>) -> String {
        let signatures =
            "v1,ab/cd+efghijklmnopqrstuvwxyz0123456789ABC= v1,zweiteUnterschriftZweiteUnterschrift00000000=";
        String::from_utf8(readable(body.as_ref(), &[SECRET.to_vec()], signatures)).expect("text")
    }

    #[test]
    fn text_stays_as_it_is() {
        for text in ["", "OK", "{\"error\": \"näh\", \"at\": 1795000000}\n\tline two", "+49 30 1234567"] {
            assert_eq!(kept(text), text);
        }
    }

    #[test]
    fn card_numbers_are_masked_however_they_are_grouped() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "4111 - 1111 - 1111 - 1111",
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "4111\u{2013}1111\u{2013}1111\u{2013}1111",
            "411111 1111111111",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "5555555555554444",
            "378282246310005",
        ] {
            for around in ["pan=@", "@", "\"@\"", "@ 12/29", "x@y", "00@", "id 77 @"] {
                let kept = kept(around.replace('@', number));
                let left = kept.chars().filter(char::is_ascii_digit).count();
                assert!(left <= 6 && kept.contains("*"), "{number} in {around}: {kept}");
            }
        }
        assert_eq!(kept("9073662585178128"), "9073662585178128", "no card number, nor is one inside");
        assert_eq!(kept("order 123456789012"), "order 123456789012", "too short for one");
    }

    #[test]
    fn secrets_and_signatures_are_masked_in_every_form() {
        let padded = base64::engine::general_purpose::STANDARD.encode(SECRET);
        let hex: String = SECRET.iter().map(|byte| format!("{byte:02X}")).collect();
        for shown in [
            format!("whsec_{padded}"),
            format!("whsec_{}", padded.replace('/', r"\/")),
            padded.clone(),
            URL_SAFE_NO_PAD.encode(SECRET),
            padded.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"),
            padded.replace('/', r"\/"),
            hex.to_lowercase(),
            hex,
        ] {
            let kept = kept(format!("got {shown}, thanks"));
            assert!(kept.starts_with("got ") && kept.ends_with(", thanks") && kept.len() < 35, "{kept}");
        }
        assert_eq!(kept([&b"raw "[..], &SECRET].concat()), "raw [secret]");
        assert_eq!(kept("whsec_ofSomebodyElse/+="), "whsec_***");
        assert_eq!(
            kept("v1,ab/cd+efghijklmnopqrstuvwxyz0123456789ABC= and v1,zweiteUnterschriftZweiteUnterschrift00000000="),
            "v1,[signature]= and v1,[signature]="
        );
        assert_eq!(kept(r"v1,ab\/cd+efghijklmnopqrstuvwxyz0123456789ABC="), "v1,[signature]=");
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(kept(b"a\xffb\0c\x1b[31md\r\ne\rf"), "a\u{fffd}b\u{fffd}c\u{fffd}[31md\ne\u{fffd}f");
        assert_eq!(kept("a\u{202e}b\u{2066}c"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn four_kibibytes_are_kept_and_nothing_is_cut_in_two() {
        for odd in 0..4 {
            let long = format!("{}{}", "x".repeat(odd), "\u{20ac}".repeat(2_000));
            let kept = kept(&long.as_bytes()[..COLLECTED]);
            assert!(4_093 <= kept.len() && kept.len() <= 4_096, "{}", kept.len());
            assert!(long.starts_with(&kept));
        }
        assert!(kept([0; COLLECTED]).len() <= 4_096, "replacing makes it longer");
        let across = format!("{}4111111111111111{}", "x".repeat(4_090), "y".repeat(100));
        assert!(kept(across).ends_with("xx******"), "a number across the cut is masked");
        let secret = format!("{}whsec_{}", "x".repeat(4_080), STANDARD_NO_PAD.encode(SECRET));
        assert!(kept(secret).ends_with("xxwhsec_***"));
    }
}
