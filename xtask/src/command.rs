//! Running other programs: every failure names the program and shows what it printed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use crate::failure::{Context, Failure, Outcome};

/// The root of the workspace: the folder above this package, fixed when the tool is built.
pub(crate) fn workspace_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("xtask is a folder of the workspace root").to_path_buf()
}

/// Where cargo builds, as it is told by its own variable.
pub(crate) fn target_folder() -> PathBuf {
    target_below(&workspace_root(), std::env::var_os("CARGO_TARGET_DIR"))
}

/// Cargo runs in the root, so that is where a relative folder begins.
fn target_below(root: &Path, chosen: Option<OsString>) -> PathBuf {
    root.join(chosen.unwrap_or_else(|| "target".into()))
}

/// The cargo that started this tool, so that a toolchain override stays in force.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace_root()).stdin(Stdio::null());
    command
}

/// The program and its arguments as a person would type them.
pub(crate) fn rendered(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words = program.file_name().into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a program to its end, quietly. Fails with its own words unless it exits with 0.
pub(crate) fn captured(command: &mut Command) -> Outcome<String> {
    let output = command.stdin(Stdio::null()).output().context(|| format!("start `{}`", rendered(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure::new(format!("`{}` failed ({}):\n{}", rendered(command), output.status, said(&output))))
}

/// Runs a program to its end while it says what it has to say. Fails unless it exits with 0.
pub(crate) fn finished(command: &mut Command) -> Outcome<()> {
    let status = command.status().context(|| format!("start `{}`", rendered(command)))?;
    judged(command, status)
}

/// Fails unless a program that has ended exited with 0.
pub(crate) fn judged(command: &Command, status: ExitStatus) -> Outcome<()> {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` failed ({status}); its own words stand above", rendered(command))))
}

/// Whether a program starts and exits with 0; what it prints is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn said(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_where_cargo_was_told_to_build_them() {
        let target = |chosen: Option<&str>| target_below(Path::new("/house"), chosen.map(OsString::from));
        assert_eq!(target(None), Path::new("/house/target"));
        assert_eq!(target(Some("/elsewhere")), Path::new("/elsewhere"));
        assert_eq!(target(Some("out/here")), Path::new("/house/out/here"));
    }
}
