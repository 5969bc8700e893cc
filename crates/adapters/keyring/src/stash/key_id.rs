use std::fmt;
use std::str::FromStr;

/// Names a stash key and says when it is used; also the name of its file. All times are seconds since 1970, so that any process can
/// tell from the name alone what to do with a key, whatever its own configuration says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId {
    /// Seals from then.
    pub(crate) from: i64,
    /// Seals until just before then.
    pub(crate) until: i64,
    /// Nothing sealed under it is alive any more from then.
    pub(crate) gone: i64,
    /// Tells keys of one period apart.
    pub(crate) tag: u32,
}

const ENDING: &str = ".key";

impl KeyId {
    /// Whether it is the key to seal with at `second`.
    pub(crate) fn seals_at(&self, second: i64) -> bool {
        (self.from..self.until).contains(&second)
    }

    /// The name of its file.
    pub(crate) fn file_name(&self) -> String {
        format!("{self}{ENDING}")
    }

    /// Reads the name of a key file back; `None` for any other file.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        name.strip_suffix(ENDING)?.parse().ok()
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{:08x}", self.from, self.until, self.gone, self.tag)
    }
}

/// The text names no stash key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoKeyId;

impl FromStr for KeyId {
    type Err = NoKeyId;

    fn from_str(text: &str) -> Result<Self, NoKeyId> {
        let parts: Vec<&str> = text.split('-').collect();
        let [from, until, gone, tag] = parts[..] else {
            return Err(NoKeyId);
        };
        let second = |part: &str| part.parse::<i64>().map_err(|_no_number| NoKeyId);
        let tag = u32::from_str_radix(tag, 16).map_err(|_no_number| NoKeyId)?;
        let id = Self { from: second(from)?, until: second(until)?, gone: second(gone)?, tag };
        // Only the one way in which it is written, so that a name has one meaning.
        if id.to_string() == text { Ok(id) } else { Err(NoKeyId) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes_and_nothing_else() {
        let id = KeyId { from: 3_600, until: 7_200, gone: 9_060, tag: 0xab };
        assert_eq!(id.file_name(), "3600-7200-9060-000000ab.key");
        assert_eq!(KeyId::from_file_name(&id.file_name()), Some(id));
        for other in [
            "writer.lock",
            "card-hash.key",
            "3600-7200-9060-000000ab",
            "3600-7200-9060-000000ab.key.unfinished",
            "+3600-7200-9060-000000ab.key",
            "3600-7200-9060-000000AB.key",
            "3600-7200-9060-ab.key",
            "../3600-7200-9060-000000ab.key",
            "3600-7200-000000ab.key",
            ".key",
        ] {
            assert_eq!(KeyId::from_file_name(other), None, "{other}");
        }
    }
}
