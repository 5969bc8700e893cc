use std::fmt;
use std::str::FromStr;

use dropin_kernel::Timestamp;

/// Names a long-lived key: when it was made, and a random number. Also the name of its file. The newest key is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RingKeyId {
    made: i64,
    tag: u32,
}

const ENDING: &str = ".key";

/// What [`RingKeyId::FIRST`] is written as.
const FIRST: &str = "first";

impl RingKeyId {
    /// The key of a ring from before keys had ids: older than every other.
    pub(crate) const FIRST: Self = Self { made: 0, tag: 0 };

    /// Bytes of an id within a sealed value.
    pub(crate) const BYTES: usize = 12;

    /// That of a key made in second `made` since 1970.
    pub(crate) const fn new(made: i64, tag: u32) -> Self {
        Self { made, tag }
    }

    /// In seconds since 1970.
    pub(crate) const fn made(self) -> i64 {
        self.made
    }

    /// When the key was made; `None` for a key from before keys had ids.
    pub(crate) fn made_at(self) -> Option<Timestamp> {
        let micros = self.made.saturating_mul(1_000_000);
        (self != Self::FIRST).then_some(Timestamp::from_micros(micros))
    }

    /// The name of its file.
    pub(crate) fn file_name(self) -> String {
        format!("{self}{ENDING}")
    }

    /// Reads the name of a key file back; `None` for any other file.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        name.strip_suffix(ENDING)?.parse().ok().filter(|id| *id != Self::FIRST)
    }

    /// As it stands within a sealed value.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (made, tag) = bytes.split_at_mut(8);
        made.copy_from_slice(&self.made.to_be_bytes());
        tag.copy_from_slice(&self.tag.to_be_bytes());
        bytes
    }

    /// Reads [`Self::to_bytes`] back.
    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, tag @ ..] = *bytes;
        Self { made: i64::from_be_bytes([a, b, c, d, e, f, g, h]), tag: u32::from_be_bytes(tag) }
    }
}

impl fmt::Display for RingKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FIRST => f.write_str(FIRST),
            Self { made, tag } => write!(f, "{made}-{tag:08x}"),
        }
    }
}

/// The text names no long-lived key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRingKeyId;

impl FromStr for RingKeyId {
    type Err = NoRingKeyId;

    fn from_str(text: &str) -> Result<Self, NoRingKeyId> {
        if text == FIRST {
            return Ok(Self::FIRST);
        }
        let (made, tag) = text.split_once('-').ok_or(NoRingKeyId)?;
        let made = made.parse().map_err(|_no_number| NoRingKeyId)?;
        let tag = u32::from_str_radix(tag, 16).map_err(|_no_number| NoRingKeyId)?;
        let id = Self { made, tag };
        // Only the one way in which it is written, so that a name has one meaning.
        if id.to_string() == text { Ok(id) } else { Err(NoRingKeyId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes_and_nothing_else() {
        let id = RingKeyId::new(1_795_489_200, 0xab);
        assert_eq!(id.file_name(), "1795489200-000000ab.key");
        assert_eq!(RingKeyId::from_file_name(&id.file_name()), Some(id));
        assert_eq!(RingKeyId::from_bytes(&id.to_bytes()), id);
        assert_eq!("first".parse(), Ok(RingKeyId::FIRST));
        for other in [
            "writer.lock",
            "first.key",
            "0-00000000.key",
            "1795489200-000000ab",
            "1795489200-000000ab.key.unfinished",
            "+1795489200-000000ab.key",
            "1795489200-000000AB.key",
            "1795489200-ab.key",
            "../1795489200-000000ab.key",
            ".key",
        ] {
            assert_eq!(RingKeyId::from_file_name(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_is_the_greatest_and_the_first_the_least() {
        let [old, new] = [RingKeyId::new(9, u32::MAX), RingKeyId::new(10, 0)];
        assert!(RingKeyId::FIRST < old && old < new);
        assert_eq!((RingKeyId::FIRST.made_at(), old.made_at().map(Timestamp::micros)), (None, Some(9_000_000)));
    }
}
