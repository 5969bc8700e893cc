//! The statements that stand in files of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file with a statement.
pub(crate) struct SqlFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// All of them that a database runs: `name.sql`, which is for both, and `name.<database>.sql`.
pub(crate) fn of(database: &str) -> Vec<SqlFile> {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    files.retain(|file| {
        let name = file.path.file_name().unwrap().to_str().unwrap();
        match *name.split('.').collect::<Vec<_>>() {
            [_, "sql"] => true,
            [_, of, "sql"] => {
                assert!(["postgres", "sqlite"].contains(&of), "{name}: a statement is for postgres, sqlite or both");
                of == database
            }
            _ => panic!("{name}: a statement is called name.sql, name.postgres.sql or name.sqlite.sql"),
        }
    });
    assert!(!files.is_empty());
    files
}

fn collect(folder: &Path, files: &mut Vec<SqlFile>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(SqlFile { text: fs::read_to_string(&path).unwrap(), path });
        }
    }
}

impl SqlFile {
    /// Its comments say what it does and what each parameter is: `$3 limit` alone, or `$1 to $9` together.
    pub(crate) fn is_explained(&self) {
        let (comments, statement): (Vec<_>, Vec<_>) = self.text.lines().partition(|line| line.starts_with("--"));
        let path = self.path.display();
        assert!(self.text.starts_with("-- ") && !comments[0].starts_with("-- $"), "{path} begins with what it does");
        let words: Vec<_> = comments.iter().flat_map(|line| line.split([' ', ',', ';', ':'])).collect();
        let number = |word: &str| word.strip_prefix('$')?.parse::<usize>().ok();
        let mut explained: BTreeSet<_> = words.iter().filter_map(|word| number(word)).collect();
        for range in words.windows(3).filter(|words| words[1] == "to") {
            if let (Some(first), Some(last)) = (number(range[0]), number(range[2])) {
                explained.extend(first..=last);
            }
        }
        let statement = statement.join("\n");
        let used: BTreeSet<usize> = statement
            .split('$')
            .skip(1)
            .filter_map(|rest| rest.split(|next: char| !next.is_ascii_digit()).next()?.parse().ok())
            .collect();
        assert_eq!(explained, used, "{path}: the parameters that are explained, and those that are used");
    }
}
