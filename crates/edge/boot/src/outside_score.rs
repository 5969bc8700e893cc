//! Where a score of payments comes from outside.

use std::path::PathBuf;

use clap::Args;

use crate::config_error::ConfigError;
use crate::secret::{Secret, secret};

/// A score from outside.
#[derive(Debug, Clone, Default, Args)]
pub struct OutsideScoreArgs {
    /// Service that is asked for a score of each payment whose rules give it a weight; https unless it is on this machine [default: none is asked]
    #[arg(long, env = "DROPIN_SCREENING_SCORE_URL", value_name = "URL")]
    pub screening_score_url: Option<String>,
    /// File with the key that calls of that service are signed with; without it the environment variable DROPIN_SCREENING_SCORE_KEY holds the key
    #[arg(long, env = "DROPIN_SCREENING_SCORE_KEY_FILE", value_name = "FILE")]
    pub screening_score_key_file: Option<PathBuf>,
}

impl OutsideScoreArgs {
    /// The key that calls are signed with.
    ///
    /// # Errors
    /// [`ConfigError`] when there is none.
    pub fn key(&self) -> Result<Secret, ConfigError> {
        let variable = "DROPIN_SCREENING_SCORE_KEY";
        secret(variable, self.screening_score_key_file.as_deref())?.ok_or(ConfigError::MissingSecret { variable })
    }
}
