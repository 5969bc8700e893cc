//! `cargo xtask openapi`: writes the API documents.

use crate::command::{cargo, workspace_root};
use crate::failure::{Context, Failure, Outcome};

/// Runs the test that compares docs/openapi with the code and with what the running service answers, told to write instead. The services embed
/// what it writes, so build them again afterwards.
pub(crate) fn write() -> Outcome<()> {
    let build = ["build", "--package", "dropin"];
    let test =
        ["test", "--package", "dropin-tests", "--test", "openapi", "documents_show_what_the_running_service_does"];
    for arguments in [&build[..], &test[..]] {
        let mut command = cargo();
        command.args(arguments).env("DROPIN_REGENERATE", "1");
        let status = command.status().context(|| "start cargo".to_owned())?;
        if !status.success() {
            return Err(Failure::new(format!("the documents could not be made ({status}); the reason stands above")));
        }
    }
    println!("written below {}", workspace_root().join("docs/openapi").display());
    Ok(())
}
