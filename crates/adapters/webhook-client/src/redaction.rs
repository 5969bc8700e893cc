//! The excerpt of a response's body that is stored: readable text, secrets and card numbers masked.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use dropin_card::NUMBER_LENGTHS;

/// Bytes that are kept.
const MAX_STORED_BYTES: usize = 4 * 1024;
/// Bytes to collect for that: what is masked is then seen whole.
pub(crate) const MAX_COLLECTED_BYTES: usize = MAX_STORED_BYTES + 512;

/// The beginning of `body` as text: at most 4 KiB, what is no text replaced; card numbers, webhook secrets in any form, and the signatures that
/// were sent are masked, since some receivers echo what they get.
pub(crate) fn redacted_excerpt(body: &[u8], secrets: &[Vec<u8>], signatures: &str) -> Vec<u8> {
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
    // The end may be the beginning of something that nobody could recognize yet, and what was masked before made the text shorter.
    let whole = if body.len() < MAX_COLLECTED_BYTES {
        text.len()
    } else {
        text.len().saturating_sub(MAX_COLLECTED_BYTES - MAX_STORED_BYTES)
    };
    text.truncate(text.floor_char_boundary(whole.min(MAX_STORED_BYTES)));
    text.into_bytes()
}

/// Control characters, and those that turn the direction of writing, may make a terminal or a log lie.
fn printable(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
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
fn text_forms(text: &str) -> [String; 4] {
    let escaped = |plus: &str, slash: &str| text.replace('+', plus).replace('/', slash);
    [text.to_owned(), escaped("+", r"\/"), escaped("%2B", "%2F"), escaped("%2b", "%2f")]
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

/// A byte of the text, and where it is written.
type Symbol = (Range<usize>, u8);

/// Stars for the digits of whatever may be a card number, also when it is written in groups. The text is read as it is and as it would stand in a
/// form, for what is a number in one reading need not be in the other.
fn mask_card_numbers(bytes: &mut [u8]) {
    let mut hidden = vec![false; bytes.len()];
    let plain = bytes.iter().enumerate().map(|(at, byte)| (at..at + 1, *byte));
    hide_card_numbers(plain, &mut hidden);
    hide_card_numbers(unescaped(bytes), &mut hidden);
    bytes.iter_mut().zip(hidden).filter(|(_, hidden)| *hidden).for_each(|(byte, _)| *byte = b'*');
}

/// Reads %HH as the one byte that it stands for (RFC 3986 section 2.1).
fn unescaped(bytes: &[u8]) -> impl Iterator<Item = Symbol> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at;
        let (length, byte) = match bytes[from..] {
            [b'%', high, low, ..] => digit(high).zip(digit(low)).map_or((1, b'%'), |(high, low)| (3, high << 4 | low)),
            [byte, ..] => (1, byte),
            [] => return None,
        };
        at += length;
        Some((from..at, byte))
    })
}

/// Finds runs of digits, and in them what may be a card number.
fn hide_card_numbers(symbols: impl Iterator<Item = Symbol>, hidden: &mut [bool]) {
    let (mut run, mut gap) = (Vec::new(), 0);
    for (position, byte) in symbols {
        match byte {
            b'0'..=b'9' => {
                run.push((position, byte));
                gap = 0;
            }
            // Goes on with a character, which was counted when it began.
            0x80..=0xbf if !run.is_empty() => {}
            byte if gap < 3 && !run.is_empty() && is_between_groups(byte) => gap += 1,
            _ => {
                hide_in_run(&run, hidden);
                run.clear();
            }
        }
    }
    hide_in_run(&run, hidden);
}

/// Spaces and dashes of several kinds; all but ASCII in UTF-8 begin with C2 or E2.
const fn is_between_groups(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'+' | b'.' | b'_' | b'\t' | 0xc2 | 0xe2)
}

