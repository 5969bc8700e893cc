use zeroize::Zeroizing;

use crate::card::Card;
use crate::client_facts::ClientFacts;
use crate::stashed::{StashContents, StashedData};
use crate::wallet::WalletToken;

/// What a vault opened is nothing that was stashed, or in no format that this version reads.
///
/// ```
/// use dropin_card::{MalformedPlaintext, StashContents};
///
/// assert_eq!(StashContents::from_sealed_plaintext(b"nonsense"), Err(MalformedPlaintext));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not in a format that this version reads")]
pub struct MalformedPlaintext;

/// First byte of a card: five texts, each a length of four bytes (big-endian) and UTF-8.
const CARD: u8 = 1;

/// First byte of a wallet token: two such texts.
const WALLET_TOKEN: u8 = 2;

/// First byte where something is known of the client: three such texts, empty where it is not, and then a card or a token as above.
const CLIENT: u8 = 3;

impl StashContents {
    /// The bytes that a vault encrypts; wiped when dropped. Written in one piece, so that no growing buffer leaves copies behind.
    ///
    /// ```
    /// # use dropin_card::{Card, StashContents, StashedData};
    /// let contents = StashContents::from(StashedData::Card(Card::new("Ana", "4242 4242 4242 4242", "123", "2030", "12")));
    /// assert_eq!(StashContents::from_sealed_plaintext(&contents.to_sealed_plaintext()), Ok(contents));
    /// ```
    pub fn to_sealed_plaintext(&self) -> Zeroizing<Vec<u8>> {
        let address = self.client.address().map(|address| address.to_string()).unwrap_or_default();
        let facts = [&address, self.client.time_zone().unwrap_or_default(), self.client.language().unwrap_or_default()];
        let is_known = facts.iter().any(|fact| !fact.is_empty());
        let client = is_known.then_some((CLIENT, &facts[..]));
        match &self.data {
            StashedData::Card(card) => {
                let texts = [
                    card.name(),
                    card.expose_number(),
                    card.expose_verification_code(),
                    card.expiry_year(),
                    card.expiry_month(),
                ];
                write(client, (CARD, &texts))
            }
            StashedData::WalletToken(token) => {
                write(client, (WALLET_TOKEN, &[token.wallet().as_str(), token.expose_data()]))
            }
        }
    }

    /// Reads what [`StashContents::to_sealed_plaintext`] wrote, also before anything was known of clients.
    ///
    /// ```
    /// # use dropin_card::StashContents;
    /// assert!(StashContents::from_sealed_plaintext(&[]).is_err());
    /// ```
    ///
    /// # Errors
    /// [`MalformedPlaintext`] for another format, a cut-off text, or anything after the last one.
    pub fn from_sealed_plaintext(bytes: &[u8]) -> Result<Self, MalformedPlaintext> {
        match bytes.split_first() {
            Some((&CLIENT, rest)) => {
                let ([address, time_zone, language], data) = read(rest)?;
                let address = match address {
                    "" => None,
                    written => Some(written.parse().map_err(|_no_address| MalformedPlaintext)?),
                };
                Ok(Self { data: read_data(data)?, client: ClientFacts::new(address, Some(time_zone), Some(language)) })
            }
            _ => read_data(bytes).map(Self::from),
        }
    }
}

fn read_data(bytes: &[u8]) -> Result<StashedData, MalformedPlaintext> {
    let (format, texts) = bytes.split_first().ok_or(MalformedPlaintext)?;
    match *format {
        CARD => {
            let [name, number, code, year, month] = read_whole(texts)?;
            Ok(StashedData::Card(Card::new(name, number, code, year, month)))
        }
        WALLET_TOKEN => {
            let [wallet, data] = read_whole(texts)?;
            let wallet = wallet.parse().map_err(|_unknown| MalformedPlaintext)?;
            Ok(StashedData::WalletToken(WalletToken::new(wallet, data)))
        }
        _ => Err(MalformedPlaintext),
    }
}

