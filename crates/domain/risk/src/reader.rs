//! Reads the part of TOML that rules are written in: sections, bare names, whole numbers, texts without escapes, and lists. Every mistake is noted with its
//! line and column, and reading goes on behind it.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::Chars;

use crate::mistake::{Mistakes, Position};

/// Most bytes of a file of rules.
pub(crate) const MAX_FILE_BYTES: usize = 256 * 1024;

/// `[section]` and a `name = value` below it.
pub(crate) struct Entry {
    pub(crate) section: String,
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// A value and where it begins.
pub(crate) struct Value {
    pub(crate) at: Position,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Number(i64),
    Text(String),
    List(Vec<Value>),
}

/// The entries of `text` in their order; what is wrong is noted in `mistakes`, with what `check_section` has against the name of a section.
pub(crate) fn read(
    text: &str,
    check_section: impl Fn(&str) -> Result<(), String>,
    mistakes: &mut Mistakes,
) -> Vec<Entry> {
    if MAX_FILE_BYTES < text.len() {
        mistakes.add(Position::START, "the file is longer than 256 KiB: shorten its lists");
        return Vec::new();
    }
    if let Some(at) = control_character(text) {
        mistakes.add(at, "control characters do not belong into a file of rules: write it as plain text");
        return Vec::new();
    }
    let mut reader = Reader { rest: text.chars().peekable(), at: Position::START, begins_line: true };
    let (mut entries, mut section, mut seen) = (Vec::new(), None, BTreeSet::new());
    loop {
        reader.skip_empty_lines();
        let at = reader.at;
        let line = match reader.rest.peek() {
            None => return entries,
            Some('[') => reader.section().map(|name| {
                if !seen.insert((name.clone(), None)) {
                    mistakes.add(at, "this section stands here a second time: write its entries below the first");
                }
                if let Err(what) = check_section(&name) {
                    mistakes.add(at, what);
                }
                section = Some(name);
            }),
            Some(_) => reader.entry().map(|(name, value)| match &section {
                None => mistakes
                    .add(at, "stands before the first section: write [weights], or what it belongs to, above it"),
                Some(section) if !seen.insert((section.clone(), Some(name.clone()))) => {
                    mistakes.add(at, "this name stands here a second time: remove one");
                }
                Some(section) => entries.push(Entry { section: section.clone(), name, at, value }),
            }),
        };
        if let Err((at, what)) = line.and_then(|()| reader.end_of_line()) {
            mistakes.add(at, what);
            reader.recover();
        }
    }
}

/// The first that is no tabulator and no end of a line.
fn control_character(text: &str) -> Option<Position> {
    let (mut letters, mut at) = (text.chars().peekable(), Position::START);
    while let Some(letter) = letters.next() {
        let ends_line = letter == '\n' || (letter == '\r' && letters.peek() == Some(&'\n'));
        if letter.is_control() && letter != '\t' && !ends_line {
            return Some(at);
        }
        at = at.after(letter);
    }
    None
}

type ReadResult<T> = Result<T, (Position, &'static str)>;

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    at: Position,
    /// Whether nothing but spaces stands before in the line.
    begins_line: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        self.at = self.at.after(letter);
        self.begins_line = letter == '\n' || (self.begins_line && letter.is_whitespace());
        Some(letter)
    }

    fn next_if(&mut self, is_wanted: impl Fn(char) -> bool) -> Option<char> {
        if self.rest.peek().is_some_and(|letter| is_wanted(*letter)) { self.next() } else { None }
    }

    fn wrong<T>(&self, what: &'static str) -> ReadResult<T> {
        Err((self.at, what))
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        while self.next_if(&skipped).is_some() {}
    }

    fn skip_spaces(&mut self) {
        self.skip(|letter| letter == ' ' || letter == '\t');
    }

    fn skip_empty_lines(&mut self) {
        loop {
            self.skip(|letter| " \t\r\n".contains(letter));
            if self.rest.peek() != Some(&'#') {
                return;
            }
            self.skip(|letter| letter != '\n');
        }
    }

