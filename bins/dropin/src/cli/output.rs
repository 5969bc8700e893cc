//! How a command says something.

use std::borrow::Cow;
use std::io::{self, Write};

use clap::Args;
use dropin_boot::Failure;

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn say(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{}", visible(text))?)
}

/// What is stored may be of before hidden characters were refused: they are written as JSON escapes, so that no terminal acts on them and JSON
/// stays what it is. Line ends and tabs are ours.
fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| dropin_validation::is_hidden(c) && !matches!(c, '\n' | '\t');
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

pub(super) fn say_lines(lines: impl Iterator<Item = String>, none: &str) -> Result<(), Failure> {
    let lines: Vec<_> = lines.collect();
    say(&if lines.is_empty() { none.to_owned() } else { lines.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_is_hidden_is_written_as_an_escape() {
        assert_eq!(
            visible("Reference     a\u{202e}b\u{1b}[2J\u{e0041}\n\tc"),
            "Reference     a\\u202eb\\u001b[2J\\udb40\\udc41\n\tc"
        );
        let json = serde_json::json!({"MerchantReference": "a\u{202e}b"}).to_string();
        let shown = visible(&json);
        assert!(shown.is_ascii());
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).expect("JSON still")["MerchantReference"],
            "a\u{202e}b"
        );
    }
}
