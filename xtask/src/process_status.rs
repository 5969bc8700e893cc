//! What /proc/*/stat tells of a process.

use std::fs;

use crate::failure::{Context, Failure, Outcome};

/// The part of /proc/*/stat that this tool needs; times in clock ticks.
#[derive(Debug, PartialEq)]
pub(crate) struct ProcessStatus {
    pub(crate) is_dead: bool,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    /// User and system time of all its threads.
    pub(crate) own: u64,
    /// The same of the processes that it started and waited for.
    pub(crate) waited_for: u64,
}

impl ProcessStatus {
    /// Of a process that exists.
    pub(crate) fn of(process: u32) -> Outcome<Self> {
        let path = format!("/proc/{process}/stat");
        let text = fs::read_to_string(&path).context(|| format!("read {path}; has the program ended?"))?;
        Self::parse(&text).ok_or_else(|| Failure::new(format!("{path} is not understood")))
    }

    /// Reads "id (name) state parent group …"; the name may contain anything, so the last `)` counts.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            waited_for: ticks(13)? + ticks(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_behind_a_name_with_brackets() {
        let text = "42 (a ) b) S 7 41 42 0 -1 4194560 9 8 0 0 150 50 30 20 20 0 3 0 1 2 3";
        let expected = ProcessStatus { is_dead: false, parent: 7, group: 41, own: 200, waited_for: 50 };
        assert_eq!(ProcessStatus::parse(text), Some(expected));
        assert_eq!(ProcessStatus::parse(&text.replace(") S", ") Z")).map(|status| status.is_dead), Some(true));
        assert_eq!(ProcessStatus::parse("42 (a) S 7"), None);
        assert!(ProcessStatus::of(std::process::id()).unwrap().parent > 0);
    }
}
