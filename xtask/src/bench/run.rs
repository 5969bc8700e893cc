//! One run of the bench: the PostgreSQL it has for itself, and the programs and tools it starts. Nothing of it stays behind.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::usage;
use crate::command::{captured, succeeds, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::postgres;
use crate::test::guard::Guard;
use crate::test::processes::MARKER_VARIABLE;

/// How long a program may take to end after it was asked to.
const END: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the parts of a run share.
#[derive(Debug)]
pub(crate) struct Bench {
    guard: Guard,
    marker: String,
    folder: PathBuf,
    postgres_url: String,
    postmaster: u32,
    loads: Cell<u32>,
}

impl Bench {
    /// Starts the guard, and through it a PostgreSQL whose folder holds everything else of the run too.
    pub(crate) fn start() -> Outcome<Self> {
        let marker = format!("bench-{}", std::process::id());
        let mut guard = Guard::start(&marker)?;
        let wished = workspace_root().join(format!("target/xtask-{marker}"));
        let folder = postgres::reachable_folder(&wished)?;
        let postgres_url = guard.start_postgres(&folder)?;
        let postmaster = read_postmaster(&folder)?;
        Ok(Self { guard, marker, folder, postgres_url, postmaster, loads: Cell::new(0) })
    }

    /// A new folder that goes with the run.
    pub(crate) fn new_folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }

    /// Writes a file that goes with the run.
    pub(crate) fn file(&self, name: &str, content: &str) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, content).context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// The address of one of the server's databases.
    pub(crate) fn database_url(&self, name: &str) -> String {
        let server = self.postgres_url.rsplit_once('/').map_or(self.postgres_url.as_str(), |(server, _)| server);
        format!("{server}/{name}")
    }

    /// The main process of PostgreSQL.
    pub(crate) fn postmaster(&self) -> u32 {
        self.postmaster
    }

    /// Has PostgreSQL load a library of its own; restarts it.
    pub(crate) fn load_library(&mut self, name: &str) -> Outcome<()> {
        self.sql("postgres", &format!("ALTER SYSTEM SET shared_preload_libraries = '{name}'"))?;
        postgres::restart(&self.folder)?;
        self.postmaster = read_postmaster(&self.folder)?;
        Ok(())
    }

    /// A name that no load of this run had yet; references and keys begin with it.
    pub(crate) fn next_load(&self) -> String {
        self.loads.set(self.loads.get() + 1);
        format!("{}-{}", self.marker, self.loads.get())
    }

    /// Runs SQL on one of the server's databases; what it answers, unaligned and without heads.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> Outcome<String> {
        let mut psql = self.tool("psql", Duration::from_secs(1800));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]).arg(self.database_url(database));
        captured(&mut psql)
    }

    /// A tool that the guard finds when the run is cut off, and that is ended when it takes too long.
    pub(crate) fn tool(&self, program: &str, most: Duration) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--kill-after=5"]).arg(most.as_secs().to_string()).arg(program);
        command.env(MARKER_VARIABLE, &self.marker).env("LC_ALL", "C").current_dir(&self.folder);
        command
    }

    /// One of our programs in a clean environment; nothing of the developer's shell reaches it.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(built(name));
        command.env_clear().env(MARKER_VARIABLE, &self.marker).current_dir(&self.folder);
        command
    }

    /// Starts a program that stays; what it says goes to a file.
    pub(crate) fn spawn(&mut self, name: &str, command: &mut Command) -> Outcome<Program> {
        let (log, output) = self.log(name)?;
        let errors = output.try_clone().context(|| "share the log".to_owned())?;
        self.watched(name, command.stdin(Stdio::null()).stdout(output).stderr(errors), log)
    }

    /// Starts a program that is told by lines what to do, and answers with lines.
    pub(crate) fn spawn_talking(&mut self, name: &str, command: &mut Command) -> Outcome<Dialogue> {
        let (log, errors) = self.log(name)?;
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut program = self.watched(name, command, log)?;
        let (orders, answers) = (program.child.stdin.take(), program.child.stdout.take());
        let answers = BufReader::new(answers.expect("it was started with a pipe"));
        Ok(Dialogue { program, orders: orders.expect("it was started with a pipe"), answers })
    }

    fn log(&self, name: &str) -> Outcome<(PathBuf, File)> {
        let log = self.folder.join(format!("{name}-{}.log", self.next_load()));
        let file = File::create(&log).context(|| format!("create {}", log.display()))?;
        Ok((log, file))
    }

    fn watched(&mut self, name: &str, command: &mut Command, log: PathBuf) -> Outcome<Program> {
        let child = command.process_group(0).spawn().context(|| format!("start {name}; was it built?"))?;
        self.guard.watch(child.id())?;
        Ok(Program { name: name.to_owned(), child, log })
    }

    /// Asks a program to end and waits for it.
    pub(crate) fn end(&mut self, mut program: Program) -> Outcome<()> {
        let id = program.child.id();
        succeeds(Command::new("sh").args(["-c", "kill -s TERM \"$0\""]).arg(id.to_string()));
        let since = Instant::now();
        while program.is_running()? {
            if since.elapsed() > END {
                program.child.kill().context(|| format!("kill {}", program.name))?;
                program.child.wait().context(|| format!("wait for {}", program.name))?;
                self.guard.forget(id)?;
                return Err(program.failure("it did not end when it was asked to"));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.guard.forget(id)
    }

    /// Stops everything and removes the folder.
    pub(crate) fn finish(mut self) -> Outcome<()> {
        self.guard.finish()
    }
}

/// A program that the run has started.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Program {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn is_running(&mut self) -> Outcome<bool> {
        let ended = self.child.try_wait().context(|| format!("look at {}", self.name))?;
        Ok(ended.is_none())
    }

    /// Waits until the program is as it should be; fails when it ends before.
    pub(crate) fn wait_until(&mut self, what: &str, most: Duration, mut is_so: impl FnMut() -> bool) -> Outcome<()> {
        let since = Instant::now();
        while !is_so() {
            if !self.is_running()? {
                return Err(self.failure("it has ended"));
            }
            if since.elapsed() > most {
                return Err(self.failure(&format!("it was not {what} within {} s", most.as_secs())));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Memory when it has nothing to do: as soon as it stays the same for a second, or after ten.
    pub(crate) fn idle_memory(&self) -> Outcome<f64> {
        let mut before = usage::memory_of(self.id())?.now;
        for _ in 0..10 {
            std::thread::sleep(Duration::from_secs(1));
            let now = usage::memory_of(self.id())?.now;
            if now == before {
                break;
            }
            before = now;
        }
        Ok(before)
    }

    fn failure(&self, why: &str) -> Failure {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        Failure::new(format!("{}: {why}. Its last words:\n{tail}", self.name))
    }
}

/// A program that is told by lines what to do.
#[derive(Debug)]
pub(crate) struct Dialogue {
    pub(crate) program: Program,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Dialogue {
    pub(crate) fn tell(&mut self, line: &str) -> Outcome<()> {
        let told = writeln!(self.orders, "{line}");
        told.map_err(|_gone| self.program.failure("it does not listen any more"))
    }

    /// Waits for a line that begins with `word`; the rest of it.
    pub(crate) fn hear(&mut self, word: &str) -> Outcome<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        let rest = line.trim_end().strip_prefix(word).map(|rest| rest.trim_start().to_owned());
        match (read, rest) {
            (Ok(_), Some(rest)) => Ok(rest),
            _ => Err(self.program.failure(&format!("it said `{}` in place of `{word}`", line.trim_end()))),
        }
    }

    /// Closes the pipe, which ends the program.
    pub(crate) fn end(self, bench: &mut Bench) -> Outcome<()> {
        drop(self.orders);
        bench.end(self.program)
    }
}

/// The number of the server's main process.
fn read_postmaster(folder: &Path) -> Outcome<u32> {
    let record = folder.join("data/postmaster.pid");
    let text = fs::read_to_string(&record).context(|| format!("read {}", record.display()))?;
    let postmaster = text.lines().next().and_then(|line| line.trim().parse().ok());
    postmaster.ok_or_else(|| Failure::new(format!("{} names no process", record.display())))
}

/// An address on this machine that nobody listens on.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context(|| "find a free port".to_owned())?;
    listener.local_addr().context(|| "read the free port".to_owned())
}

/// Where a release build puts a program.
fn built(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from);
    Path::new(&target).join("release").join(name)
}
