//! AES-256-GCM with a random nonce and associated data that cannot be read in two ways.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use dropin_ports::KeyringError;
use zeroize::Zeroizing;

/// First byte of everything sealed: format byte, nonce, ciphertext, tag.
const FORMAT: u8 = 1;

/// A key that seals and opens.
pub(crate) struct SealingKey(RandomizedNonceKey);

impl SealingKey {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(RandomizedNonceKey::new(&AES_256_GCM, key).expect("AES-256 takes 32 bytes"))
    }

    /// Encrypts `plaintext` in place, so that no unwiped copy of it remains.
    pub(crate) fn seal(&self, mut plaintext: Zeroizing<Vec<u8>>, binding: &[&[u8]]) -> Result<Vec<u8>, KeyringError> {
        let sealed = self.0.seal_in_place_separate_tag(Aad::from(associated_data(binding)), &mut plaintext);
        let (nonce, tag) =
            sealed.map_err(|_unspecified| KeyringError::Unavailable("encryption failed in the library".to_owned()))?;
        let mut bytes = Vec::with_capacity(1 + NONCE_LEN + plaintext.len() + tag.as_ref().len());
        bytes.push(FORMAT);
        bytes.extend_from_slice(nonce.as_ref());
        bytes.extend_from_slice(&plaintext);
        bytes.extend_from_slice(tag.as_ref());
        Ok(bytes)
    }

    /// Decrypts what [`SealingKey::seal`] made under the same key and binding.
    pub(crate) fn open(&self, sealed: &[u8], binding: &[&[u8]]) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
        let Some((&FORMAT, rest)) = sealed.split_first() else {
            return Err(KeyringError::CannotOpen);
        };
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>().ok_or(KeyringError::CannotOpen)?;
        let mut buffer = Zeroizing::new(ciphertext.to_vec());
        let opened = self.0.open_in_place(
            Nonce::assume_unique_for_key(*nonce),
            Aad::from(associated_data(binding)),
            buffer.as_mut_slice(),
        );
        let length = opened.map_err(|_unspecified| KeyringError::CannotOpen)?.len();
        buffer.truncate(length);
        Ok(buffer)
    }
}

/// Every part with its length in front: no two lists of parts give the same bytes.
fn associated_data(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| 8 + part.len()).sum());
    for part in parts {
        bytes.extend_from_slice(&u64::try_from(part.len()).expect("a length fits 64 bits").to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plaintext() -> Zeroizing<Vec<u8>> {
        Zeroizing::new(b"what nobody may read".to_vec())
    }

    #[test]
    fn opens_what_it_sealed_and_shows_nothing_of_it() {
        let key = SealingKey::new(&[7; 32]);
        let sealed = key.seal(plaintext(), &[b"a", b"b"]).expect("sealed");
        assert_eq!(key.open(&sealed, &[b"a", b"b"]), Ok(plaintext()));
        assert!(!sealed.windows(6).any(|window| window == b"nobody"));
        assert_ne!(sealed, key.seal(plaintext(), &[b"a", b"b"]).expect("sealed"), "a nonce of its own each time");
    }

    #[test]
    fn another_binding_key_or_byte_opens_nothing() {
        let key = SealingKey::new(&[7; 32]);
        let sealed = key.seal(plaintext(), &[b"ab", b"c"]).expect("sealed");
        for binding in [&[b"a".as_slice(), b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[b"ab"], &[]] {
            assert_eq!(key.open(&sealed, binding), Err(KeyringError::CannotOpen));
        }
        assert_eq!(SealingKey::new(&[8; 32]).open(&sealed, &[b"ab", b"c"]), Err(KeyringError::CannotOpen));
        for place in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[place] ^= 1;
            assert_eq!(key.open(&altered, &[b"ab", b"c"]), Err(KeyringError::CannotOpen), "byte {place}");
            assert_eq!(key.open(&sealed[..place], &[b"ab", b"c"]), Err(KeyringError::CannotOpen), "cut at {place}");
        }
    }
}
