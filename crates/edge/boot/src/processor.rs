use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum, value_parser};
use dropin_kernel::ProcessorId;
use dropin_private_file::watch;

use crate::config_error::ConfigError;
use crate::mode::Mode;
use crate::processor_file::{self, FurtherProcessor};
use crate::secret::{Secret, secret};

/// Whose API the payment processor speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProcessorKind {
    /// The sandbox processor's.
    Sandbox,
    /// Stripe's.
    Stripe,
}

impl ProcessorKind {
    /// Its word in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Stripe => "stripe",
        }
    }

    /// Where such a processor is, unless somebody says otherwise.
    pub const fn default_url(self) -> &'static str {
        match self {
            Self::Sandbox => "http://127.0.0.1:8086",
            Self::Stripe => "https://api.stripe.com",
        }
    }

    /// The payment methods of the catalogue that it does unless others are named; empty for those of the sandbox processor.
    pub const fn default_methods(self) -> &'static [&'static str] {
        match self {
            Self::Sandbox => &[],
            Self::Stripe => &["VISA", "MC", "AMEX", "DISC", "JCB", "DINERS"],
        }
    }

    /// Refuses a key by which a sandbox would move money, or production would not.
    ///
    /// # Errors
    /// [`ConfigError::ProcessorKeyMode`].
    pub fn check_key(self, key: &Secret, mode: Mode) -> Result<(), ConfigError> {
        // docs.stripe.com/keys: sk_ is a secret key, rk_ a restricted one.
        let is_test = ["sk_test_", "rk_test_"].iter().any(|prefix| key.expose().starts_with(prefix));
        match (self, mode) {
            (Self::Sandbox, _) => Ok(()),
            (Self::Stripe, Mode::Production) if !is_test => Ok(()),
            (Self::Stripe, Mode::Sandbox) if is_test => Ok(()),
            (Self::Stripe, _) => Err(ConfigError::ProcessorKeyMode { mode }),
        }
    }
}

/// The payment processor.
#[derive(Debug, Clone, Args)]
pub struct ProcessorArgs {
    /// Whose API the payment processor speaks
    #[arg(long, env = "PROCESSOR", value_enum, default_value_t = ProcessorKind::Sandbox, value_name = "KIND")]
    pub processor: ProcessorKind,
    /// Address of the payment processor; https unless it is on this machine [default: http://127.0.0.1:8086, or Stripe's]
    #[arg(long, env = "PROCESSOR_URL", value_name = "URL")]
    pub processor_url: Option<String>,
    /// File with the key that the processor knows us by; without it the environment variable PROCESSOR_KEY holds the key
    #[arg(long, env = "PROCESSOR_KEY_FILE", value_name = "FILE")]
    pub processor_key_file: Option<PathBuf>,
    /// TOML file that names further payment processors, beside this main one, for merchants whose payments are routed to them
    #[arg(long, env = "DROPIN_PROCESSORS", value_name = "FILE")]
    pub processors: Option<PathBuf>,
}

impl ProcessorArgs {
    /// The main processor's name: that of its kind.
    pub fn id(&self) -> ProcessorId {
        self.processor.name().parse().expect("the names of kinds are such names")
    }

    /// The further processors that the file names.
    ///
    /// # Errors
    /// [`ConfigError::Read`], and [`ConfigError::Processors`], which says what to change.
    pub fn others(&self) -> Result<Vec<FurtherProcessor>, ConfigError> {
        let Some(path) = &self.processors else { return Ok(Vec::new()) };
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        processor_file::parse(&text, &self.id(), folder)
            .map_err(|message| ConfigError::Processors { path: path.clone(), message })
    }

    /// The address of the sandbox processor's pages, if that is the processor.
    pub fn sandbox_pages(&self) -> Option<&str> {
        (self.processor == ProcessorKind::Sandbox).then(|| self.url())
    }

    /// Where the processor is.
    pub fn url(&self) -> &str {
        self.processor_url.as_deref().unwrap_or_else(|| self.processor.default_url())
    }

    /// The key that the processor knows us by.
    ///
    /// # Errors
    /// [`ConfigError`] when there is none.
    pub fn key(&self) -> Result<Secret, ConfigError> {
        let variable = "PROCESSOR_KEY";
        secret(variable, self.processor_key_file.as_deref())?.ok_or(ConfigError::MissingSecret { variable })
    }

