use std::fmt;
use std::path::Path;

use crate::config_error::ConfigError;

/// A secret text; Debug does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret over.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A secret from its file, or else from the environment; `None` when neither is set.
///
/// # Errors
/// [`ConfigError::Private`] when the named file cannot be read, or is open to other users.
pub(crate) fn secret(variable: &str, file: Option<&Path>) -> Result<Option<Secret>, ConfigError> {
    match file {
        Some(path) => {
            let text = dropin_private_file::read(path)?;
            Ok(Some(Secret(text.trim().to_owned())).filter(|secret| !secret.0.is_empty()))
        }
        None => Ok(std::env::var(variable).ok().filter(|text| !text.is_empty()).map(Secret)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "Secret(..)");
    }
}