fn write(client: Option<(u8, &[&str])>, data: (u8, &[&str])) -> Zeroizing<Vec<u8>> {
    let parts = || client.into_iter().chain([data]);
    let size = parts().map(|(_, texts)| 1 + texts.iter().map(|text| 4 + text.len()).sum::<usize>()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(size));
    for (format, texts) in parts() {
        bytes.push(format);
        for text in texts {
            let length = u32::try_from(text.len()).expect("a text of 4 GiB never gets this far");
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

fn read_whole<const N: usize>(bytes: &[u8]) -> Result<[&str; N], MalformedPlaintext> {
    let (texts, rest) = read(bytes)?;
    if rest.is_empty() { Ok(texts) } else { Err(MalformedPlaintext) }
}

/// So many texts, and what comes after them.
fn read<const N: usize>(mut rest: &[u8]) -> Result<([&str; N], &[u8]), MalformedPlaintext> {
    let mut texts = [""; N];
    for text in &mut texts {
        (*text, rest) = split_text(rest)?;
    }
    Ok((texts, rest))
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

    fn data() -> [StashedData; 3] {
        [
            StashedData::Card(Card::new("Ana é", "4242 4242 4242 4242", "123", "2030", "12")),
            StashedData::Card(Card::new("", "", "", "", "")),
            StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, "{ \"token\":\"\\u00e9 é\"}")),
        ]
    }

    fn clients() -> [ClientFacts; 4] {
        [
            ClientFacts::default(),
            ClientFacts::new("192.0.2.7".parse().ok(), Some("Europe/Vienna"), Some("de-AT")),
            ClientFacts::new("2001:db8::7".parse().ok(), None, None),
            ClientFacts::new(None, None, Some("de")),
        ]
    }

    fn everything() -> Vec<StashContents> {
        clients()
            .into_iter()
            .flat_map(|client| data().map(|data| StashContents { data, client: client.clone() }))
            .collect()
    }

    #[test]
    fn reads_back_exactly_what_was_stashed() {
        for contents in everything() {
            let bytes = contents.to_sealed_plaintext();
            assert_eq!(bytes.len(), bytes.capacity(), "written in one piece");
            assert_eq!(StashContents::from_sealed_plaintext(&bytes), Ok(contents));
        }
    }

    #[test]
    fn what_was_sealed_before_anything_was_known_of_clients_is_still_read() {
        let text = |text: &str| [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat();
        let before = [vec![1], text("Ana"), text("4242"), text("123"), text("2030"), text("12")].concat();
        let contents = StashContents::from(StashedData::Card(Card::new("Ana", "4242", "123", "2030", "12")));
        assert_eq!(
            *contents.to_sealed_plaintext(),
            before,
            "and of a client of which nothing is known it is written so"
        );
        assert_eq!(StashContents::from_sealed_plaintext(&before), Ok(contents));
    }

    #[test]
    fn anything_else_is_refused() {
        for contents in everything() {
            let bytes = contents.to_sealed_plaintext();
            for cut in 0..bytes.len() {
                assert_eq!(StashContents::from_sealed_plaintext(&bytes[..cut]), Err(MalformedPlaintext), "{cut}");
            }
            let mut longer = bytes.to_vec();
            longer.push(0);
            let mut unknown_format = bytes.to_vec();
            unknown_format[0] = 4;
            let mut length = bytes.to_vec();
            length[1..5].fill(0xff);
            for wrong in [longer, unknown_format, length] {
                assert_eq!(StashContents::from_sealed_plaintext(&wrong), Err(MalformedPlaintext));
            }
            for other in [1, 2, 3].into_iter().filter(|format| *format != bytes[0]) {
                let mut other_format = bytes.to_vec();
                other_format[0] = other;
                assert_eq!(StashContents::from_sealed_plaintext(&other_format), Err(MalformedPlaintext), "{other}");
            }
        }
        let [card, _, token] = data();
        for data in [card, token] {
            // No UTF-8 in one, no wallet in the other.
            let mut damaged = StashContents::from(data).to_sealed_plaintext();
            damaged[5] = 0xff;
            assert_eq!(StashContents::from_sealed_plaintext(&damaged), Err(MalformedPlaintext));
        }
        let [_, client, ..] = clients();
        let [card, ..] = data();
        let mut nowhere = StashContents { data: card, client }.to_sealed_plaintext();
        nowhere[5] = b'x';
        assert_eq!(StashContents::from_sealed_plaintext(&nowhere), Err(MalformedPlaintext), "no address");
    }
}
