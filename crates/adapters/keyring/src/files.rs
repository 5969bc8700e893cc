//! Key files: 0600 in a directory of 0700, written whole or not at all, overwritten before they go.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dropin_ports::KeyringError;
use dropin_private_file::{PrivacyError, check, check_metadata};
use zeroize::Zeroizing;

/// 256 bits of key, wiped when dropped.
pub(crate) type KeyBytes = Zeroizing<[u8; 32]>;

/// Why a key directory cannot be used; says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file system refused.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the program's own user may reach a key.
    #[error(transparent)]
    NotPrivate(#[from] PrivacyError),
    /// A key that live entries need has disappeared.
    #[error(
        "{0} is gone, and cards that wait were sealed with it: put it back; when it is lost for good, restart the program, and those cards have to be typed again"
    )]
    Lost(PathBuf),
    /// The key of card hashes has disappeared.
    #[error(
        "{0} is gone, by which a card that its issuer refused is known again: put it back; when it is lost for good, restart the program, and Sessions that are under way ask the issuer once more"
    )]
    LostHashKey(PathBuf),
    /// A long-lived key that values in the database may need has disappeared.
    #[error(
        "{0} is gone, and the database may hold what was sealed with it: put it back, or restore the key folder from your backup; docs/OPERATIONS.md, \
         \"Keys and backups\", says what to do when it is lost for good"
    )]
    LostRingKey(PathBuf),
    /// A ring has no key, and this is not the place to make one.
    #[error(
        "there is no key in {0}: give the deployment's key folder with --keys or DROPIN_KEYS, or restore it from your backup"
    )]
    NoRingKey(PathBuf),
    /// A long-lived key that is still needed was to be destroyed.
    #[error("{0} is still needed and stays")]
    InUse(PathBuf),
    /// The file holds no key.
    #[error(
        "{0} does not hold a key (44 characters of base64): restore it from your backup; without it what was encrypted under it is lost"
    )]
    Malformed(PathBuf),
    /// Another process has been writing for too long.
    #[error("another process holds {0} for too long: look for one that is stopped or hangs")]
    Busy(PathBuf),
    /// No random bytes.
    #[error("the operating system gives no random bytes")]
    NoRandomness,
}

impl From<KeyFileError> for KeyringError {
    fn from(error: KeyFileError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> KeyFileError + use<'a> {
    move |source| KeyFileError::Io { what, path: path.to_owned(), source }
}

/// 256 fresh random bits.
pub(crate) fn random_key() -> Result<KeyBytes, KeyFileError> {
    let mut key = KeyBytes::default();
    aws_lc_rs::rand::fill(key.as_mut_slice()).map_err(|_unspecified| KeyFileError::NoRandomness)?;
    Ok(key)
}

/// Makes sure that `dir` exists and is private.
pub(crate) fn private_dir(dir: &Path) -> Result<(), KeyFileError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed("create the key directory", dir))?;
    Ok(check(dir)?)
}

/// Whether the key's file is there. One that other users may open is refused.
pub(crate) fn is_private_file(path: &Path) -> Result<bool, KeyFileError> {
    match check(path) {
        Ok(()) => Ok(true),
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads a key; `None` when there is no such file.
pub(crate) fn read_key(path: &Path) -> Result<Option<KeyBytes>, KeyFileError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let metadata = file.metadata().map_err(failed("read", path))?;
    check_metadata(path, &metadata)?;
    let mut text = Zeroizing::new([0_u8; 64]);
    let mut length = 0;
    while length < text.len() {
        match file.read(&mut text[length..]).map_err(failed("read", path))? {
            0 => break,
            read => length += read,
        }
    }
    let mut key = Zeroizing::new([0_u8; 33]);
    let decoded = STANDARD.decode_slice(text[..length].trim_ascii(), key.as_mut_slice());
    match (decoded, key.split_first_chunk::<32>()) {
        (Ok(32), Some((key, _spare))) => Ok(Some(Zeroizing::new(*key))),
        _ => Err(KeyFileError::Malformed(path.to_owned())),
    }
}

/// Writes a key so that it is there whole and safe on the disk, or not at all. Only under the [`DirLock`].
pub(crate) fn publish_key(dir: &Path, name: &str, key: &KeyBytes) -> Result<(), KeyFileError> {
    let (path, temporary) = (dir.join(name), dir.join(format!("{name}.{UNFINISHED}")));
    let mut text = Zeroizing::new([b'\n'; 45]);
    STANDARD.encode_slice(key.as_slice(), text.as_mut_slice()).expect("32 bytes make 44 characters");
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(failed("create", &temporary))?;
    file.write_all(text.as_slice()).and_then(|()| file.sync_all()).map_err(failed("write", &temporary))?;
    fs::rename(&temporary, &path).map_err(failed("publish", &path))?;
    sync_dir(dir)
}

/// Ending of a file that a writer did not finish.
const UNFINISHED: &str = "unfinished";

/// Destroys what writers that crashed left behind. Only under the [`DirLock`].
pub(crate) fn destroy_unfinished(dir: &Path) -> Result<(), KeyFileError> {
    for name in names(dir)?.iter().filter(|name| name.ends_with(UNFINISHED)) {
        destroy(dir, name)?;
    }
    Ok(())
}

/// Overwrites a key file and removes it, as far as the file system lets one.
///
/// It loses its name first, so that nobody takes the zeros for a damaged key; a crash in between leaves work for [`destroy_unfinished`].
pub(crate) fn destroy(dir: &Path, name: &str) -> Result<(), KeyFileError> {
    let path = dir.join(format!("{name}.{UNFINISHED}"));
    fs::rename(dir.join(name), &path).map_err(failed("rename", &path))?;
    let mut file = OpenOptions::new().write(true).open(&path).map_err(failed("open", &path))?;
    let length = file.metadata().map_err(failed("read", &path))?.len();
    let zeros = vec![0; usize::try_from(length).unwrap_or_default()];
    file.write_all(&zeros).and_then(|()| file.sync_all()).map_err(failed("overwrite", &path))?;
    fs::remove_file(&path).map_err(failed("remove", &path))?;
    sync_dir(dir)
}

/// Names in `dir` that are text.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, KeyFileError> {
    let entries = fs::read_dir(dir).map_err(failed("list", dir))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string().ok()));
    names.filter_map(Result::transpose).collect::<io::Result<_>>().map_err(failed("list", dir))
}

fn sync_dir(dir: &Path) -> Result<(), KeyFileError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed("sync", dir))
}

/// The right to write in a key directory: a lock on a file in it, given back when dropped or when the process dies.
pub(crate) struct DirLock {
    /// The lock lives as long as the open file.
    _file: File,
}

impl DirLock {
    /// Takes the lock if nobody has it.
    pub(crate) fn try_acquire(dir: &Path) -> Result<Option<Self>, KeyFileError> {
        let path = dir.join("writer.lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed("lock", &path)(error)),
        }
    }

    /// Takes the lock, waiting for at most `patience`.
    pub(crate) fn acquire(dir: &Path, patience: Duration) -> Result<Self, KeyFileError> {
        let started = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(dir)? {
                return Ok(lock);
            }
            if patience < started.elapsed() {
                return Err(KeyFileError::Busy(dir.join("writer.lock")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
