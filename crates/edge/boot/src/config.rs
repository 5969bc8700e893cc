//! Where settings come from: a flag wins over the environment, that over the TOML file, that over the default.
//!
//! clap knows the flags and the environment; values of the file become clap's defaults before it looks at either. So
//! each setting is described once, and help, file and environment never disagree.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Parser};
use toml::{Table, Value};
use url::Url;

/// The variable that names the TOML file when no flag does.
const FILE_VARIABLE: &str = "DROPIN_CONFIG";

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file with settings or a secret cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{path} is not TOML: {message}")]
    Toml {
        /// Which file.
        path: PathBuf,
        /// Where and what, without the file's contents.
        message: String,
    },
    /// The file sets something that does not exist.
    #[error("{path} sets {key}, which this program does not know; its settings are: {known}")]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// The key.
        key: String,
        /// All that it may set.
        known: String,
    },
    /// A value has a form that no setting takes.
    #[error("{path}: {key} has to be a text, a number, true, false or a list of texts")]
    Form {
        /// Which file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A secret is not configured.
    #[error("{variable} is missing: set it, or name a file that holds it by {variable}_FILE")]
    MissingSecret {
        /// The variable.
        variable: &'static str,
    },
    /// The database URL has a form that no database of ours has.
    #[error("DATABASE_URL has to begin with sqlite://, postgres:// or postgresql://")]
    DatabaseUrl,
    /// The database URL would be cut in the midst of its password, and the rest of that be taken for a host, which logs show.
    #[error("the user name or password in DATABASE_URL holds @ or /, which ends it: write %40 for @ and %2F for /")]
    DatabasePassword,
    /// One endpoint could take the slots that are kept for others.
    #[error(
        "--endpoint-slots (DROPIN_ENDPOINT_SLOTS) leaves too few for other endpoints: it has to be at most {most}, three quarters of --delivery-slots \
         (DROPIN_DELIVERY_SLOTS)"
    )]
    EndpointSlots {
        /// The most.
        most: u32,
    },
    /// A server of the wallet's provider is on this machine, in production.
    #[error(
        "--wallet-hosts (DROPIN_WALLET_HOSTS) names a server of this machine, which only a sandbox may have: name the provider's own servers"
    )]
    WalletHosts,
    /// The file that adjusts payment methods makes no sense.
    #[error("{path}: {message}")]
    Catalogue {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// The address of the messaging script is none.
    #[error("pay_later_script_url has to be an http or https URL, for example https://{{region}}.later.example/lib.js")]
    Script,
    /// An address that has to be a URL is none.
    #[error("{name} has to be an absolute http or https URL without query, for example {example}")]
    Url {
        /// Which setting.
        name: &'static str,
        /// How it may look.
        example: &'static str,
    },
}

/// Which file to read, and whether to run at all.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// TOML file with settings, named as the flags with _ in place of -
    #[arg(long, env = FILE_VARIABLE, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print the settings and where each comes from, secrets hidden, and exit
    #[arg(long)]
    pub check_config: bool,
}

/// A program's settings, read.
#[derive(Debug)]
pub struct Loaded<P> {
    /// The settings.
    pub settings: P,
    /// What `--check-config` prints.
    pub report: String,
}

/// Reads the settings of a program from its command line, environment and file. `defaults` replaces defaults of single
/// settings, by their names. Wrong flags, `--help` and `--version` end the process, as clap does.
///
/// # Errors
/// [`ConfigError`] when the file cannot be used.
pub fn load<P: Parser>(defaults: &[(&str, &str)]) -> Result<Loaded<P>, ConfigError> {
    load_from(std::env::args_os(), defaults).map(|outcome| outcome.unwrap_or_else(|error| error.exit()))
}

fn load_from<P: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    defaults: &[(&str, &str)],
) -> Result<Result<Loaded<P>, clap::Error>, ConfigError> {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let mut command = P::command();
    for (name, value) in defaults {
        command = with_default(command, name, vec![(*value).to_owned()]);
    }
    let mut file = Table::new();
    if let Some(path) = config_file(&arguments) {
        file = read_file(&path)?;
        for (key, value) in &file {
            if !known(&command).any(|name| name == key) {
                let known = known(&command).collect::<Vec<_>>().join(", ");
                return Err(ConfigError::Unknown { path, key: key.clone(), known });
            }
            let values = texts(value).ok_or_else(|| ConfigError::Form { path: path.clone(), key: key.clone() })?;
            command = with_default(command, key, values);
        }
    }
    Ok(command.clone().try_get_matches_from(arguments).and_then(|matches| {
        let report = report(&command, &matches, &file);
        Ok(Loaded { settings: P::from_arg_matches(&matches)?, report })
    }))
}

/// The file is needed before clap can run, so its name is found with a command that knows nothing else.
fn config_file(arguments: &[OsString]) -> Option<PathBuf> {
    let arguments = arguments.iter().position(|argument| argument == "--").map_or(arguments, |end| &arguments[..end]);
    let mut named = None;
    for (at, argument) in arguments.iter().enumerate() {
        if argument == "--config" {
            named = arguments.get(at + 1).map(PathBuf::from);
        } else if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix("--config=")) {
            named = Some(path.into());
        }
    }
    named.or_else(|| std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from))
}

fn read_file(path: &Path) -> Result<Table, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
        // The message alone: with its excerpt it would quote what may be a secret.
        ConfigError::Toml { path: path.to_owned(), message: format!("line {line}: {}", error.message()) }
    })
}

