//! Small private files beside the database.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use dropin_boot::Failure;

/// Makes sure that the data folder exists; a new one is private.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        format!("cannot create the data folder {}: {error}; choose another one with --data", path.display()).into()
    })
}

/// Reads a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display()).into()),
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
        for (path, mode) in [(&path, 0o600), (&data, 0o700)] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
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
