use std::fmt;

/// Why a text is no national identifier of a kind. It never repeats the text.
///
/// ```
/// use dropin_validation::identity::{Cpf, IdentifierError};
///
/// assert_eq!(Cpf::parse("255.248.930-34"), Err(IdentifierError::WrongCheckDigits { kind: "CPF" }));
/// assert_eq!(Cpf::parse("2552489303").unwrap_err().to_string(), "must be written as 25524893033 or 255.248.930-33");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IdentifierError {
    /// The text has another length, other characters, or separators at other places.
    WrongForm {
        /// Examples of the forms that are read.
        forms: &'static str,
    },
    /// The form is right, the check digits are not those of the other digits.
    WrongCheckDigits {
        /// What the number is called.
        kind: &'static str,
    },
    /// The check digits are right, but the authority never issues the number: it is one digit repeated.
    NeverIssued {
        /// What the number is called.
        kind: &'static str,
    },
}

impl fmt::Display for IdentifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongForm { forms } => write!(f, "must be written as {forms}"),
            Self::WrongCheckDigits { kind } => write!(f, "is no {kind}: the check digits do not belong to the others"),
            Self::NeverIssued { kind } => write!(f, "is no {kind}: one repeated digit is never issued"),
        }
    }
}

impl std::error::Error for IdentifierError {}

/// What the rule of a kind says of characters whose form is right.
pub(super) enum Finding {
    Right,
    WrongCheckDigits,
    NeverIssued,
}

/// Whether `text` has the form: `9` stands for a digit, `A` for a capital, `X` for either, anything else for itself.
pub(super) fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(c, place)| match place {
            b'9' => c.is_ascii_digit(),
            b'A' => c.is_ascii_uppercase(),
            b'X' => c.is_ascii_digit() || c.is_ascii_uppercase(),
            itself => c == itself,
        })
}

/// The characters of `text` that are no separators; `text` has one of `forms`.
pub(super) fn characters<const N: usize>(text: &str, forms: [&str; 2]) -> Option<[u8; N]> {
    if !forms.iter().any(|form| has_form(text, form)) {
        return None;
    }
    let mut found = [0; N];
    let mut characters = text.bytes().filter(u8::is_ascii_alphanumeric);
    for place in &mut found {
        *place = characters.next()?;
    }
    characters.next().is_none().then_some(found)
}

/// Writes `characters` into the places of `form`, between its separators.
pub(super) fn write_form(characters: &str, form: &str) -> String {
    let mut characters = characters.chars();
    form.chars()
        .filter_map(|place| if place.is_ascii_alphanumeric() { characters.next() } else { Some(place) })
        .collect()
}

/// A national identifier of a fixed length: its type, its reading and its writing.
macro_rules! identifier {
    (
        $(#[$meta:meta])*
        $name:ident: $kind:literal, $length:literal characters,
        read as [$plain_form:literal, $written_form:literal],
        for example [$plain:literal, $written:literal],
        rule $rule:path
    ) => {
        $(#[$meta])*
        ///
        #[doc = concat!(
            "```\nuse dropin_validation::identity::", stringify!($name), ";\n\n",
            "let number: ", stringify!($name), " = \"", $plain, "\".parse().unwrap();\n",
            "assert_eq!(number.to_string(), \"", $written, "\");\n",
            "assert_eq!(\"", $written, "\".parse(), Ok(number));\n```"
        )]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $length]);

        impl $name {
            #[doc = concat!("Reads `", $plain, "` or `", $written, "`; separators stand where the authority writes them, or nowhere.")]
            ///
            #[doc = concat!(
                "```\n# use dropin_validation::identity::", stringify!($name), ";\n",
                "assert!(", stringify!($name), "::parse(\"", $written, "\").is_ok());\n",
                "assert!(", stringify!($name), "::parse(\"", $written, " \").is_err());\n```"
            )]
            ///
            /// # Errors
            /// [`IdentifierError`]: another form, wrong check digits where the number has some, or a number that is never issued.
            pub fn parse(text: &str) -> Result<Self, IdentifierError> {
                let forms = [$plain_form, $written_form];
                let Some(characters) = characters(text, forms) else {
                    return Err(IdentifierError::WrongForm { forms: concat!($plain, " or ", $written) });
                };
                match $rule(&characters) {
                    Finding::Right => Ok(Self(characters)),
                    Finding::WrongCheckDigits => Err(IdentifierError::WrongCheckDigits { kind: $kind }),
                    Finding::NeverIssued => Err(IdentifierError::NeverIssued { kind: $kind }),
                }
            }

            /// The characters without separators.
            ///
            #[doc = concat!(
                "```\n# use dropin_validation::identity::", stringify!($name), ";\n",
                "assert_eq!(", stringify!($name), "::parse(\"", $written, "\").unwrap().as_str(), \"", $plain, "\");\n```"
            )]
            pub fn as_str(&self) -> &str {
                std::str::from_utf8(&self.0).expect("digits and capitals")
            }
        }

        impl fmt::Display for $name {
            /// As the authority writes it, with separators.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&write_form(self.as_str(), $written_form))
            }
        }

        impl fmt::Debug for $name {
            /// Shows the last two characters alone: the number is a person's or a company's, and Debug is for logs.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(..{})"), &self.as_str()[$length - 2..])
            }
        }

        impl FromStr for $name {
            type Err = IdentifierError;

            fn from_str(text: &str) -> Result<Self, IdentifierError> {
                Self::parse(text)
            }
        }

        #[cfg(feature = "serde")]
        dropin_kernel::serialize_as_text!($name);
    };
}

pub(super) use identifier;
