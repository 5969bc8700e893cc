//! How text becomes part of a page (askama.toml): markup loses its meaning, and what no reader sees is spelled out.

use std::fmt::{self, Write};

use askama::filters::Escaper;

/// Escapes markup, and writes characters that hide or reorder text as `[U+202E]`: in a reference or an answer they make one thing look like another.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Visible;

impl Escaper for Visible {
    fn write_escaped_str<W: Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        let mut plain_from = 0;
        for (at, character) in text.char_indices() {
            let markup = match character {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&#34;",
                '\'' => "&#39;",
                _ if is_invisible(character) => "",
                _ => continue,
            };
            dest.write_str(&text[plain_from..at])?;
            match markup {
                "" => write!(dest, "[U+{:04X}]", u32::from(character))?,
                markup => dest.write_str(markup)?,
            }
            plain_from = at + character.len_utf8();
        }
        dest.write_str(&text[plain_from..])
    }
}

/// Whether a reader cannot see it, or sees others at another place for it. Tab and line break are seen; the joiners of U+200C and U+200D belong to
/// scripts and pictures.
pub(crate) fn is_invisible(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        Visible.write_escaped_str(&mut out, text).unwrap();
        out
    }

    #[test]
    fn markup_and_what_is_invisible_is_spelled_out() {
        assert_eq!(escaped("<a href=\"'&'\">"), "&lt;a href=&#34;&#39;&amp;&#39;&#34;&gt;");
        assert_eq!(escaped("gnp.\u{202e}exe"), "gnp.[U+202E]exe");
        assert_eq!(escaped("a\u{0}b\u{7f}\u{9b}c\r\n\td"), "a[U+0000]b[U+007F][U+009B]c[U+000D]\n\td");
        assert_eq!(escaped("\u{2066}x\u{2069}\u{200b}\u{feff}\u{e0041}"), "[U+2066]x[U+2069][U+200B][U+FEFF][U+E0041]");
        let seen = "Zoë 🔑 שלום می‌خواهم 👩‍💻";
        assert_eq!(escaped(seen), seen);
    }
}
