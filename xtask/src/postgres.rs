//! A throw-away PostgreSQL server: its own folder, its own free port on loopback, gone when stopped.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Subcommand;
use rustix::process::geteuid;

use crate::command::{captured, succeeds, workspace_root};
use crate::failure::{Context, Failure, Outcome};
use crate::programs::free_address;

/// The variable through which tests find the server; each test creates databases of its own from it.
pub(crate) const URL_VARIABLE: &str = "DROPIN_TEST_POSTGRES";

/// Longest folder name that still leaves room for a socket's name (the kernel allows 107 bytes in all).
const FOLDER_BYTES_MAX: usize = 80;
/// Times a port that looked free may turn out to be taken by somebody else.
const START_TRIES_MAX: usize = 3;

/// Where Debian keeps the server's programs; they are not on PATH there.
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

#[derive(Debug)]
pub(crate) struct Server {
    programs: PathBuf,
    account: Account,
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Creates a cluster in `folder` (which must not exist yet) and starts it. Ready to be connected to on return.
    pub(crate) fn start(folder: &Path) -> Outcome<Self> {
        let programs = programs()?;
        let account = Account::for_server()?;
        fs::create_dir(folder).context(|| format!("create {}", folder.display()))?;
        account.give(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700)).context(|| "restrict the folder".to_owned())?;
        let mut server = Self { programs, account, folder: folder.to_path_buf(), port: 0 };
        let started = server.create_cluster().and_then(|()| server.start_on_a_free_port());
        if let Err(failure) = started {
            remove(folder)?;
            return Err(failure);
        }
        Ok(server)
    }

    /// Finds the server that an earlier run of this tool left running in `folder`, if it still runs.
    pub(crate) fn running(folder: &Path) -> Outcome<Option<Self>> {
        if !folder.exists() {
            return Ok(None);
        }
        let mut server =
            Self { programs: programs()?, account: Account::for_server()?, folder: folder.to_path_buf(), port: 0 };
        if !succeeds(server.control().arg("status")) {
            return Ok(None);
        }
        // Line 4 of postmaster.pid is the port.
        let record = server.data().join("postmaster.pid");
        let text = fs::read_to_string(&record).context(|| format!("read {}", record.display()))?;
        let port = text.lines().nth(3).and_then(|line| line.trim().parse().ok());
        server.port = port.ok_or_else(|| Failure::new(format!("{} names no port", record.display())))?;
        Ok(Some(server))
    }

    /// The address of its database `postgres`, where every local user is the superuser.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops the server, cutting open connections, and removes its folder.
    pub(crate) fn stop(self) -> Outcome<()> {
        captured(self.control().args(["stop", "-m", "fast", "-w", "-t", "30"])).or_else(|_| {
            // It did not finish in time: leave nothing behind all the same.
            captured(self.control().args(["stop", "-m", "immediate", "-w", "-t", "30"]))
        })?;
        remove(&self.folder)
    }

    fn create_cluster(&self) -> Outcome<()> {
        let mut initdb = self.account.command(self.programs.join("initdb"));
        initdb.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-instructions",
        ]);
        captured(initdb.arg("-D").arg(self.data()).current_dir("/"))?;
        let path = self.data().join("postgresql.conf");
        let defaults = fs::read_to_string(&path).context(|| format!("read {}", path.display()))?;
        // fsync stays on: a store that is only right without it is not right.
        let ours = format!(
            "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nmax_connections = 1000\nlc_messages = 'C'\n",
            self.folder.display()
        );
        fs::write(&path, defaults + &ours).context(|| format!("write {}", path.display()))
    }

    fn start_on_a_free_port(&mut self) -> Outcome<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.port = free_address()?.port();
            let mut start = self.control();
            start.args(["start", "-w", "-t", "60", "-o"]).arg(format!("-p {}", self.port)).arg("-l").arg(self.log());
            match captured(&mut start) {
                Ok(_) => return Ok(()),
                Err(failure) if tries == START_TRIES_MAX => {
                    let log = fs::read_to_string(self.log()).unwrap_or_default();
                    return Err(Failure::new(format!("{failure}\nThe server's log says:\n{log}")));
                }
                Err(_) => {}
            }
        }
    }

    /// `pg_ctl` on this cluster. Started from /, since the server's account may not enter our folder.
    fn control(&self) -> Command {
        let mut control = self.account.command(self.programs.join("pg_ctl"));
        control.arg("-D").arg(self.data()).current_dir("/");
        control
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}

/// A folder for a server: `wished` when the server's account can reach it and its name is short, else one in the
/// system's folder for temporary files (a checkout under /root is closed to the account `postgres`).
pub(crate) fn reachable_folder(wished: &Path) -> Outcome<PathBuf> {
    let parent = wished.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).context(|| format!("create {}", parent.display()))?;
    let account = Account::for_server()?;
    let short = wished.as_os_str().len() <= FOLDER_BYTES_MAX;
    if short && succeeds(account.command("test").arg("-x").arg(parent).current_dir("/")) {
        return Ok(wished.to_path_buf());
    }
    // The same checkout gets the same name again, so that a later run finds its server.
    let name: String = wished.display().to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let tail = &name[name.len().saturating_sub(40)..];
    Ok(std::env::temp_dir().join(format!("dropin-{tail}")))
}

