use zeroize::Zeroizing;

use crate::card::Card;

/// What a vault opened is no card of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a card in a format that this version reads")]
pub struct MalformedPlaintext;

/// First byte of the format: five texts, each a length of four bytes (big-endian) and UTF-8.
const FORMAT: u8 = 1;

impl Card {
    /// The bytes that a vault encrypts; wiped when dropped. Written in one piece, so that no growing buffer leaves copies behind.
    pub fn to_sealed_plaintext(&self) -> Zeroizing<Vec<u8>> {
        let texts = [
            self.name(),
            self.expose_number(),
            self.expose_verification_code(),
            self.expiry_year(),
            self.expiry_month(),
        ];
        let size = 1 + texts.iter().map(|text| 4 + text.len()).sum::<usize>();
        let mut bytes = Zeroizing::new(Vec::with_capacity(size));
        bytes.push(FORMAT);
        for text in texts {
            let length = u32::try_from(text.len()).expect("a text of 4 GiB never gets this far");
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// Reads what [`Card::to_sealed_plaintext`] wrote.
    ///
    /// # Errors
    /// [`MalformedPlaintext`] for another format, a cut-off text, or anything after the last one.
    pub fn from_sealed_plaintext(bytes: &[u8]) -> Result<Self, MalformedPlaintext> {
        let (&FORMAT, mut rest) = bytes.split_first().ok_or(MalformedPlaintext)? else {
            return Err(MalformedPlaintext);
        };
        let mut texts = [""; 5];
        for text in &mut texts {
            (*text, rest) = split_text(rest)?;
        }
        if !rest.is_empty() {
            return Err(MalformedPlaintext);
        }
        let [name, number, verification_code, expiry_year, expiry_month] = texts;
        Ok(Self::new(name, number, verification_code, expiry_year, expiry_month))
    }
}

fn split_text(bytes: &[u8]) -> Result<(&str, &[u8]), MalformedPlaintext> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or(MalformedPlaintext)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_too_long| MalformedPlaintext)?;
    let (text, rest) = rest.split_at_checked(length).ok_or(MalformedPlaintext)?;
    Ok((std::str::from_utf8(text).map_err(|_not_text| MalformedPlaintext)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card::new("Ana é", "4242 4242 4242 4242", "123", "2030", "12")
    }

    #[test]
    fn reads_back_exactly_what_was_typed() {
        for card in [card(), Card::new("", "", "", "", "")] {
            let bytes = card.to_sealed_plaintext();
            assert_eq!(bytes.len(), bytes.capacity(), "written in one piece");
            assert_eq!(Card::from_sealed_plaintext(&bytes), Ok(card));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let bytes = card().to_sealed_plaintext();
        for cut in 0..bytes.len() {
            assert_eq!(Card::from_sealed_plaintext(&bytes[..cut]), Err(MalformedPlaintext), "{cut}");
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        let mut other_format = bytes.to_vec();
        other_format[0] = 2;
        let mut not_text = bytes.to_vec();
        not_text[5] = 0xff;
        for wrong in [longer, other_format, not_text, vec![FORMAT, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(Card::from_sealed_plaintext(&wrong), Err(MalformedPlaintext));
        }
    }
}
