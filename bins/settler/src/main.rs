//! The settler as a program of its own.

use std::alloc::System;
use std::process::ExitCode;

use zeroizing_alloc::ZeroAlloc;

/// What this program gives back is wiped first: some of it charges stored cards.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    dropin_boot::serve("settler", 8087, settler::assemble)
}
