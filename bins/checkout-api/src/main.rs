//! The drop-in, the shopper's calls and the server-to-server checkout as a program of their own.

use std::alloc::System;
use std::process::ExitCode;

use zeroizing_alloc::ZeroAlloc;

/// What this program gives back is wiped first: some of it held cards.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

fn main() -> ExitCode {
    dropin_boot::serve("checkout-api", 8083, checkout_api::assemble)
}
