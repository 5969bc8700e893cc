//! Small private files beside the database.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use dropin_boot::Failure;
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::process::geteuid;

/// Makes sure that the data folder exists; a new one is private.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        format!("cannot create the data folder {}: {error}; choose another one with --data", path.display()).into()
    })
}

/// Refuses a data folder in which this program cannot write.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::access(path, wanted).map_err(|error| unusable(path, error))
}

/// Says whose folder it is, and what to do.
fn unusable(path: &Path, error: Errno) -> Failure {
    let (folder, user) = (path.display(), geteuid().as_raw());
    match fs::metadata(path).map(|metadata| metadata.uid()) {
        Ok(owner) if owner != user => format!(
            "cannot use the data folder {folder}: it belongs to user {owner}, and this program runs as user {user}: run the program as user {owner}, \
             run `chown -R {user} {folder}`, or choose another folder with --data"
        ),
        _ => format!("cannot use the data folder {folder}: {error}; run `chmod 700 {folder}`, or choose another one with --data"),
    }
    .into()
}

/// Reads a file that only this user can read; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match dropin_private_file::read(path) {
        Ok(text) => Ok(Some(text.as_str().to_owned())),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes a file that only this user can read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let unfinished = path.with_extension("unfinished");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_written_is_private_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        make_folder(&data).unwrap();
        let path = data.join("secret.json");
        assert_eq!(read(&path).unwrap(), None);
        for text in ["one", "two"] {
            write_private(&path, text).unwrap();
            assert_eq!(read(&path).unwrap().as_deref(), Some(text));
        }
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        for (path, mode) in [(&path, 0o600), (&data, 0o700)] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn a_folder_of_another_user_is_named_with_both_and_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        make_folder(folder.path()).unwrap();
        check_writable(folder.path()).unwrap();
        let own = unusable(folder.path(), Errno::ACCESS).to_string();
        assert!(own.contains("chmod 700") && own.contains("--data"), "{own}");
        // Every machine has it, and no program runs as its owner but root's.
        let root = unusable(Path::new("/"), Errno::ACCESS).to_string();
        let (words, advice) = match geteuid().as_raw() {
            0 => ("cannot use the data folder /", "chmod 700"),
            _ => ("it belongs to user 0", "chown -R"),
        };
        assert!(root.contains(words) && root.contains(advice) && root.contains("--data"), "{root}");
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let message = make_folder(&file.join("data")).unwrap_err().to_string();
        assert!(message.contains("--data"), "{message}");
    }
}
