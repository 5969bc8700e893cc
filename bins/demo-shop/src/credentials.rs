use std::path::{Path, PathBuf};

use dropin_private_file::PrivacyError;
use serde::{Deserialize, Serialize};

/// A merchant's credentials as scripts and the shop read them. No Debug: they are secret.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Credentials {
    /// The merchant's public id.
    pub merchant_id: String,
    /// API user.
    pub username: String,
    /// Password of that user.
    pub password: String,
    /// What notifications are signed with; none without a webhook URL.
    pub webhook_secret: Option<String>,
    /// Where the demo shop is; it stands in the merchant's origins and webhook. None for a merchant that is not the demo's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shop_url: Option<String>,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// It cannot be read, or other users may open it.
    #[error(transparent)]
    Private(#[from] PrivacyError),
    /// It holds something else. The parser's own message would quote the file.
    #[error("{} does not hold credentials (line {line}); remove it to have new ones made", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
    },
}

impl Credentials {
    /// Reads what `dropin merchant create --json` or the demo wrote; `None` when there is no such file.
    ///
    /// # Errors
    /// [`CredentialsError`].
    pub fn read(path: &Path) -> Result<Option<Self>, CredentialsError> {
        match dropin_private_file::read(path) {
            Ok(text) => serde_json::from_str(&text)
                .map(Some)
                .map_err(|error| CredentialsError::Unreadable { path: path.to_owned(), line: error.line() }),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
