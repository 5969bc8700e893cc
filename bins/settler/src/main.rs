//! The settler as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    dropin_boot::serve("settler", 8087, settler::assemble)
}
