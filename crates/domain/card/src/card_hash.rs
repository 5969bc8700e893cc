use std::fmt;

/// A keyed hash of a card's number and the merchant it was typed for: tells whether two cards are the same, and nothing else of them.
///
/// It is card data: it cannot be serialized, and Debug shows nothing of it. The 32 bytes are those of an HMAC with SHA-256.
///
/// ```
/// use dropin_card::CardHash;
///
/// let (one, same) = (CardHash([7; 32]), CardHash([7; 32]));
/// assert_eq!(one, same);
/// assert_eq!(format!("{one:?}"), "CardHash(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardHash(pub [u8; 32]);

impl CardHash {
    /// Its bytes, for the store.
    ///
    /// ```
    /// # use dropin_card::CardHash;
    /// assert_eq!(CardHash([7; 32]).as_bytes(), [7; 32]);
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for CardHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardHash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Some(CardHash([7; 32]))), "Some(CardHash(..))");
    }
}
