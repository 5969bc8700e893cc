//! The words of the panel: one file for each language, of which the compiler sees that each has every text with what is filled in.
//!
//! A page takes its texts from `shell.t` or `alone.t`; code takes them from [`texts`]. What the domain says in English (refusals of use cases, fields
//! that are refused) is looked up by what it says, and codes of the API by the code.

use std::fmt::Display;

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT_LANGUAGE;

use crate::guard;

/// A language's texts: `words` are whole, `sentences` have parts filled in, and `counts` have a form for one and one for any other number.
macro_rules! language {
    (
        tag: $tag:literal,
        name: $name:literal,
        thousands: $thousands:literal,
        months: $months:expr,
        words { $($word:ident: $text:literal,)* }
        sentences { $($sentence:ident($($part:ident),*): $form:literal,)* }
        counts { $($counted:ident($count:ident $(, $more:ident)*): $one:literal | $other:literal,)* }
        codes { $($code:literal: $meaning:literal,)* }
        domain { $($said:literal: $means:literal,)* }
    ) => {
        pub(crate) static TEXTS: $crate::texts::Texts = $crate::texts::Texts {
            language_tag: $tag,
            language_name: $name,
            thousands: $thousands,
            months: $months,
            $($word: $text,)*
            $($sentence: |$($part),*| format!($form),)*
            $($counted: |$count $(, $more)*| match $count.to_string().as_str() {
                "1" => format!($one),
                _ => format!($other),
            },)*
            codes: &[$(($code, $meaning),)*],
            refusals: &[$(($said, $means),)*],
        };
    };
}

/// The language that says which texts there are.
macro_rules! first_language {
    (
        tag: $tag:literal,
        name: $name:literal,
        thousands: $thousands:literal,
        months: $months:expr,
        words { $($word:ident: $text:literal,)* }
        sentences { $($sentence:ident($($part:ident),*): $form:literal,)* }
        counts { $($counted:ident($($count:ident),+): $one:literal | $other:literal,)* }
        $($rest:tt)*
    ) => {
        /// The texts of a language.
        pub(crate) struct Texts {
            pub(crate) language_tag: &'static str,
            pub(crate) language_name: &'static str,
            pub(crate) thousands: &'static str,
            pub(crate) months: [&'static str; 12],
            $(pub(crate) $word: &'static str,)*
            $(pub(super) $sentence: fn($(filled!($part)),*) -> String,)*
            $(pub(super) $counted: fn($(filled!($count)),+) -> String,)*
            pub(super) codes: &'static [(&'static str, &'static str)],
            pub(super) refusals: &'static [(&'static str, &'static str)],
        }

        impl Texts {
            $(pub(crate) fn $sentence(&self, $($part: impl std::fmt::Display),*) -> String {
                (self.$sentence)($(&$part),*)
            })*
            $(pub(crate) fn $counted(&self, $($count: impl std::fmt::Display),+) -> String {
                (self.$counted)($(&$count),+)
            })*

            /// Every whole text, by its key.
            #[cfg(test)]
            pub(super) fn words(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($word), self.$word)),*]
            }

            /// Every other text, by its key, with the names of its parts in braces.
            #[cfg(test)]
            pub(super) fn forms(&self) -> Vec<(&'static str, String)> {
                vec![
                    $((stringify!($sentence), self.$sentence($(concat!("{", stringify!($part), "}")),*))),*,
                    $((stringify!($counted), self.$counted($(concat!("{", stringify!($count), "}")),+))),*
                ]
            }
        }

        language! {
            tag: $tag,
            name: $name,
            thousands: $thousands,
            months: $months,
            words { $($word: $text,)* }
            sentences { $($sentence($($part),*): $form,)* }
            counts { $($counted($($count),+): $one | $other,)* }
            $($rest)*
        }
    };
}

/// The type of a part that is filled in.
macro_rules! filled {
    ($part:ident) => { &dyn std::fmt::Display };
}

mod de;
mod en;

pub(crate) use en::Texts;

/// The languages that the panel speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// What is spoken unless another one is asked for.
    English,
    /// German.
    German,
}

tokio::task_local! {
    static LANGUAGE: Language;
}

/// The texts of the language that the request is answered in.
pub(crate) fn texts() -> &'static Texts {
    LANGUAGE.try_with(|language| language.texts()).unwrap_or(&en::TEXTS)
}

