//! The notifier as it is installed: a process.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// One running notifier, its log in a file. Killed when dropped.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts it as a sandbox on the SQLite database and the keys in `folder`.
    pub(crate) fn start(folder: &Path) -> Self {
        let log = folder.join("notifier.log");
        let file = || File::options().create(true).append(true).open(&log).expect("a log file");
        let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listen = held.local_addr().expect("bound").to_string();
        drop(held);
        let child = Command::new(env!("CARGO_BIN_EXE_notifier"))
            .env_clear()
            .env("DROPIN_MODE", "sandbox")
            .env("DROPIN_LISTEN", listen)
            .env("DROPIN_DATA", folder)
            .env("DATABASE_URL", format!("sqlite://{}", folder.join("dropin.db").display()))
            .env("DROPIN_KEYS", folder.join("keys"))
            .stdin(Stdio::null())
            .stdout(file())
            .stderr(file())
            .spawn()
            .expect("the notifier starts");
        Self { child, log }
    }

    /// Fails the test when it has ended.
    pub(crate) fn must_run(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            panic!("the notifier ended with {status}:\n{}", self.logged());
        }
    }

    pub(crate) fn logged(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The most memory that it ever held, in KiB (proc_pid_status(5): VmHWM).
    pub(crate) fn most_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs on Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
