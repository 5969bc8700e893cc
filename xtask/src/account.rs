//! Which account runs the database server: initdb and postgres refuse to run as root.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

use crate::failure::{Context, Failure, Outcome};

/// A user and its main group, by number. `None` inside means "whoever runs this tool".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// The account for the database server: ourselves, or `postgres` (else `nobody`) when run by root.
    pub(crate) fn for_server() -> Outcome<Self> {
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
    pub(crate) fn command(self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        if let Self(Some((user, group))) = self {
            command.uid(user).gid(group);
        }
        command
    }

    /// Makes this account the owner of a folder or file.
    pub(crate) fn give(self, path: &Path) -> Outcome<()> {
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
