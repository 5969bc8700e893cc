//! Free disk space. A build that runs out of it fails half an hour in, with a message of rustc's that does not say so.

use crate::command::{target_folder, workspace_root};

/// What `cargo xtask test` writes from nothing, in bytes: the target folder, and what the tests and PostgreSQL need for a moment
/// (README, "What it needs and takes").
const RECOMMENDED_FREE_BYTES: u64 = 8_000_000_000;
/// With less than this at a failure, the failure may well be that.
const MIN_FREE_BYTES: u64 = 500_000_000;

/// Bytes free where cargo builds; `None` where the system cannot tell.
pub(crate) fn free() -> Option<u64> {
    // The folder itself may not be there yet.
    let place = Some(target_folder()).filter(|folder| folder.exists()).unwrap_or_else(workspace_root);
    let disk = rustix::fs::statvfs(&place).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}

/// One clause for the line that ends a stage.
pub(crate) fn summary(free: Option<u64>) -> String {
    free.map_or_else(String::new, |bytes| format!(", {} free", gigabytes(bytes)))
}

/// What to say before the first stage, if it may become tight.
pub(crate) fn warning(free: u64) -> Option<String> {
    told(free, RECOMMENDED_FREE_BYTES, "`cargo clean`, or CARGO_INCREMENTAL=0, makes room")
}

/// What to add to a failure, if the disk may be its cause.
pub(crate) fn advice(free: u64) -> Option<String> {
    told(free, MIN_FREE_BYTES, "the disk may be what failed, and `cargo clean` makes room")
}

fn told(free: u64, least: u64, advice: &str) -> Option<String> {
    let (shown, wanted) = (gigabytes(free), gigabytes(RECOMMENDED_FREE_BYTES));
    let told =
        || format!("only {shown} free where cargo builds, and a run from nothing writes up to {wanted}: {advice}");
    (free < least).then(told)
}

fn gigabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_disk() {
        assert!(free().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn speaks_up_only_when_it_is_tight() {
        assert!(warning(RECOMMENDED_FREE_BYTES).is_none() && advice(MIN_FREE_BYTES).is_none());
        assert!(warning(RECOMMENDED_FREE_BYTES - 1).unwrap().contains("only 7.9 GB free"));
        assert!(advice(287_000_000).unwrap().contains("only 0.2 GB free"));
        assert_eq!(summary(Some(1_250_000_000)), ", 1.2 GB free");
        assert_eq!(summary(None), "");
    }
}
