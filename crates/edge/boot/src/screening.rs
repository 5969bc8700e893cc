//! The deployment's file of rules of screening.

use std::fs::File;
use std::io::{self, Read};
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

    fn follow(&self, rules: &Arc<ScreeningRules>) -> io::Result<()> {
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
    let mut bytes = Vec::new();
    let limit = u64::try_from(RulesFile::MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    let text = read.and_then(|_| match bytes.len() <= RulesFile::MAX_BYTES {
        true => {
            String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
        }
        // It may end in the midst of a character.
        false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    });
    text.map_err(|source| ConfigError::Read { path: path.to_owned(), source })
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use dropin_ports::MetricSource;
    use dropin_store::{Role, Store, StoreConfig};

    use super::*;

    /// Writes a file in one step.
    fn put(path: &Path, text: &str) {
        let next = path.with_extension("next");
        fs::write(&next, text).unwrap();
        fs::rename(next, path).unwrap();
    }

    fn settings(path: &Path) -> ScreeningArgs {
        ScreeningArgs { screening_rules: Some(path.to_owned()) }
    }

    #[test]
    fn a_file_with_mistakes_is_refused_with_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rules.toml");
        assert!(ScreeningArgs::default().read().unwrap() == Rules::built_in());
        let missing = settings(&file).read().unwrap_err().to_string();
        assert!(missing.contains("rules.toml"), "{missing}");
        put(&file, "[weights]\nNEW_SHOPPER = 500\nAGE = 1\n");
        let told = settings(&file).read().unwrap_err();
        let words = told.to_string();
        for part in ["DROPIN_SCREENING_RULES", "rules.toml", "line 2, column 15", "line 3, column 1"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let line = in_one_line(&told);
        assert!(
            line.contains("2 mistakes") && line.contains("dropin screening check") && !line.contains('\n'),
            "{line}"
        );
        put(&file, &"# é".repeat(RulesFile::MAX_BYTES / 4 + 1));
        assert!(settings(&file).read().unwrap_err().to_string().contains("256 KiB"));
        put(&file, "[weights]\nNEW_SHOPPER = 6\n");
        assert_ne!(settings(&file).read().unwrap().fingerprint(), Rules::built_in().fingerprint());
    }

    #[tokio::test]
    async fn a_file_that_changes_is_taken_over_and_one_with_mistakes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("dropin.db").display());
        let store = Arc::new(Store::open(StoreConfig::new(url, Role::Service)).unwrap());
        let file = folder.path().join("rules.toml");
        put(&file, "[weights]\nNEW_SHOPPER = 6\n");
        let settings = settings(&file);
        let rules = Arc::new(ScreeningRules::new(settings.read().unwrap(), store));
        settings.follow(&rules).unwrap();
        let is_refused = async || rules.collect_metrics().await.unwrap()[0].samples()[0].value == 1;
        let until = async |what: &str, refused: bool, fingerprint: &str| {
            let begun = Instant::now();
            while is_refused().await != refused || rules.of_deployment().fingerprint().to_string() != fingerprint {
                assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let first = rules.of_deployment().fingerprint().to_string();
        put(&file, "[weights]\nNEW_SHOPPER = 500\n");
        until("a file with mistakes is refused", true, &first).await;
        fs::remove_file(&file).unwrap();
        put(&file, "[weights]\nNEW_SHOPPER = 7\n");
        let second = settings.read().unwrap().fingerprint().to_string();
        assert_ne!(first, second);
        until("the mended file is taken over", false, &second).await;
    }
}
