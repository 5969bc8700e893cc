//! Random numbers.

use dropin_ports::IdSource;

/// A number from 0 to `most`, all as likely as each other but for one part in 65,536 of `most`.
pub(crate) fn up_to(most: u16, ids: &dyn IdSource) -> u32 {
    let random = ids.random();
    let [.., high, low] = *random.as_bytes();
    u32::from(u16::from_be_bytes([high, low])) % (u32::from(most) + 1)
}
