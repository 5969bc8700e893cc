//! Keeps the memory of a process that handles cards from core dumps and other processes.

use std::io;

use crate::process::Failure;

/// Lets the system write no image of this process's memory, and no other process of its user look into it. For the programs that handle
/// cards, before they open a key; they wipe what they give back besides (their global allocator).
///
/// # Errors
/// The system refuses; no card should be handled then.
pub fn keep_memory_private() -> Result<(), Failure> {
    disable_core_dumps().map_err(|error| {
        format!(
            "the system does not let this program turn off core dumps ({error}); it handles cards, so it does not start"
        )
        .into()
    })
}

#[cfg(target_os = "linux")]
fn disable_core_dumps() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // First what a handler of core dumps outside of the limit obeys too, and a debugger.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    no_core_files()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn disable_core_dumps() -> io::Result<()> {
    no_core_files()
}

#[cfg(not(unix))]
fn disable_core_dumps() -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn no_core_files() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn no_core_file_and_no_debugger() {
        keep_memory_private().unwrap();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        // Twice is no harm.
        keep_memory_private().unwrap();
    }
}
