#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod watch;

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use zeroize::Zeroizing;

pub use watch::{LOOK_EVERY, watch, watch_until};

/// Largest file that [`read`] reads, in bytes: secrets, certificates and keys are far smaller.
const MAX_BYTES: u64 = 1024 * 1024;

/// Why a file or folder that holds a secret is refused. The message says what to do; it never quotes the content.
#[derive(Debug, thiserror::Error)]
pub enum PrivacyError {
    /// The file system refused.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Other users than the owner may open it.
    #[error("{path} is open to other users (mode {mode:03o}): it must be private, run `chmod {wanted:o} {path}`")]
    TooOpen {
        /// Which file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// What they should be.
        wanted: u32,
    },
    /// It belongs to another user, who could read and replace it.
    #[error(
        "{path} belongs to user {owner}, and this program runs as user {user}: run `chown {user} {path}`, or run the program as user {owner}"
    )]
    Foreign {
        /// Which file or folder.
        path: PathBuf,
        /// The numeric id of its owner.
        owner: u32,
        /// The numeric id of the user that the program runs as.
        user: u32,
    },
}

impl PrivacyError {
    /// Whether there is no such file or folder.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Checks mode and owner of a file or folder.
///
/// # Errors
/// [`PrivacyError`].
pub fn check(path: &Path) -> Result<(), PrivacyError> {
    check_metadata(path, &fs::metadata(path).map_err(unreadable(path))?)
}

/// Checks mode and owner of what `path` names, by the metadata of the open file.
///
/// # Errors
/// [`PrivacyError::TooOpen`], [`PrivacyError::Foreign`].
pub fn check_metadata(path: &Path, metadata: &Metadata) -> Result<(), PrivacyError> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner != user && owner != 0 {
        return Err(PrivacyError::Foreign { path: path.to_owned(), owner, user });
    }
    match metadata.permissions().mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => {
            let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
            Err(PrivacyError::TooOpen { path: path.to_owned(), mode, wanted })
        }
    }
}

/// Reads a private text file of at most 1 MiB. The text is wiped when it is dropped.
///
/// # Errors
/// [`PrivacyError`], also when the file is no UTF-8 text or too long.
pub fn read(path: &Path) -> Result<Zeroizing<String>, PrivacyError> {
    let file = File::open(path).map_err(unreadable(path))?;
    check_metadata(path, &file.metadata().map_err(unreadable(path))?)?;
    let mut text = Zeroizing::new(String::new());
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable(path))?;
    if MAX_BYTES < u64::try_from(read).unwrap_or(u64::MAX) {
        return Err(unreadable(path)(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 1 MiB")));
    }
    Ok(text)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> PrivacyError {
    move |source| PrivacyError::Read { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn with_mode(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "hush").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn what_others_may_open_is_refused_with_the_command_that_mends_it() {
        for mode in [0o640, 0o604, 0o660, 0o644, 0o610] {
            let (_folder, path) = with_mode(mode);
            let message = read(&path).unwrap_err().to_string();
            let command = format!("chmod 600 {}", path.display());
            assert!(message.contains(&format!("mode {mode:03o}")) && message.contains(&command), "{message}");
            assert!(!message.contains("hush"), "{message}");
        }
        let (folder, path) = with_mode(0o600);
        assert_eq!(read(&path).unwrap().as_str(), "hush");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(check(folder.path()).is_ok());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o750)).unwrap();
        let message = check(folder.path()).unwrap_err().to_string();
        assert!(message.contains("chmod 700"), "{message}");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        // Only root may give a file away.
        let (_folder, path) = with_mode(0o600);
        if !geteuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let message = check(&path).unwrap_err().to_string();
        assert!(message.contains("belongs to user 12345") && message.contains("chown 0"), "{message}");
    }

    #[test]
    fn what_is_missing_or_too_long_is_named() {
        let (folder, path) = with_mode(0o600);
        assert!(check(&folder.path().join("gone")).unwrap_err().is_missing());
        fs::write(&path, vec![b'a'; 1024 * 1024 + 1]).unwrap();
        let message = read(&path).unwrap_err();
        assert!(!message.is_missing() && message.to_string().contains("longer than 1 MiB"), "{message}");
    }
}
