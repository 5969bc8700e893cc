//! The Session and Order API as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    dropin_boot::serve("session-api", 8082, session_api::assemble)
}