/// Names of the settings that a file may give.
fn known(command: &Command) -> impl Iterator<Item = &str> {
    command
        .get_arguments()
        .filter(|argument| argument.get_long().is_some())
        .map(|argument| argument.get_id().as_str())
        .filter(|id| !matches!(*id, "config" | "check_config" | "help" | "version"))
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Boolean(choice) => Some(vec![choice.to_string()]),
        Value::Array(values) => values.iter().map(|value| value.as_str().map(str::to_owned)).collect(),
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn with_default(command: Command, name: &str, values: Vec<String>) -> Command {
    // clap does not count a default as an answer to "required".
    command.mut_arg(name, |argument| argument.default_values(values).required(false))
}

/// Every setting as a line of the TOML file, with where it comes from.
fn report(command: &Command, matches: &ArgMatches, file: &Table) -> String {
    let mut text = String::new();
    for argument in command.get_arguments().filter(|argument| known(command).any(|name| name == argument.get_id())) {
        let name = argument.get_id().as_str();
        let values: Vec<_> =
            matches.get_raw(name).into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect();
        let origin = match matches.value_source(name) {
            Some(ValueSource::CommandLine) => "flag".to_owned(),
            Some(ValueSource::EnvVariable) => {
                format!("environment {}", argument.get_env().unwrap_or_default().to_string_lossy())
            }
            Some(_) if file.contains_key(name) => "file".to_owned(),
            _ => "default".to_owned(),
        };
        let shown: Vec<_> = values.iter().map(|value| quoted(&hide_password(value))).collect();
        // Writing to a String cannot fail.
        let _ = match shown.as_slice() {
            [] => writeln!(text, "#{name} =  # not set"),
            [one] => writeln!(text, "{name} = {one}  # {origin}"),
            several => writeln!(text, "{name} = [{}]  # {origin}", several.join(", ")),
        };
        if let Some(variable) = secret_beside(name) {
            let state = if std::env::var_os(variable).is_some() { "set, hidden" } else { "not set" };
            let _ = writeln!(text, "# environment {variable}: {state}");
        }
    }
    text
}

/// The setting that says where a secret stands, and the variable that holds it otherwise and is no setting itself.
fn secret_beside(name: &str) -> Option<&'static str> {
    (name == "processor_key_file").then_some("PROCESSOR_KEY")
}

/// JSON's quotation is one of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A URL without its password, nor its query, which may carry one too (libpq reads `?password=`); any other text as it is.
pub fn hide_password(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() || url.query().is_some() => {
            if url.password().is_some() {
                // Only URLs that cannot have a password refuse one.
                let _ = url.set_password(Some("hidden"));
            }
            if url.query().is_some() {
                url.set_query(Some("hidden"));
            }
            url.into()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    struct Demo {
        #[command(flatten)]
        config: ConfigArgs,
        #[arg(long, default_value = "d-plain")]
        plain: String,
        // cargo sets this variable for every test.
        #[arg(long, env = "CARGO_PKG_NAME", default_value = "d-name")]
        package: String,
        #[arg(long)]
        several: Vec<String>,
        #[arg(long)]
        database_url: Option<String>,
        #[arg(long)]
        processor_key_file: Option<PathBuf>,
    }

    fn load(arguments: &[&str], file: &str) -> Result<Loaded<Demo>, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.toml");
        fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let arguments = ["demo", "--config", path].into_iter().chain(arguments.iter().copied()).map(OsString::from);
        load_from(arguments, &[]).map(|outcome| outcome.unwrap())
    }

    #[test]
    fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
        let file = "plain = \"f-plain\"\npackage = \"f-name\"\nseveral = [\"a\", \"b\"]\n";
        let only_file = load(&[], file).unwrap().settings;
        assert_eq!((only_file.plain.as_str(), only_file.package.as_str()), ("f-plain", "dropin-boot"));
        assert_eq!(only_file.several, ["a", "b"]);
        let flags = load(&["--plain", "c", "--package=c", "--several", "c"], file).unwrap().settings;
        assert_eq!((flags.plain.as_str(), flags.package.as_str()), ("c", "c"));
        assert_eq!(flags.several, ["c"]);
        assert_eq!(load(&[], "").unwrap().settings.plain, "d-plain");
    }

    #[test]
    fn a_program_may_have_defaults_of_its_own() {
        let demo: Loaded<Demo> = load_from(["demo".into()], &[("plain", "own")]).unwrap().unwrap();
        assert_eq!(demo.settings.plain, "own");
        #[derive(Debug, Parser)]
        struct Required {
            #[arg(long)]
            listen: String,
        }
        let given: Loaded<Required> = load_from(["demo".into()], &[("listen", "here")]).unwrap().unwrap();
        assert_eq!(given.settings.listen, "here");
    }

    #[test]
    fn a_file_with_an_unknown_setting_or_a_wrong_form_is_refused() {
        let unknown = load(&[], "plane = \"x\"").unwrap_err().to_string();
        assert!(unknown.contains("plane") && unknown.contains("plain"), "{unknown}");
        assert!(matches!(load(&[], "[plain]\nx = 1"), Err(ConfigError::Form { .. })));
        let broken = load(&[], "plain = \"ok\"\nSECRET SECRET").unwrap_err().to_string();
        assert!(broken.contains("line 2") && !broken.contains("SECRET"), "{broken}");
    }

    #[test]
    fn the_report_names_every_source_and_hides_passwords() {
        let url = "postgres://dropin:geheim@db/dropin?sslmode=disable&password=geheim";
        let report = load(&["--database-url", url], "plain = \"f\"").unwrap().report;
        for line in [
            "plain = \"f\"  # file",
            "package = \"dropin-boot\"  # environment CARGO_PKG_NAME",
            "database_url = \"postgres://dropin:hidden@db/dropin?hidden\"  # flag",
            "# environment PROCESSOR_KEY: not set",
        ] {
            assert!(report.lines().any(|found| found == line), "{line} is not in\n{report}");
        }
        assert!(!report.contains("geheim"), "{report}");
    }
}
