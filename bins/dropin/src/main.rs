//! Dropin in one process, and its command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    dropin::main()
}
