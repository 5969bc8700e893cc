//! What tests that failed have said, so that a run can say it once more at its very end: thousands of lines of other tests come after it, and whoever
//! keeps the log of a run keeps its end.

use std::io::{self, BufRead, Write};

/// Of each test: the panic comes first, and what its programs logged may be long.
const MAX_LINES_PER_TEST: usize = 60;
/// Of all tests together.
const MAX_LINES: usize = 400;
/// Of one line: an assertion may show two whole documents.
const MAX_LINE_CHARS: usize = 1_000;

/// Passes on line by line what a test program prints, and gives back what the failed tests said.
pub(super) fn pass_on(mut from: impl BufRead, mut to: impl Write) -> io::Result<String> {
    let mut kept = Kept::default();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? != 0 {
        to.write_all(&line)?;
        kept.see(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    to.flush()?;
    Ok(kept.words())
}

#[derive(Debug, Default)]
struct Kept {
    lines: Vec<String>,
    /// Between the first "failures:" and the result of the test program.
    is_inside: bool,
    /// How many lines the test at hand has said.
    of_test: usize,
    left_out: usize,
}

impl Kept {
    fn see(&mut self, line: &str) {
        if line.starts_with("test result: ") {
            self.is_inside = false;
        } else if line == "failures:" {
            // It comes before what they said, and before their names, which are kept as well.
            self.is_inside = true;
            self.of_test = 0;
        } else if self.is_inside {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &str) {
        let is_heading = line.starts_with("---- ") && line.ends_with(" ----");
        self.of_test = if is_heading { 0 } else { self.of_test + 1 };
        if self.of_test <= MAX_LINES_PER_TEST && self.lines.len() < MAX_LINES {
            let cut = line.char_indices().nth(MAX_LINE_CHARS).map(|(end, _)| format!("{} […]", &line[..end]));
            self.lines.push(cut.unwrap_or_else(|| line.to_owned()));
        } else {
            self.left_out += 1;
        }
    }

    fn words(self) -> String {
        let mut words = self.lines.join("\n").trim().to_owned();
        if self.left_out != 0 {
            words += &format!("\n\n{} more lines stand above", self.left_out);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(printed: &str) -> String {
        let mut passed_on = Vec::new();
        let kept = pass_on(printed.as_bytes(), &mut passed_on).unwrap();
        assert_eq!(passed_on, printed.as_bytes(), "everything is passed on as it is");
        kept
    }

    const PRINTED: &str = "\nrunning 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout ----\n\n\
        thread 'b::c' panicked at tests/e2e/b.rs:1:2:\nfailures:\nexpected 1\n\n\nfailures:\n    b::c\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";

    #[test]
    fn what_a_failed_test_said_is_kept_and_nothing_else() {
        let of_passing = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n";
        let said = "---- b::c stdout ----\n\nthread 'b::c' panicked at tests/e2e/b.rs:1:2:\nexpected 1\n\n\n    b::c";
        assert_eq!(kept(&format!("{of_passing}{PRINTED}{of_passing}")), said);
        assert_eq!(kept(of_passing), "");
    }

    #[test]
    fn a_test_that_said_much_leaves_room_for_the_next() {
        let (long, wide) = ("a log line\n".repeat(MAX_LINES), "é".repeat(2 * MAX_LINE_CHARS));
        let printed =
            format!("failures:\n---- a stdout ----\n{long}---- b stdout ----\nwhy\n{wide}\nfailures:\n    a\n");
        let kept = kept(&printed);
        assert!(kept.contains(&format!("\n---- b stdout ----\nwhy\n{} […]\n", "é".repeat(MAX_LINE_CHARS))), "{kept}");
        assert!(kept.ends_with(&format!("\n\n{} more lines stand above", MAX_LINES - MAX_LINES_PER_TEST)), "{kept}");
    }
}
