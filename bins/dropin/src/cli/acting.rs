//! Who runs a command, for the audit log.

use std::fs;
use std::os::unix::fs::MetadataExt;

use dropin_boot::{Failure, SystemClock, SystemIds};
use dropin_ports::{Acting, Actor};
use dropin_usecases::audit_log::AuditWriter;
use dropin_validation::Text;
use std::sync::Arc;

use super::Cli;

/// Who acts by this command: the OS user, as the system knows it and not as the environment says, and why.
pub(crate) fn acting(cli: &Cli) -> Result<Acting, Failure> {
    let note = cli.note.as_deref().map(|note| match Text::parse("--note", note) {
        Ok(_) if Acting::MAX_NOTE_CHARACTERS < note.chars().count() => {
            Err(format!("--note must be at most {} characters long", Acting::MAX_NOTE_CHARACTERS))
        }
        Ok(text) => Ok(text.into_string()),
        Err(violation) => Err(format!("--note {}", violation.message)),
    });
    Ok(Acting { actor: Actor::CommandLine(os_user()), address: None, note: note.transpose()? })
}

/// Makes entries of the audit log for this command.
pub(super) fn writer(cli: &Cli) -> Result<AuditWriter, Failure> {
    Ok(AuditWriter { by: acting(cli)?, clock: Arc::new(SystemClock), ids: Arc::new(SystemIds) })
}

/// The name of the OS user, or its number where it has none.
fn os_user() -> String {
    let Ok(process) = fs::metadata("/proc/self") else {
        // Without that file system only the environment tells.
        return std::env::var("USER").unwrap_or_else(|_unset| "unknown".to_owned());
    };
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(process.uid(), &users).unwrap_or_else(|| format!("uid {}", process.uid()))
}

fn name_of(uid: u32, users: &str) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nada:x:1000:1000::/home/ada:/bin/sh\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1000, users).as_deref(), Some("ada"));
        assert_eq!(name_of(7, users), None);
    }
}
