use zeroize::Zeroizing;

use crate::card::Card;
use crate::stashed::StashedData;
use crate::wallet::WalletToken;

/// What a vault opened is nothing that was stashed, or in no format that this version reads.
///
/// ```
/// use dropin_card::{MalformedPlaintext, StashedData};
///
/// assert_eq!(StashedData::from_sealed_plaintext(b"nonsense"), Err(MalformedPlaintext));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not in a format that this version reads")]
pub struct MalformedPlaintext;

/// First byte of a card: five texts, each a length of four bytes (big-endian) and UTF-8.
const CARD: u8 = 1;

/// First byte of a wallet token: two such texts.
const WALLET_TOKEN: u8 = 2;

impl StashedData {
    /// The bytes that a vault encrypts; wiped when dropped. Written in one piece, so that no growing buffer leaves copies behind.
    ///
    /// ```
    /// # use dropin_card::{Card, StashedData};
    /// let data = StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12"));
    /// assert_eq!(StashedData::from_sealed_plaintext(&data.to_sealed_plaintext()), Ok(data));
    /// ```
    pub fn to_sealed_plaintext(&self) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Card(card) => write(
                CARD,
                [
                    card.name(),
                    card.expose_number(),
                    card.expose_verification_code(),
                    card.expiry_year(),
                    card.expiry_month(),
                ],
            ),
            Self::WalletToken(token) => write(WALLET_TOKEN, [token.wallet().as_str(), token.expose_data()]),
        }
    }

    /// Reads what [`StashedData::to_sealed_plaintext`] wrote.
    ///
    /// ```
    /// # use dropin_card::StashedData;
    /// assert!(StashedData::from_sealed_plaintext(&[]).is_err());
    /// ```
    ///
    /// # Errors
    /// [`MalformedPlaintext`] for another format, a cut-off text, or anything after the last one.
    pub fn from_sealed_plaintext(bytes: &[u8]) -> Result<Self, MalformedPlaintext> {
        let (format, texts) = bytes.split_first().ok_or(MalformedPlaintext)?;
        match *format {
            CARD => {
                let [name, number, code, year, month] = read(texts)?;
                Ok(Self::Card(Card::new(name, number, code, year, month)))
            }
            WALLET_TOKEN => {
                let [wallet, data] = read(texts)?;
                let wallet = wallet.parse().map_err(|_unknown| MalformedPlaintext)?;
                Ok(Self::WalletToken(WalletToken::new(wallet, data)))
            }
            _ => Err(MalformedPlaintext),
        }
    }
}

fn write<const N: usize>(format: u8, texts: [&str; N]) -> Zeroizing<Vec<u8>> {
    let size = 1 + texts.iter().map(|text| 4 + text.len()).sum::<usize>();
    let mut bytes = Zeroizing::new(Vec::with_capacity(size));
    bytes.push(format);
    for text in texts {
        let length = u32::try_from(text.len()).expect("a text of 4 GiB never gets this far");
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn read<const N: usize>(mut rest: &[u8]) -> Result<[&str; N], MalformedPlaintext> {
    let mut texts = [""; N];
    for text in &mut texts {
        (*text, rest) = split_text(rest)?;
    }
    if rest.is_empty() { Ok(texts) } else { Err(MalformedPlaintext) }
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
    use crate::wallet::Wallet;

    fn everything() -> [StashedData; 3] {
        [
            StashedData::Card(Card::new("Ana é", "4242 4242 4242 4242", "123", "2030", "12")),
            StashedData::Card(Card::new("", "", "", "", "")),
            StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, "{ \"token\":\"\\u00e9 é\"}")),
        ]
    }

    #[test]
    fn reads_back_exactly_what_was_stashed() {
        for data in everything() {
            let bytes = data.to_sealed_plaintext();
            assert_eq!(bytes.len(), bytes.capacity(), "written in one piece");
            assert_eq!(StashedData::from_sealed_plaintext(&bytes), Ok(data));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for data in everything() {
            let bytes = data.to_sealed_plaintext();
            for cut in 0..bytes.len() {
                assert_eq!(StashedData::from_sealed_plaintext(&bytes[..cut]), Err(MalformedPlaintext), "{cut}");
            }
            let mut longer = bytes.to_vec();
            longer.push(0);
            let mut other_format = bytes.to_vec();
            other_format[0] = 3 - other_format[0];
            let mut unknown_format = bytes.to_vec();
            unknown_format[0] = 3;
            let mut length = bytes.to_vec();
            length[1..5].fill(0xff);
            for wrong in [longer, other_format, unknown_format, length] {
                assert_eq!(StashedData::from_sealed_plaintext(&wrong), Err(MalformedPlaintext));
            }
        }
        let [card, _, token] = everything();
        for data in [card, token] {
            // No UTF-8 in one, no wallet in the other.
            let mut damaged = data.to_sealed_plaintext();
            damaged[5] = 0xff;
            assert_eq!(StashedData::from_sealed_plaintext(&damaged), Err(MalformedPlaintext));
        }
    }
}