/// Stops the server that runs in `folder`, in one of `pg_ctl`'s modes, and starts it again on the same port: `fast` for settings that are read at start,
/// `immediate` as a power cut would.
pub(crate) fn restart(folder: &Path, mode: &str) -> Outcome<()> {
    let server =
        Server::running(folder)?.ok_or_else(|| Failure::new(format!("no PostgreSQL runs in {}", folder.display())))?;
    captured(server.control().args(["restart", "-m", mode, "-w", "-t", "60"]).arg("-l").arg(server.log())).map(drop)
}

/// Removes what a server left that was killed without being stopped. Nothing there is fine.
pub(crate) fn remove(folder: &Path) -> Outcome<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot remove {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Whether the server's programs are on this machine.
pub(crate) fn is_installed() -> bool {
    programs().is_ok()
}

/// PATH with the folder of the server's programs, which psql and pg_dump are in too, before everything else.
pub(crate) fn first_on_path() -> Outcome<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(programs()?).chain(std::env::split_paths(&path)))
        .context(|| "put PostgreSQL's programs on PATH".to_owned())
}

/// The folder with initdb, pg_ctl and postgres: the newest of Debian's versions, else what PATH names.
fn programs() -> Outcome<PathBuf> {
    let versions = fs::read_dir(DEBIAN_VERSIONS).into_iter().flatten().flatten();
    let of_debian = versions.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin")))
    });
    let complete = |folder: &Path| ["initdb", "pg_ctl", "postgres"].iter().all(|name| folder.join(name).is_file());
    if let Some((_, folder)) = of_debian.filter(|(_, folder)| complete(folder)).max() {
        return Ok(folder);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| complete(folder)).ok_or_else(|| {
        Failure::new(
            "no PostgreSQL server on this machine: `apt-get install postgresql` or `cargo xtask test --only install`",
        )
    })
}

/// Which account runs the server: initdb and postgres refuse to run as root. A user and its main group, by number. `None` inside means "whoever runs this tool".
#[derive(Clone, Copy, Debug)]
struct Account(Option<(u32, u32)>);

impl Account {
    /// The account for the database server: ourselves, or `postgres` (else `nobody`) when run by root.
    fn for_server() -> Outcome<Self> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        let accounts = fs::read_to_string("/etc/passwd").context(|| "read /etc/passwd".to_owned())?;
        let ids = ["postgres", "nobody"].iter().find_map(|name| ids_of(&accounts, name));
        ids.map(|ids| Self(Some(ids))).ok_or_else(|| {
            Failure::new(
                "root may not run PostgreSQL and /etc/passwd has neither `postgres` nor `nobody`: add one of them",
            )
        })
    }

    /// A command that runs as this account.
    fn command(self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        if let Self(Some((user, group))) = self {
            command.uid(user).gid(group);
        }
        command
    }

    /// Makes this account the owner of a folder or file.
    fn give(self, path: &Path) -> Outcome<()> {
        match self {
            Self(None) => Ok(()),
            Self(Some((user, group))) => {
                chown(path, Some(user), Some(group)).context(|| format!("give {} to user {user}", path.display()))
            }
        }
    }
}

/// User and group number of `name` in the text of /etc/passwd.
fn ids_of(accounts: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> =
        accounts.lines().map(|line| line.split(':').collect()).find(|f: &Vec<&str>| f[0] == name)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// What `cargo xtask pg` does, for somebody who runs single tests by hand.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Starts it, or finds it running; prints the line to paste into your shell
    Start,
    /// Stops it and removes its data
    Stop,
}

pub(crate) fn task(task: &Task) -> Outcome<()> {
    let folder = reachable_folder(&workspace_root().join("target/xtask-pg"))?;
    match (task, Server::running(&folder)?) {
        (Task::Start, running) => {
            let server = running.map_or_else(|| remove(&folder).and_then(|()| Server::start(&folder)), Ok)?;
            println!("export {URL_VARIABLE}={}", server.url());
            return Ok(());
        }
        (Task::Stop, Some(server)) => server.stop()?,
        (Task::Stop, None) => remove(&folder)?,
    }
    eprintln!("no PostgreSQL of `cargo xtask pg` is running any more, its data is removed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_numbers_of_an_account_by_its_whole_name() {
        let accounts = "root:x:0:0::/root:/bin/sh\npostgresql:x:9:9::/:/bin/sh\npostgres:x:101:104:,,,:/:/bin/sh\n";
        assert_eq!(ids_of(accounts, "postgres"), Some((101, 104)));
        assert_eq!(ids_of(accounts, "nobody"), None);
    }
}
