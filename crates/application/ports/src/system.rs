use dropin_kernel::Timestamp;
use uuid::Uuid;

/// The time. Pure crates take it as an argument; this is where it comes from.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Identifiers and randomness. Pure crates take them as arguments; this is where they come from.
pub trait IdSource: Send + Sync {
    /// A random identifier (UUID version 4, RFC 9562), for ids that must not be guessed.
    fn random(&self) -> Uuid;

    /// An identifier that sorts by time (UUID version 7), for rows whose index locality matters and that nobody must guess.
    fn ordered(&self) -> Uuid;

    /// 256 random bits, for secrets.
    fn secret(&self) -> [u8; 32];
}
