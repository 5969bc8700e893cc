//! Tells when files were replaced, changed, or given another mode.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

/// How often a watched file is looked at.
pub const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What differs between a file and its successor; `None` for a file that is not there.
type Stamp = Option<[i64; 6]>;

fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    let number = |value: u64| value.cast_signed();
    Some([number(found.dev()), number(found.ino()), number(found.size()), found.mtime(), found.mtime_nsec(), {
        // Changes with mode and owner too, so that a file that was refused is read again once it was mended.
        found.ctime().wrapping_mul(1_000_000_000).wrapping_add(found.ctime_nsec())
    }])
}

/// Calls `changed` with the owner, on a thread of its own, each time one of `paths` has changed since the last look; ends when the owner is gone. Changes
/// between two looks are told once. What stands behind a symbolic link is watched, so that a link that is switched counts as a change.
///
/// # Errors
/// The system gives no thread.
pub fn watch<T: Send + Sync + 'static>(
    name: &str,
    paths: Vec<PathBuf>,
    owner: &Arc<T>,
    mut changed: impl FnMut(&T) + Send + 'static,
) -> io::Result<()> {
    watch_until(name, paths, owner, move |owner| {
        changed(owner);
        true
    })
}

/// The same, where `changed` says whether it is done; it is called again with each look until it is.
///
/// # Errors
/// The system gives no thread.
pub fn watch_until<T: Send + Sync + 'static>(
    name: &str,
    paths: Vec<PathBuf>,
    owner: &Arc<T>,
    mut changed: impl FnMut(&T) -> bool + Send + 'static,
) -> io::Result<()> {
    let (look, owner) =
        (|paths: &[PathBuf]| paths.iter().map(|path| stamp(path)).collect::<Vec<_>>(), Arc::downgrade(owner));
    let (mut seen, mut is_done) = (look(&paths), true);
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        loop {
            thread::sleep(LOOK_EVERY);
            let Some(owner) = owner.upgrade() else { return };
            let found = look(&paths);
            if found != seen || !is_done {
                seen = found;
                is_done = changed(&owner);
            }
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;

    #[test]
    fn a_new_file_other_content_and_another_mode_are_changes_and_nothing_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert_eq!(stamp(&path), None);
        let mut seen = vec![stamp(&path)];
        let mut note = |what: &str| {
            let found = stamp(&path);
            assert!(!seen.contains(&found), "{what}");
            assert_eq!(found, stamp(&path), "{what}");
            seen.push(found);
        };
        fs::write(&path, "a").unwrap();
        note("a file");
        fs::write(&path, "ab").unwrap();
        note("other content");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        note("another mode");
        let next = folder.path().join("next");
        fs::write(&next, "ab").unwrap();
        fs::rename(&next, &path).unwrap();
        note("another file in its place");
    }

    #[test]
    fn the_watcher_is_told_once_of_each_change_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let (told, hears) = channel();
        let owner = Arc::new(told);
        watch("test", vec![path.clone()], &owner, |told| {
            let _gone = told.send(());
        })
        .unwrap();
        fs::write(&path, "a").unwrap();
        hears.recv_timeout(10 * LOOK_EVERY).unwrap();
        assert!(hears.recv_timeout(2 * LOOK_EVERY).is_err(), "nothing has changed");
        fs::remove_file(&path).unwrap();
        hears.recv_timeout(10 * LOOK_EVERY).unwrap();
        drop(owner);
        assert_eq!(hears.recv_timeout(10 * LOOK_EVERY), Err(RecvTimeoutError::Disconnected), "the thread has ended");
    }
}
