#![doc = include_str!("../README.md")]

mod banner;
mod cli;
mod demo;
mod files;
mod plan;
mod serve;
pub mod shop;
mod tools;
mod wallet;

use std::io::{self, Write};
use std::process::ExitCode;

use dropin_boot::{Loaded, Process, load};

use crate::cli::Cli;

/// The whole program.
pub fn main() -> ExitCode {
    Process::run(async {
        let Loaded { settings: cli, report } = load::<Cli>(&[])?;
        if cli.config.check_config {
            cli.store.url()?;
            io::stdout().write_all(report.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        match &cli.command {
            Some(command) => {
                // A tool's own output is what counts; what it waits for is worth a warning only.
                dropin_boot::start_logs("warn", cli.logs.log_format);
                tools::run(&cli, command).await
            }
            None => {
                cli.logs.start();
                serve::run(&cli).await
            }
        }
    })
}
