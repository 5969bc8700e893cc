//! Where settings come from: a flag wins over the environment, that over the TOML file, that over the default.
//!
//! clap knows the flags and the environment; values of the file become clap's defaults before it looks at either. So
//! each setting is described once, and help, file and environment never disagree.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Parser, ValueEnum};
use toml::{Table, Value};
use url::Url;

use crate::config_error::ConfigError;
use crate::logs::{LogFormat, is_json, report_failure, set_format};
use crate::variables::unknown_in_environment;

/// The variable that names the TOML file when no flag does.
const FILE_VARIABLE: &str = "DROPIN_CONFIG";

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
    /// What is worth a warning, each with what to do; logged by [`Loaded::warn`].
    pub warnings: Vec<String>,
}

impl<P> Loaded<P> {
    /// Logs the warnings, once logs were started.
    pub fn warn(&self) {
        self.warnings.iter().for_each(|warning| log::warn!("{warning}"));
    }
}

/// Reads the settings of a program from its command line, environment and file. `defaults` replaces defaults of single
/// settings, by their names. Wrong flags, `--help` and `--version` end the process, as clap does.
///
/// # Errors
/// [`ConfigError`] when the file cannot be used.
pub fn load<P: Parser>(defaults: &[(&str, &str)]) -> Result<Loaded<P>, ConfigError> {
    Ok(load_from(std::env::args_os(), defaults)?.unwrap_or_else(|error| {
        if error.use_stderr() && is_json() {
            // clap's own text is for a terminal, and has several lines.
            report_failure(error.to_string().trim());
            std::process::exit(error.exit_code());
        }
        error.exit()
    }))
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
    set_format(format_asked_for(&arguments));
    if let Some(path) = config_file(&arguments) {
        file = read_file(&path)?;
        if file.get("database_url").and_then(Value::as_str).is_some_and(has_password) {
            dropin_private_file::check(&path)?;
        }
        if file.get("log_format").is_some_and(|format| format.as_str() == Some("json"))
            && format_asked_for(&arguments).is_none()
        {
            set_format(Some(LogFormat::Json));
        }
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
        let warnings = unknown_in_environment();
        let mut report = report(&command, &matches, &file);
        warnings.iter().for_each(|warning| report += &format!("# warning: {warning}\n"));
        Ok(Loaded { settings: P::from_arg_matches(&matches)?, report, warnings })
    }))
}

/// What the command line, else the environment, says of the log's format: needed before clap can run, for what is wrong with either.
fn format_asked_for(arguments: &[OsString]) -> Option<LogFormat> {
    let given = flag(arguments, "--log-format").or_else(|| std::env::var_os("DROPIN_LOG_FORMAT"))?;
    LogFormat::from_str(given.to_str()?, false).ok()
}

/// The file is needed before clap can run, so its name is found with a command that knows nothing else.
fn config_file(arguments: &[OsString]) -> Option<PathBuf> {
    let named = flag(arguments, "--config").or_else(|| std::env::var_os(FILE_VARIABLE));
    named.filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The last value that the command line gives to a flag, which begins with `--`.
fn flag(arguments: &[OsString], name: &str) -> Option<OsString> {
    let arguments = arguments.iter().position(|argument| argument == "--").map_or(arguments, |end| &arguments[..end]);
    let mut given = None;
    for (at, argument) in arguments.iter().enumerate() {
        if argument == name {
            given = arguments.get(at + 1).cloned();
        } else if let Some(value) = argument.to_str().and_then(|text| text.strip_prefix(name)?.strip_prefix('=')) {
            given = Some(value.into());
        }
    }
    given
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
    match name {
        "processor_key_file" => Some("PROCESSOR_KEY"),
        "screening_score_key_file" => Some("DROPIN_SCREENING_SCORE_KEY"),
        _ => None,
    }
}

/// JSON's quotation is one of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a database's URL holds a password, before the `@` or as libpq's parameter. One that only libpq can read (of several hosts with ports) may.
fn has_password(url: &str) -> bool {
    match Url::parse(url) {
        Ok(url) => url.password().is_some() || url.query_pairs().any(|(name, _)| name.contains("password")),
        Err(_) => url.starts_with("postgres"),
    }
}

/// A URL without its password, nor its query, which may carry one too (libpq reads `?password=`); any other text as it is.
pub fn hide_password(text: &str) -> String {
    match Url::parse(text) {
        Err(_) if text.starts_with("postgres") && text.contains('@') => "postgres://hidden".to_owned(),
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
    fn a_password_is_found_wherever_libpq_looks_for_it() {
        for secret in ["postgres://u:geheim@h/d", "postgres:///d?password=geheim", "postgres://u:geheim@a:1,b:2/d"] {
            assert!(has_password(secret) && !hide_password(secret).contains("geheim"), "{secret}");
            let refused = load(&[], &format!("database_url = {secret:?}")).map(drop).unwrap_err().to_string();
            assert!(refused.contains("chmod 600") && !refused.contains("geheim"), "{refused}");
        }
        assert!(!has_password("postgres://u@h/d?sslmode=disable") && !has_password("sqlite://d"));
    }

    #[test]
    fn a_file_with_a_password_that_others_may_read_is_refused() {
        // A new file is open to others, as most machines are set up.
        let open = load(&[], "database_url = \"postgres://u:geheim@h/d\"").map(drop);
        let message = open.unwrap_err().to_string();
        assert!(message.contains("chmod 600") && !message.contains("geheim"), "{message}");
        assert!(load(&[], "database_url = \"postgres://u@h/d?sslmode=disable\"").is_ok());
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