/// Answers a request in its language.
pub(crate) async fn in_language_of<F: Future>(http: &HttpRequest, answer: F) -> F::Output {
    LANGUAGE.scope(Language::of(http), answer).await
}

impl Language {
    /// In the order in which they are offered.
    pub(crate) const ALL: [Self; 2] = [Self::English, Self::German];

    pub(crate) const fn texts(self) -> &'static Texts {
        match self {
            Self::English => &en::TEXTS,
            Self::German => &de::TEXTS,
        }
    }

    /// The language of a tag (BCP 47), whatever its region.
    pub(crate) fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.split('-').next().unwrap_or_default();
        Self::ALL.into_iter().find(|one| one.texts().language_tag.eq_ignore_ascii_case(primary))
    }

    /// What was chosen in this browser, else what it prefers, else English.
    fn of(http: &HttpRequest) -> Self {
        let asked = http.headers().get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        guard::chosen_language(http).or_else(|| Self::preferred(asked)).unwrap_or(Self::English)
    }

    /// The first of those that Accept-Language weighs most.
    fn preferred(asked: &str) -> Option<Self> {
        let weighed = asked.split(',').filter_map(|one| {
            let (tag, rest) = one.split_once(';').unwrap_or((one, ""));
            let weight = rest.trim().strip_prefix("q=").map_or(Some(1.0), |text| text.parse::<f32>().ok())?;
            Some((weight, Self::of_tag(tag.trim())?)).filter(|(weight, _)| 0.0 < *weight)
        });
        weighed.reduce(|best, one| if best.0 < one.0 { one } else { best }).map(|(_, language)| language)
    }
}

impl Texts {
    /// A code in words: `CARD_REFUSED` is `Card refused`. One without a text of its own is spelled out.
    pub(crate) fn code(&self, code: &str) -> String {
        match self.codes.iter().find(|(known, _)| *known == code) {
            Some((_, meaning)) => (*meaning).to_owned(),
            None => spelled_out(code),
        }
    }

    /// A code within a sentence; its meanings begin with a tilde.
    pub(crate) fn part(&self, code: &str) -> String {
        let found = self.codes.iter().find(|(known, _)| known.strip_prefix('~') == Some(code));
        found.map_or_else(|| spelled_out(code).to_lowercase(), |(_, meaning)| (*meaning).to_owned())
    }

    /// What the domain says, in this language; as it was said where that is not known.
    pub(crate) fn domain(&self, said: &str) -> String {
        self.known_domain(said).unwrap_or_else(|| said.to_owned())
    }

    fn known_domain(&self, said: &str) -> Option<String> {
        let exact = self.refusals.iter().find(|(known, _)| *known == said).map(|(_, means)| (*means).to_owned());
        exact.or_else(|| {
            self.refusals.iter().filter(|(known, _)| known.contains("{}")).find_map(|(known, means)| {
                let parts = parts_of(known, said)?;
                let mut pieces = means.split("{}");
                let first = pieces.next().unwrap_or_default().to_owned();
                // A part may be a sentence of its own.
                Some(pieces.zip(parts).fold(first, |text, (piece, part)| text + &self.domain(part) + piece))
            })
        })
    }
}

/// A code without a text of its own.
fn spelled_out(code: &str) -> String {
    let lower = code.replace('_', " ").to_ascii_lowercase();
    let mut letters = lower.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// What stands in `said` where `form` has `{}`; `None` when it is another sentence.
fn parts_of<'a>(form: &str, said: &'a str) -> Option<Vec<&'a str>> {
    let mut pieces = form.split("{}");
    let mut rest = said.strip_prefix(pieces.next()?)?;
    let mut parts = Vec::new();
    let pieces: Vec<&str> = pieces.collect();
    for (place, piece) in pieces.iter().enumerate() {
        let end = if place + 1 == pieces.len() { rest.len().checked_sub(piece.len())? } else { rest.find(piece)? };
        parts.push(rest.get(..end)?);
        rest = rest.get(end..)?.strip_prefix(piece)?;
    }
    Some(parts)
}

/// An error of the domain as a sentence.
pub(crate) fn sentence(error: &impl Display) -> String {
    let text = texts().domain(&error.to_string());
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;