    fn take(&mut self, letter: char, what: &'static str) -> ReadResult<()> {
        if self.next_if(|next| next == letter).is_none() { self.wrong(what) } else { Ok(()) }
    }

    fn name(&mut self) -> ReadResult<String> {
        let mut name = String::new();
        while let Some(letter) = self.next_if(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)) {
            name.push(letter);
        }
        if name.is_empty() { self.wrong("here a name belongs, of letters, digits and underscores") } else { Ok(name) }
    }

    fn section(&mut self) -> ReadResult<String> {
        self.next();
        self.skip_spaces();
        let name = self.name()?;
        self.skip_spaces();
        self.take(']', "here `]` belongs: sections have names such as [weights]")?;
        Ok(name)
    }

    fn entry(&mut self) -> ReadResult<(String, Value)> {
        let name = self.name()?;
        self.skip_spaces();
        self.take('=', "here `=` belongs")?;
        self.skip_spaces();
        Ok((name, self.value(true)?))
    }

    fn value(&mut self, may_be_list: bool) -> ReadResult<Value> {
        let at = self.at;
        let content = match self.rest.peek() {
            Some('"' | '\'') => Content::Text(self.text()?),
            Some('[') if may_be_list => Content::List(self.list()?),
            Some('-' | '+' | '0'..='9') => Content::Number(self.number()?),
            _ if may_be_list => return self.wrong("here a whole number, a \"text\" or a [list] belongs"),
            _ => return self.wrong("here a whole number or a \"text\" belongs"),
        };
        Ok(Value { at, content })
    }

    fn text(&mut self) -> ReadResult<String> {
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.rest.peek() {
                None | Some('\r' | '\n') => return self.wrong("the text has no end: it ends on its line, as it began"),
                Some('\\') if quote == Some('"') => {
                    return self.wrong("a text in \" has no escapes: put one with a backslash into single quotes");
                }
                Some(letter) if Some(*letter) == quote => {
                    self.next();
                    return Ok(text);
                }
                Some(_) => text.extend(self.next()),
            }
        }
    }

    fn number(&mut self) -> ReadResult<i64> {
        const FORM: &str = "must be a whole number such as 40 or -15";
        let at = self.at;
        let mut digits = String::new();
        while let Some(letter) = self.next_if(|letter| letter.is_ascii_alphanumeric() || "+-._".contains(letter)) {
            digits.push(letter);
        }
        let unsigned = digits.trim_start_matches(['+', '-']);
        if unsigned.starts_with('0') && unsigned.len() != 1 {
            return Err((at, FORM));
        }
        digits.parse().map_err(|_no_number| (at, FORM))
    }

    fn list(&mut self) -> ReadResult<Vec<Value>> {
        self.next();
        let mut values = Vec::new();
        loop {
            self.skip_empty_lines();
            if self.rest.peek() != Some(&']') {
                values.push(self.value(false)?);
                self.skip_empty_lines();
            }
            if self.rest.peek() == Some(&']') {
                self.next();
                return Ok(values);
            }
            self.take(',', "here `,` or `]` belongs")?;
        }
    }

    fn end_of_line(&mut self) -> ReadResult<()> {
        self.skip_spaces();
        if self.rest.peek() == Some(&'#') {
            self.skip(|letter| letter != '\n');
        }
        self.next_if(|letter| letter == '\r');
        match self.rest.peek() {
            None | Some('\n') => Ok(()),
            Some(_) => self.wrong("here the line has to end"),
        }
    }

    /// Goes on at the next line that begins a section or an entry, this one included: the rest of a broken list is not told of again.
    fn recover(&mut self) {
        while !self.begins_line || !self.is_readable_line() {
            self.skip(|letter| letter != '\n');
            if self.next().is_none() {
                return;
            }
        }
    }

    fn is_readable_line(&self) -> bool {
        let line: String = self.rest.clone().take_while(|letter| *letter != '\n').collect();
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        line.trim_start().starts_with('[') || line.split_once('=').is_some_and(|(name, _)| is_name(name.trim()))
    }
}