    /// Calls `replace` with the key that the key file holds each time it has changed, for as long as `owner` lives. A file that cannot be used, or
    /// whose key is none for this mode, is logged, and changes nothing.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn follow_key<T: Send + Sync + 'static>(
        &self,
        owner: &Arc<T>,
        mode: Mode,
        replace: impl Fn(&T, String) + Send + 'static,
    ) -> io::Result<()> {
        let Some(file) = self.processor_key_file.clone() else { return Ok(()) };
        let (settings, name) = (self.clone(), file.clone());
        let usable = move || settings.key().and_then(|key| settings.processor.check_key(&key, mode).map(|()| key));
        watch("processor-key", vec![file], owner, move |owner| match usable() {
            Ok(key) => {
                replace(owner, key.expose().to_owned());
                log::info!("read the processor's key again from {}: calls to it use that", name.display());
            }
            Err(error) => log::error!(
                "the processor's key file {} has changed and cannot be used: {error}; the key that was read before stays in use",
                name.display()
            ),
        })
    }
}

/// The secrets of what the main payment processor sends by itself.
#[derive(Debug, Clone, Default, Args)]
pub struct ProcessorEventArgs {
    /// File with the secrets that the payment processor signs its events with, one a line; it sends them to /v1/processor/stripe/event below {checkout_url}
    #[arg(long, env = "PROCESSOR_EVENT_SECRETS_FILE", value_name = "FILE")]
    pub processor_event_secrets_file: Option<PathBuf>,
}

/// The secrets of a file, one a line.
///
/// # Errors
/// [`ConfigError::Private`] when it cannot be read, or is open to other users.
pub fn read_event_secrets(file: &Path) -> Result<Secret, ConfigError> {
    secret("", Some(file)).map(|found| found.unwrap_or_else(|| Secret::new(String::new())))
}

/// How many calls go to the payment processor at once, and when none do because it answers nobody. Each program has limits of its own.
#[derive(Debug, Clone, Args)]
pub struct ProcessorLimitArgs {
    /// Authorizations, captures, voids and refunds under way at once; more wait in line, for half of a call's time
    #[arg(
        long, env = "PROCESSOR_PAYMENTS", default_value_t = 128, value_name = "NUMBER", value_parser = numbers().range(CALLS)
    )]
    pub processor_payments: usize,
    /// Questions to the processor under way at once: they never take the place of a payment, nor a payment theirs
    #[arg(
        long, env = "PROCESSOR_QUESTIONS", default_value_t = 64, value_name = "NUMBER", value_parser = numbers().range(CALLS)
    )]
    pub processor_questions: usize,
    /// How much of either number one merchant may have, so that its slow calls never hold up those of others
    #[arg(
        long, env = "PROCESSOR_MERCHANT_SHARE", default_value_t = 50, value_name = "PERCENT", value_parser = value_parser!(u8).range(1..=100)
    )]
    pub processor_merchant_share: u8,
    /// Calls in a row that end without an answer, within ten seconds, after which the processor is asked whether it is there; if not, calls are
    /// held back until it is
    #[arg(
        long, env = "PROCESSOR_FAILURES", default_value_t = 10, value_name = "NUMBER", value_parser = numbers().range(FAILURES)
    )]
    pub processor_failures: usize,
    /// Longest pause between two questions to a processor that answers no call; the first is half a second
    #[arg(
        long, env = "PROCESSOR_PAUSE", default_value_t = 4, value_name = "SECONDS", value_parser = value_parser!(u64).range(PAUSE)
    )]
    pub processor_pause: u64,
}

/// A limit of 0 calls would stop every payment; far more than 10000 is no limit.
const CALLS: RangeInclusive<u64> = 1..=10_000;
/// One lost answer says nothing about a processor.
const FAILURES: RangeInclusive<u64> = 2..=1_000;
/// Whoever waits longer notices late that the processor is back.
const PAUSE: RangeInclusive<u64> = 1..=60;

fn numbers() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new()
}

