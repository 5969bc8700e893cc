use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::text::characters;

/// Deepest nesting of objects and lists (decisions.md section 1).
const MAX_DEPTH: usize = 32;

/// Up to this many keys of one object are compared one by one; beyond, a tree keeps a hostile object from costing the square of its size.
const FEW_KEYS: usize = 24;

/// Where a text is no strict JSON, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    offset: usize,
    why: Cow<'static, str>,
}

impl Fault {
    /// At the byte `offset` of the text.
    pub(super) fn at(offset: usize, why: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, why: why.into() }
    }

    /// The byte at which the text goes wrong.
    pub(super) const fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    /// What a type asks beyond the syntax. The members of requests ask nothing, so this is never seen.
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::at(0, message.to_string())
    }
}

/// Reads strict JSON (RFC 8259) in one pass and hands out what it finds as it finds it.
///
/// Numbers are handed out as their text, through `visit_newtype_struct`: the data model of serde has no number without a size.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    depth: usize,
}

impl<'de> Reader<'de> {
    /// At the beginning of `text`.
    pub(super) const fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Whether nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        match self.next_token() {
            None => Ok(()),
            Some(_) => Err(self.fault("there is more text after the object")),
        }
    }

    /// Checks one value and everything in it, and decodes none of it but keys.
    pub(super) fn skip_value(&mut self) -> Result<(), Fault> {
        match self.next_token() {
            Some(b'{') => {
                let mut members = Members { reader: self.enter()?, keys: Keys::default(), first: true };
                while members.key()?.is_some() {
                    members.reader.skip_value()?;
                }
                Ok(())
            }
            Some(b'[') => {
                let mut entries = Entries { reader: self.enter()?, first: true };
                while entries.begins()? {
                    entries.reader.skip_value()?;
                }
                Ok(())
            }
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.number().map(drop),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, why: &'static str) -> Fault {
        Fault::at(self.at, if self.at < self.text.len() { why } else { "the body ends too early" })
    }

    /// The first byte of what comes next, white space passed over.
    fn next_token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// Goes into an object or list.
    fn enter(&mut self) -> Result<&mut Self, Fault> {
        if MAX_DEPTH <= self.depth {
            return Err(self.fault("objects and lists are nested deeper than 32 levels"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(self)
    }

    /// Comes out of an object or list, at its closing bracket.
    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        let whole = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if whole { word.len() } else { 0 };
        if whole { Ok(()) } else { Err(self.fault("expected value")) }
    }

    /// RFC 8259 section 6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
    fn number(&mut self) -> Result<&'de str, Fault> {
        let begin = self.at;
        self.pass(b"-");
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ if begin < self.at => return Err(self.fault("expected a digit")),
            _ => return Err(self.fault("expected value")),
        }
        if self.pass(b".") {
            self.digits()?;
        }
        if self.pass(b"eE") {
            self.pass(b"+-");
            self.digits()?;
        }
        Ok(&self.text[begin..self.at])
    }

    fn pass(&mut self, any_of: &[u8]) -> bool {
        let passed = self.peek().is_some_and(|byte| any_of.contains(&byte));
        self.at += usize::from(passed);
        passed
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let count = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.fault("expected a digit"));
        }
        self.at += count;
        Ok(())
    }

    /// A string as a token, quotes included, and whether it holds escapes.
    fn string(&mut self) -> Result<(&'de str, bool), Fault> {
        let begin = self.at;
        let mut escapes = false;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.fault("a string holds a control character; write it as an escape")),
            }
        }
        self.at += 1;
        let token = &self.text[begin..self.at];
        if escapes && characters(token).any(|character| character.is_err()) {
            return Err(Fault::at(begin, "this string holds half of a surrogate pair"));
        }
        Ok((token, escapes))
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        let wrong = "expected one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u";
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.fault("expected four hexadecimal digits"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.fault(wrong)),
        }
        Ok(())
    }

    fn decoded(&mut self) -> Result<Cow<'de, str>, Fault> {
        let (token, escapes) = self.string()?;
        Ok(if escapes {
            Cow::Owned(characters(token).filter_map(Result::ok).collect())
        } else {
            Cow::Borrowed(&token[1..token.len() - 1])
        })
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.next_token() {
            Some(b'{') => visitor.visit_map(Members { reader: self.enter()?, keys: Keys::default(), first: true }),
            Some(b'[') => visitor.visit_seq(Entries { reader: self.enter()?, first: true }),
            Some(b'"') => match self.decoded()? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b't') => self.word("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.word("false").and_then(|()| visitor.visit_bool(false)),
            Some(b'n') => self.word("null").and_then(|()| visitor.visit_unit()),
            _ => visitor.visit_newtype_struct(BorrowedStrDeserializer::new(self.number()?)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.next_token() {
            Some(b'n') => self.word("null").and_then(|()| visitor.visit_none()),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.skip_value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// The entries of a list. Whoever takes one takes all: the list ends where they do.
struct Entries<'r, 'de> {
    reader: &'r mut Reader<'de>,
    first: bool,
}

impl Entries<'_, '_> {
    /// Whether another entry begins here; comes out of the list when none does.
    fn begins(&mut self) -> Result<bool, Fault> {
        let first = std::mem::take(&mut self.first);
        match self.reader.next_token() {
            Some(b']') => {
                self.reader.leave();
                Ok(false)
            }
            Some(b',') if !first => {
                self.reader.at += 1;
                match self.reader.next_token() {
                    Some(b']') => Err(self.reader.fault("expected an entry after the comma")),
                    _ => Ok(true),
                }
            }
            _ if first => Ok(true),
            _ => Err(self.reader.fault("expected `,` or `]`")),
        }
    }
}

impl<'de> SeqAccess<'de> for Entries<'_, 'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        if self.begins()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }
}

/// The members of an object. Whoever takes one takes all: the object ends where they do.
struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    keys: Keys<'de>,
    first: bool,
}

impl<'de> Members<'_, 'de> {
    /// The next key, its colon passed over; comes out of the object when there is none.
    fn key(&mut self) -> Result<Option<Cow<'de, str>>, Fault> {
        let first = std::mem::take(&mut self.first);
        match self.reader.next_token() {
            Some(b'}') => {
                self.reader.leave();
                return Ok(None);
            }
            Some(b',') if !first => {
                self.reader.at += 1;
                self.reader.next_token();
            }
            _ if first => {}
            _ => return Err(self.reader.fault("expected `,` or `}`")),
        }
        if self.reader.peek() != Some(b'"') {
            return Err(self.reader.fault("expected a member's name in double quotes"));
        }
        let begin = self.reader.at;
        let key = self.reader.decoded()?;
        if !self.keys.insert(key.clone()) {
            return Err(Fault::at(begin, "this member occurs twice in its object"));
        }
        if self.reader.next_token() != Some(b':') {
            return Err(self.reader.fault("expected `:`"));
        }
        self.reader.at += 1;
        Ok(Some(key))
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        match self.key()? {
            Some(key) => seed.deserialize(CowStrDeserializer::new(key)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        seed.deserialize(&mut *self.reader)
    }
}

/// The keys of an object so far.
#[derive(Default)]
struct Keys<'de> {
    few: Vec<Cow<'de, str>>,
    many: BTreeSet<Cow<'de, str>>,
}

impl<'de> Keys<'de> {
    /// Whether `key` is new.
    fn insert(&mut self, key: Cow<'de, str>) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(key);
        }
        if self.few.contains(&key) {
            return false;
        }
        self.few.push(key);
        if FEW_KEYS < self.few.len() {
            self.many = std::mem::take(&mut self.few).into_iter().collect();
        }
        true
    }
}
