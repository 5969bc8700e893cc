//! The admin panel as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    dropin_boot::serve("admin-panel", 8089, admin_panel::assemble)
}
