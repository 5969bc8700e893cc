use std::fmt;

/// The text is no code of this kind.
///
/// ```
/// use dropin_kernel::ViolationCode;
///
/// let unknown = "FIELD_WRONG".parse::<ViolationCode>().unwrap_err();
/// assert_eq!(unknown.what(), "violation code");
/// assert!(unknown.to_string().starts_with("is no violation code; there are FIELD_MISSING, FIELD_INVALID,"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCode {
    what: &'static str,
    codes: &'static [&'static str],
}

impl UnknownCode {
    /// Of a kind of codes that is called `what` and has these.
    pub const fn new(what: &'static str, codes: &'static [&'static str]) -> Self {
        Self { what, codes }
    }

    /// What the text should have been, for a person.
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// Every code that there is.
    pub const fn codes(&self) -> &'static [&'static str] {
        self.codes
    }
}

impl fmt::Display for UnknownCode {
    /// Never repeats the text, which may be anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is no {}; there are {}", self.what, self.codes.join(", "))
    }
}

impl std::error::Error for UnknownCode {}

/// An enum whose values have codes: the one spelling of each in answers, in databases and in files.
///
/// It gets `ALL`, `as_str`, [`Display`](std::fmt::Display) (which honours width), [`FromStr`](std::str::FromStr) with [`UnknownCode`], comparison in the
/// order of declaration and, with the feature `serde` of the crate that declares it, the code as its serialized form.
///
/// ```
/// dropin_kernel::coded_enum! {
///     /// How a parcel travels.
///     pub enum Carriage: "kind of carriage" {
///         /// By lorry.
///         Road = "ROAD",
///         /// By aeroplane.
///         Air = "AIR",
///     }
/// }
///
/// assert_eq!(Carriage::ALL, [Carriage::Road, Carriage::Air]);
/// assert_eq!("AIR".parse(), Ok(Carriage::Air));
/// assert_eq!(format!("{:>5}|", Carriage::Air), "  AIR|");
/// assert_eq!("SEA".parse::<Carriage>().unwrap_err().to_string(), "is no kind of carriage; there are ROAD, AIR");
/// ```
#[macro_export]
macro_rules! coded_enum {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident: $what:literal {
            $($(#[$value_meta:meta])* $value:ident = $code:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $name {
            $($(#[$value_meta])* $value,)+
        }

        impl $name {
            /// Every value, in the order of declaration.
            $visibility const ALL: [Self; [$($code),+].len()] = [$(Self::$value,)+];

            /// The code: the spelling in answers, in databases and in files.
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $code,)+
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = $crate::UnknownCode;

            /// Reads the exact code.
            fn from_str(text: &str) -> ::core::result::Result<Self, Self::Err> {
                match text {
                    $($code => Ok(Self::$value),)+
                    _ => Err($crate::UnknownCode::new($what, &[$($code,)+])),
                }
            }
        }

        #[cfg(feature = "serde")]
        $crate::serialize_as_text!($name);
    };
}

/// Serializes a type as its [`Display`](std::fmt::Display) text and restores it by its [`FromStr`](std::str::FromStr), with the same checks. For crates
/// that depend on this one with the feature `serde`.
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! serialize_as_text {
    ($($name:ty),+ $(,)?) => {$(
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<Self, D::Error> {
                struct TextVisitor;

                impl $crate::serde::de::Visitor<'_> for TextVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str(concat!("the text of a ", stringify!($name)))
                    }

                    fn visit_str<E: $crate::serde::de::Error>(self, text: &str) -> ::core::result::Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(TextVisitor)
            }
        }
    )+};
}
