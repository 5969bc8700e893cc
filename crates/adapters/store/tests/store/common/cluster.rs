use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, QueryableByName};
use tempfile::TempDir;

/// How often a port that looked free may turn out to be taken.
const START_TRIES: usize = 3;

#[derive(QueryableByName)]
struct Shown {
    #[diesel(sql_type = Text)]
    programs: String,
    #[diesel(sql_type = Text)]
    data: String,
}

/// A server of the test's own, which can be stopped, copied and started. Made with the programs and under the account of the server that the
/// environment names, beside whose data it lies; it is stopped and removed with this.
pub(crate) struct Cluster {
    programs: PathBuf,
    account: (u32, u32),
    folder: TempDir,
    port: u16,
}

impl Cluster {
    /// Creates one and starts it.
    pub(crate) fn start(server: &str) -> Self {
        let shown: Shown = diesel::sql_query(
            "SELECT (SELECT setting FROM pg_config WHERE name = 'BINDIR') AS programs, current_setting('data_directory') AS data",
        )
        .get_result(&mut PgConnection::establish(server).unwrap())
        .unwrap();
        let data = Path::new(&shown.data);
        let owner = data.metadata().expect("the server of `cargo xtask pg start`, whose folder is on this machine");
        let folder = TempDir::new_in(data.parent().unwrap()).unwrap();
        let account = (owner.uid(), owner.gid());
        chown(folder.path(), Some(account.0), Some(account.1)).unwrap();
        let mut cluster = Self { programs: PathBuf::from(shown.programs), account, folder, port: 0 };
        let initdb = cluster.programs.join("initdb");
        cluster.run(initdb, &["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", "-D", "data"]);
        cluster.go_on();
        cluster
    }

    /// The address of its database `postgres`.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it, cutting its connections.
    pub(crate) fn stop(&self) {
        self.control(&["stop", "-m", "fast"]);
    }

    /// Starts it, where [`Cluster::url`] says from then on.
    pub(crate) fn go_on(&mut self) {
        for left in (0..START_TRIES).rev() {
            self.port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
            let options =
                format!("-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off", self.port);
            if self.try_control(&["start", "-l", "log", "-o", &options]) {
                return;
            }
            assert!(
                0 < left,
                "it does not start: {}",
                std::fs::read_to_string(self.folder.path().join("log")).unwrap()
            );
        }
    }

    /// Copies the folder of its data, as it is; there is one copy at a time.
    pub(crate) fn back_up(&self) {
        self.run("cp", &["-a", "data", "copy"]);
    }

    /// Puts the copy in the place of its data.
    pub(crate) fn put_back(&self) {
        self.run("rm", &["-r", "data"]);
        self.run("mv", &["copy", "data"]);
    }

    fn control(&self, what: &[&str]) {
        assert!(self.try_control(what), "{what:?}");
    }

    fn try_control(&self, what: &[&str]) -> bool {
        let mut control = self.command(self.programs.join("pg_ctl"));
        control.args(["-D", "data", "-w", "-s"]).args(what).status().unwrap().success()
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.uid(self.account.0).gid(self.account.1).current_dir(self.folder.path());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing of it is needed any more; it may have been stopped already.
        self.try_control(&["stop", "-m", "immediate"]);
    }
}
