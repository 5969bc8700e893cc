//! The guard: a second process of this tool that cleans up when the first one ends, however it ends.
//!
//! It holds the throw-away PostgreSQL and knows what else was started or is to be removed. The pipe between the two is the signal: when it
//! closes, because the run is over, was interrupted, panicked or was killed, the guard ends everything and goes.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::failure::{Context, Failure, Outcome};
use crate::postgres::{self, Server};
use crate::processes::{MARKER_VARIABLE, Wanted};

/// The task name under which this tool starts itself as the guard.
pub(crate) const TASK: &str = "guard";

/// The run's end of the pipe.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Guard {
    /// Starts the guard in a process group of its own, so that Ctrl-C does not reach it.
    pub(crate) fn start(marker: &str) -> Outcome<Self> {
        // This very program, even where a build has put another in its place.
        let mut command = Command::new("/proc/self/exe");
        command.args([TASK, marker]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Where another run runs this one, that one's guard must not end this one's before it has cleaned up.
        command.env_remove(MARKER_VARIABLE);
        let mut process = command.spawn().context(|| "start the guard".to_owned())?;
        let (orders, answers) = (process.stdin.take(), process.stdout.take());
        let answers = BufReader::new(answers.expect("the guard was started with a pipe"));
        Ok(Self { process, orders, answers })
    }

    /// Has the guard start a PostgreSQL in `folder`; returns its address.
    pub(crate) fn start_postgres(&mut self, folder: &Path) -> Outcome<String> {
        self.order(&format!("postgres {}", folder.display()))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context(|| "read the guard's answer".to_owned())?;
        match answer.trim_end().split_once(' ') {
            Some(("ready", url)) => Ok(url.to_owned()),
            _ => Err(Failure::new("PostgreSQL did not start; the reason stands above")),
        }
    }

    /// Tells the guard of a folder to remove when this run ends, after everything that may write there.
    pub(crate) fn remove(&mut self, folder: &Path) -> Outcome<()> {
        self.order(&format!("remove {}", folder.display()))
    }

    /// Tells the guard of a process group to end when this run ends.
    pub(crate) fn watch(&mut self, group: u32) -> Outcome<()> {
        self.order(&format!("watch {group}"))
    }

    /// Tells the guard that a process group is gone (its number may be given to somebody else).
    pub(crate) fn forget(&mut self, group: u32) -> Outcome<()> {
        self.order(&format!("forget {group}"))
    }

    /// Has the guard stop everything and waits until it is gone.
    pub(crate) fn finish(&mut self) -> Outcome<()> {
        if self.orders.is_some() {
            self.order("finish")?;
            self.orders = None;
        }
        let status = self.process.wait().context(|| "wait for the guard".to_owned())?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new("the guard could not stop everything this run started; what it left stands above"))
    }

    fn order(&mut self, line: &str) -> Outcome<()> {
        let orders = self.orders.as_mut().ok_or_else(|| Failure::new("the guard is gone already"))?;
        writeln!(orders, "{line}").context(|| "reach the guard of this run; was it killed?".to_owned())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(failure) = self.finish() {
            eprintln!("xtask: {failure}");
        }
    }
}

/// The guard's own side: carries out orders until the pipe closes, then ends what is left.
pub(crate) fn run(marker: &str) -> Outcome<()> {
    let mut wanted = Wanted { marker: Some(marker.to_owned()), ..Wanted::default() };
    let mut server = None;
    let mut folders = Vec::new();
    let mut is_expected_to_end = false;
    for line in std::io::stdin().lines() {
        let line = line.context(|| "read an order".to_owned())?;
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("watch", group) => wanted.groups.extend(group.parse::<u32>()),
            ("forget", group) => wanted.groups.retain(|known| group != known.to_string()),
            ("remove", folder) => folders.push(PathBuf::from(folder)),
            ("postgres", folder) => server = start_postgres(Path::new(folder)),
            ("finish", _) => is_expected_to_end = true,
            _ => return Err(Failure::new(format!("the guard does not know the order `{line}`"))),
        }
    }
    if !is_expected_to_end {
        say("the run was cut off: stopping what it started");
    }
    wanted.end();
    let stopped = server.map_or(Ok(()), Server::stop);
    let removed = folders.iter().try_for_each(|folder| postgres::remove(folder));
    let left = wanted.alive();
    if left.is_empty() {
        return stopped.and(removed);
    }
    let left: Vec<String> = left.iter().map(ToString::to_string).collect();
    Err(Failure::new(format!("these would not end, end them by hand:\n  {}", left.join("\n  "))))
}

fn start_postgres(folder: &Path) -> Option<Server> {
    match Server::start(folder) {
        Ok(server) => {
            println!("ready {}", server.url());
            Some(server)
        }
        Err(failure) => {
            say(&failure.to_string());
            println!("failed");
            None
        }
    }
}

/// Like eprintln!, but the terminal may be gone.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "xtask: {text}");
}
