//! Files on this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dropin_ecb_rates::MAX_BYTES;
use dropin_ports::RateSourceError;

/// Reads a whole file, and no more than a file of rates can have.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, RateSourceError> {
    let file = |error: io::Error| RateSourceError::File(error.kind().to_string());
    // Asked first: to open a pipe would wait for whoever writes to it.
    if !std::fs::metadata(path).map_err(file)?.is_file() {
        return Err(RateSourceError::File("it is no regular file".to_owned()));
    }
    let limit = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    File::open(path).and_then(|opened| opened.take(limit).read_to_end(&mut bytes)).map_err(file)?;
    if MAX_BYTES < bytes.len() { Err(RateSourceError::TooLarge { limit: MAX_BYTES }) } else { Ok(bytes) }
}
