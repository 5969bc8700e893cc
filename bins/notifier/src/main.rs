//! The notifier as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    dropin_boot::serve("notifier", 8085, notifier::assemble)
}