impl ProcessorLimitArgs {
    /// The longest pause between two questions.
    pub const fn pause(&self) -> Duration {
        Duration::from_secs(self.processor_pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[derive(Debug, clap::Parser)]
    struct Demo {
        #[command(flatten)]
        limits: ProcessorLimitArgs,
    }

    fn limits(line: &str) -> Result<(usize, usize, u8, usize, Duration), clap::Error> {
        let read = <Demo as clap::Parser>::try_parse_from(line.split(' ')).map(|demo| demo.limits);
        read.map(|all| {
            (
                all.processor_payments,
                all.processor_questions,
                all.processor_merchant_share,
                all.processor_failures,
                all.pause(),
            )
        })
    }

    #[test]
    fn the_limits_are_safe_unless_somebody_says_otherwise() {
        assert_eq!(limits("demo").unwrap(), (128, 64, 50, 10, Duration::from_secs(4)));
        let given = limits(
            "demo --processor-payments 20 --processor-questions 10 --processor-merchant-share 30 --processor-failures 5 --processor-pause 9",
        );
        assert_eq!(given.unwrap(), (20, 10, 30, 5, Duration::from_secs(9)));
    }

    #[test]
    fn limits_that_would_stop_every_payment_are_refused() {
        for wrong in [
            "demo --processor-payments 0",
            "demo --processor-questions 0",
            "demo --processor-merchant-share 0",
            "demo --processor-merchant-share 101",
            "demo --processor-failures 1",
            "demo --processor-pause 0",
            "demo --processor-pause 61",
        ] {
            assert!(limits(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missing_secret_says_how_to_give_it() {
        let args = ProcessorArgs { processor_key_file: None, ..args() };
        let message = args.key().unwrap_err().to_string();
        assert!(message.contains("PROCESSOR_KEY_FILE"), "{message}");
    }

    fn args() -> ProcessorArgs {
        ProcessorArgs {
            processor: ProcessorKind::Sandbox,
            processor_url: None,
            processor_key_file: None,
            processors: None,
        }
    }

    #[test]
    fn a_sandbox_moves_no_money_and_production_no_play_money() {
        let accepts = |key: &str, mode| ProcessorKind::Stripe.check_key(&Secret::new(key.to_owned()), mode).is_ok();
        for (key, is_test) in [("sk_test_1", true), ("rk_test_1", true), ("sk_live_1", false), ("rk_live_1", false)] {
            assert_eq!((accepts(key, Mode::Sandbox), accepts(key, Mode::Production)), (is_test, !is_test), "{key}");
        }
        let any = Secret::new("change-me".to_owned());
        assert!(ProcessorKind::Sandbox.check_key(&any, Mode::Sandbox).is_ok());
        let error = ProcessorKind::Stripe.check_key(&any, Mode::Sandbox).unwrap_err().to_string();
        assert!(error.contains("sk_test_") && !error.contains("change-me"), "{error}");
    }

    #[test]
    fn each_processor_has_an_address_of_its_own() {
        let of = |processor| ProcessorArgs { processor, ..args() }.url().to_owned();
        assert_eq!(of(ProcessorKind::Sandbox), "http://127.0.0.1:8086");
        assert_eq!(of(ProcessorKind::Stripe), "https://api.stripe.com");
        let given = ProcessorArgs { processor_url: Some("https://processor.example".to_owned()), ..args() };
        assert_eq!(given.url(), "https://processor.example");
    }

    /// Writes a private file in one step.
    fn put(path: &Path, text: &str, mode: u32) {
        let next = path.with_extension("next");
        fs::write(&next, text).unwrap();
        fs::set_permissions(&next, PermissionsExt::from_mode(mode)).unwrap();
        fs::rename(next, path).unwrap();
    }

    fn until(what: &str, mut met: impl FnMut() -> bool) {
        let begun = std::time::Instant::now();
        while !met() {
            assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_new_processor_key_is_read_and_one_that_others_may_read_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        put(&file, "one", 0o600);
        let args = ProcessorArgs { processor_key_file: Some(file.clone()), ..args() };
        let used = Arc::new(std::sync::Mutex::new(args.key().unwrap().expose().to_owned()));
        args.follow_key(&used, Mode::Sandbox, |used, key| *used.lock().unwrap() = key).unwrap();
        put(&file, "two", 0o600);
        until("the new key", || *used.lock().unwrap() == "two");
        for (text, mode) in [("three", 0o644), ("", 0o600)] {
            put(&file, text, mode);
            std::thread::sleep(Duration::from_millis(1_500));
            assert_eq!(*used.lock().unwrap(), "two", "{text} {mode:o}");
        }
        fs::write(&file, "four").unwrap();
        until("the mended key", || *used.lock().unwrap() == "four");
    }

    #[test]
    fn a_key_of_the_other_mode_takes_no_ones_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        put(&file, "sk_test_one", 0o600);
        let args = ProcessorArgs { processor: ProcessorKind::Stripe, processor_key_file: Some(file.clone()), ..args() };
        let used = Arc::new(std::sync::Mutex::new("sk_test_one".to_owned()));
        args.follow_key(&used, Mode::Sandbox, |used, key| *used.lock().unwrap() = key).unwrap();
        put(&file, "sk_live_two", 0o600);
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(*used.lock().unwrap(), "sk_test_one");
        put(&file, "sk_test_three", 0o600);
        until("the new key of this mode", || *used.lock().unwrap() == "sk_test_three");
    }
}
