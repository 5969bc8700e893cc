//! Programs of Python, each in a virtual environment of its own below target/, in the versions that committed files name.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{captured, target_folder, workspace_root};
use crate::failure::Outcome;
use crate::test::install::Lock;

/// What pip is told each time. Nothing is installed that a file does not name.
const PIP: [&str; 6] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];

/// A program and what it needs.
pub(crate) struct PythonProgram {
    pub(crate) name: &'static str,
    /// Below target/.
    pub(crate) folder: &'static str,
    /// In this order.
    pub(crate) requirements: &'static [Requirements],
}

/// A committed file that names versions.
pub(crate) struct Requirements {
    /// From the root of the workspace.
    pub(crate) file: &'static str,
    /// How pip installs what it names.
    pub(crate) options: &'static [&'static str],
}

impl PythonProgram {
    /// One of the programs in its environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.environment().join("bin").join(name)
    }

    fn environment(&self) -> PathBuf {
        target_folder().join(self.folder).join("venv")
    }

    fn locks(&self) -> impl Iterator<Item = (Lock, &Requirements)> {
        let environment = self.environment();
        self.requirements.iter().map(move |requirements| {
            let committed = workspace_root().join(requirements.file);
            let name = Path::new(requirements.file).file_name().unwrap_or_default().to_string_lossy();
            let installed = environment.join(format!("installed-{name}"));
            (Lock { committed, installed }, requirements)
        })
    }

    /// Whether everything is installed in the versions that the files name.
    pub(crate) fn is_installed(&self) -> bool {
        self.locks().all(|(lock, _)| lock.is_installed())
    }

    /// Lays it into its environment, unless it is there.
    pub(crate) fn install(&self) -> Outcome<()> {
        if self.is_installed() {
            return Ok(());
        }
        let environment = self.environment();
        println!("installing {} into {}", self.name, environment.display());
        captured(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        for (lock, Requirements { options, .. }) in self.locks() {
            let mut pip = Command::new(self.program("python"));
            captured(pip.args(PIP).args(*options).arg("--requirement").arg(&lock.committed))?;
            lock.mark_installed()?;
        }
        Ok(())
    }
}
