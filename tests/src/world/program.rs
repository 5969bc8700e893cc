use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One running program, its log in a file. Killed when dropped.
pub struct Program {
    name: String,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
    child: Option<Child>,
}

impl Program {
    /// Starts `command` (its first word a binary of this workspace) with nothing but this environment.
    pub(super) fn start(name: &str, command: Vec<String>, environment: Vec<(String, String)>, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let mut program = Self { name: name.to_owned(), command, environment, log, child: None };
        program.restart();
        program
    }

    /// Starts it again after it ended.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.name);
        let log = || -> File { OpenOptions::new().create(true).append(true).open(&self.log).expect("a log file") };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let child = Command::new(binary(&self.command[0]))
            .args(&self.command[1..])
            .env_clear()
            .env("PATH", path)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; run `cargo build --workspace` first", self.name));
        self.child = Some(child);
    }

    /// Everything it has logged.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// SIGKILL: no instruction of it runs after this.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            drop(child.kill());
            child.wait().expect("a killed child is reaped");
        }
    }

    /// SIGTERM, and waits for a clean end; how long that took.
    pub async fn stop(&mut self, limit: Duration) -> Duration {
        let Some(mut child) = self.child.take() else { return Duration::ZERO };
        let begun = Instant::now();
        let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill starts");
        assert!(asked.success(), "{} had ended before it was asked to:\n{}", self.name, self.logged());
        loop {
            if let Some(status) = child.try_wait().expect("a child can be asked") {
                assert!(status.success(), "{} ended with {status}:\n{}", self.name, self.logged());
                return begun.elapsed();
            }
            if limit < begun.elapsed() {
                drop(child.kill());
                panic!("{} did not stop within {limit:?}:\n{}", self.name, self.logged());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Fails the test when it has ended.
    pub(super) fn must_run(&mut self) {
        let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
        if let Some(status) = ended {
            panic!("{} ended with {status}:\n{}", self.name, self.logged());
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map(Child::id).expect("it runs")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The folder of the programs, when it is another than the one of the test's own binary.
const PROGRAMS: &str = "DROPIN_TEST_PROGRAMS";

/// A binary of this workspace: in the folder that the environment names, else beside the test's own.
pub(super) fn binary(name: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os(PROGRAMS) {
        let file = PathBuf::from(folder).join(name);
        assert!(file.is_absolute() && file.is_file(), "{PROGRAMS}: {} is no program; name it from /", file.display());
        return file;
    }
    let mut folder = std::env::current_exe().expect("this test has a file");
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    folder.join(name)
}