/// ISO/IEC 7812-1 annex B for every stretch that is as long as a card number. Each takes two look-ups: a receiver that answers nothing but digits
/// must not keep the thread busy.
fn hide_in_run(run: &[Symbol], hidden: &mut [bool]) {
    let sums = [0, 1].map(|doubled| weighed_before(run, doubled));
    for end in *NUMBER_LENGTHS.start()..=run.len() {
        // Counted from the last one, every second digit is doubled.
        let sums = &sums[end % 2];
        for start in NUMBER_LENGTHS.filter_map(|length| end.checked_sub(length)) {
            if (sums[end] - sums[start]).is_multiple_of(10) {
                run[start..end].iter().for_each(|(position, _)| hidden[position.clone()].fill(true));
            }
        }
    }
}

/// Before each position, the sum of the digits so far, where those at even places (0) or odd ones (1) are doubled.
fn weighed_before(run: &[Symbol], doubled: usize) -> Vec<u32> {
    let mut sum = 0;
    let mut sums = vec![0];
    for (position, (_, byte)) in run.iter().enumerate() {
        sum += match (position % 2 == doubled, u32::from(byte - b'0')) {
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
        String::from_utf8(redacted_excerpt(body.as_ref(), &[SECRET.to_vec()], signatures)).expect("text")
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
            "4111 \u{2013} 1111 \u{2013} 1111 \u{2013} 1111",
            "411111 1111111111",
            "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "5555555555554444",
            "378282246310005",
            "%34%31%31%31%31%31%31%31%31%31%31%31%31%31%31%31",
            "%378282246310005",
            "%4111111111111111",
            "%34%32%34%32%34%32%34%32%34%32%34%32",
            "424242424242",
        ] {
            for around in ["pan=@", "@", "\"@\"", "@ 12/29", "x@y", "00@", "id 77 @"] {
                let kept = kept(around.replace('@', number));
                let left = kept.chars().filter(char::is_ascii_digit).count();
                assert!(left <= 6 && kept.contains("*"), "{number} in {around}: {kept}");
            }
        }
        assert_eq!(kept("9073662585178128"), "9073662585178128", "no card number, nor is one inside");
        assert_eq!(kept("order 12345678903"), "order 12345678903", "too short for one");
        assert_eq!(kept("4111%201111%201111%201111"), "****%20****%20****%20****");
        assert_eq!(kept("4111%2D1111%2d1111%C2%A01111"), "****%2D****%2d****%C2%A0****");
        assert_eq!(kept("100%, 50%2, 7%ZZ, 1%"), "100%, 50%2, 7%ZZ, 1%");
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
            padded.replace('+', "%2b").replace('/', "%2f").replace('=', "%3d"),
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
        assert_eq!(kept("a\u{202e}b\u{2066}c\u{61c}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn four_kibibytes_are_kept_and_nothing_is_cut_in_two() {
        for odd in 0..4 {
            let long = format!("{}{}", "x".repeat(odd), "\u{20ac}".repeat(2_000));
            let kept = kept(&long.as_bytes()[..MAX_COLLECTED_BYTES]);
            assert!(4_093 <= kept.len() && kept.len() <= 4_096, "{}", kept.len());
            assert!(long.starts_with(&kept));
        }
        assert!(kept([0; MAX_COLLECTED_BYTES]).len() <= 4_096, "replacing makes it longer");
        let across = format!("{}4111111111111111{}", "x".repeat(4_090), "y".repeat(100));
        assert!(kept(across).ends_with("xx******"), "a number across the cut is masked");
        let secret = format!("{}whsec_{}", "x".repeat(4_080), STANDARD_NO_PAD.encode(SECRET));
        assert!(kept(secret).ends_with("xxwhsec_***"));
        // What is masked makes the text shorter, so that what was cut would come into what is kept.
        let secret = format!("whsec_{}", "a".repeat(600));
        let cut = format!("{secret}{}{}", "!".repeat(MAX_COLLECTED_BYTES - secret.len() - 15), "411111111111111");
        assert!(kept(&cut).ends_with('!'), "a number of which one digit is missing");
    }
}
