//! The deployment's file of rules of screening.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use dropin_private_file::watch;
use dropin_risk::{Mistakes, Rules, RulesFile};
use dropin_usecases::screening::ScreeningRules;

use crate::config_error::ConfigError;
use crate::context::Context;
use crate::process::Failure;

/// Most mistakes of a file that one log line names.
const LOGGED_MISTAKES: usize = 3;

/// Screening of payments.
#[derive(Debug, Clone, Default, Args)]
pub struct ScreeningArgs {
    /// File of rules that payments are screened by, laid over those that are built in; looked at again every second [default: the built-in rules alone]
    #[arg(long, env = "DROPIN_SCREENING_RULES", value_name = "FILE")]
    pub screening_rules: Option<PathBuf>,
}

impl ScreeningArgs {
    /// The deployment's rules: those that are built in, with the file's laid over them.
    ///
    /// # Errors
    /// [`ConfigError::Read`], and [`ConfigError::ScreeningRules`] with every mistake.
    pub fn read(&self) -> Result<Rules, ConfigError> {
        let built_in = Rules::built_in();
        let Some(path) = &self.screening_rules else { return Ok(built_in) };
        let text = read_screening_rules(path)?;
        let laid_over = RulesFile::parse(&text).and_then(|file| built_in.with(&file));
        laid_over.map_err(|mistakes| ConfigError::ScreeningRules { path: path.clone(), mistakes })
    }

    /// The rules of all merchants, for the services of this process. When the file changes, its rules are taken over; those of a file that cannot be used
    /// are not, which the log and a metric say.
    ///
    /// # Errors
    /// As [`ScreeningArgs::read`], or the system gives no thread.
    pub async fn open(&self, context: &Context) -> Result<Arc<ScreeningRules>, Failure> {
        context
            .share(async || {
                let rules = Arc::new(ScreeningRules::new(self.read()?, context.store.clone()));
                self.follow(&rules)?;
                Ok(rules)
            })
            .await
    }

    fn follow(&self, rules: &Arc<ScreeningRules>) -> std::io::Result<()> {
        let Some(path) = self.screening_rules.clone() else { return Ok(()) };
        let settings = self.clone();
        watch("screening-rules", vec![path], rules, move |rules| match settings.read() {
            Ok(read) => {
                let fingerprint = read.fingerprint().to_string();
                rules.replace(read);
                log::info!(rules = fingerprint.as_str(); "read DROPIN_SCREENING_RULES again: payments are screened by its rules");
            }
            Err(error) => {
                rules.refuse_file();
                log::error!(
                    "DROPIN_SCREENING_RULES has changed and cannot be used: {}; the rules that were read before stay in use",
                    in_one_line(&error)
                );
            }
        })
    }
}

/// The text of a file of rules; of one that is too long so much that this is seen.
///
/// # Errors
/// [`ConfigError::Read`], also when the file is no UTF-8 text.
pub fn read_screening_rules(path: &Path) -> Result<String, ConfigError> {
    let mut text = String::new();
    let limit = u64::try_from(RulesFile::MAX_BYTES).unwrap_or(u64::MAX).saturating_add(4);
    let read = File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    Ok(text)
}

/// For the log: the first mistakes, and how many there are.
fn in_one_line(error: &ConfigError) -> String {
    match error {
        ConfigError::ScreeningRules { path, mistakes } => {
            let told: Vec<_> = mistakes.iter().take(LOGGED_MISTAKES).map(ToString::to_string).collect();
            let path = path.display();
            format!(
                "{path} has {} mistakes, {}; `dropin screening check {path}` tells all of them",
                count(mistakes),
                told.join("; ")
            )
        }
        other => other.to_string(),
    }
}

fn count(mistakes: &Mistakes) -> usize {
    mistakes.iter().count()
}
