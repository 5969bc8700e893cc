#![doc = include_str!("../README.md")]

mod banner;
mod cli;
mod demo;
mod files;
mod plan;
mod serve;
mod wallet;

use std::io::{self, Write};
use std::process::ExitCode;

use dropin_boot::{Process, load};

use crate::cli::Cli;

/// The command line as clap knows it, of which docs/settings.md is made.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// The whole program.
pub fn main() -> ExitCode {
    Process::run(async {
        let mut loaded = load::<Cli>(&[])?;
        let cli = &loaded.settings;
        if cli.config.check_config {
            cli.store.url()?;
            io::stdout().write_all(loaded.report.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let settings = &mut loaded.settings;
        settings.mode.complete(&settings.store).await?;
        let cli = &loaded.settings;
        match &cli.command {
            Some(command) => {
                // A tool's own output is what counts; what it waits for is worth a warning only.
                dropin_boot::start_logs("warn", cli.logs.log_format);
                loaded.warn();
                cli::run(cli, command).await
            }
            None => {
                cli.logs.start();
                loaded.warn();
                serve::run(cli).await
            }
        }
    })
}
