use std::path::PathBuf;

use dropin_private_file::PrivacyError;
use dropin_risk::Mistakes;

use crate::mode::Mode;

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
    /// By this key a sandbox would move money, or production would not.
    #[error("{}", match mode {
        Mode::Sandbox => "PROCESSOR_KEY is no test key of Stripe's: a sandbox takes those alone (sk_test_…, rk_test_…), since any other moves money",
        Mode::Production => "PROCESSOR_KEY is a test key of Stripe's, by which no money moves: production needs a live one (sk_live_…, rk_live_…)",
    })]
    ProcessorKeyMode {
        /// What the deployment is.
        mode: Mode,
    },
    /// The database URL has a form that no database of ours has.
    #[error("DATABASE_URL has to begin with sqlite://, postgres:// or postgresql://")]
    DatabaseUrl,
    /// The database URL would be cut in the midst of its password, and the rest of that be taken for a host, which logs show.
    #[error(
        "the user name or password in DATABASE_URL holds a character that means something else there: write %40 for @, %2F for /, %3F for ?, %23 for # and \
         %25 for %; behind the ? stand parameters as name=value"
    )]
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
    /// The deployment's file of payment methods cannot be used.
    #[error("{0}; --catalogue (DROPIN_CATALOGUE) names this file")]
    CatalogueFile(Box<Self>),
    /// The deployment's rules of screening have mistakes.
    #[error("{path} cannot be used (--screening-rules, DROPIN_SCREENING_RULES):\n{mistakes}")]
    ScreeningRules {
        /// Which file.
        path: PathBuf,
        /// All of them.
        mistakes: Mistakes,
    },
    /// The file of further processors makes no sense.
    #[error("{path}: {message}; --processors (DROPIN_PROCESSORS) names this file")]
    Processors {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// The processor is said to do a payment method that there is not.
    #[error(
        "--processor-methods (PROCESSOR_METHODS), or the file of --processors (DROPIN_PROCESSORS), names {id}: it has to be one of {known}; the file of --catalogue (DROPIN_CATALOGUE) adds others"
    )]
    ProcessorMethod {
        /// Its id.
        id: String,
        /// Those that there are.
        known: String,
    },
    /// The address of the messaging script is none.
    #[error("pay_later_script_url has to be an http or https URL, for example https://{{region}}.later.example/lib.js")]
    Script,
    /// An address that has to be a URL is none.
    #[error("{name} has to be an absolute http or https URL without query, for example https://pay.example")]
    Url {
        /// Which setting.
        name: &'static str,
    },
    /// A public address of production would show payments on the network.
    #[error(
        "{name} begins with http://: in production a public address has to begin with https://, unless it leads to this machine (127.0.0.1 or localhost)"
    )]
    PlainHttp {
        /// Which setting.
        name: &'static str,
    },
    /// A public address of production leads to the machine of whoever uses it.
    #[error(
        "{name} leads to this machine, and other machines reach this program: their browsers would look for it on their own machine, and send \
         cards there; set {variable} to the address under which browsers reach it"
    )]
    Loopback {
        /// Which setting.
        name: &'static str,
        /// Its variable.
        variable: &'static str,
    },
    /// A file with a secret cannot be read, or other users may open it.
    #[error(transparent)]
    Private(#[from] PrivacyError),
    /// Nobody said whether money moves, and others reach the program.
    #[error(
        "DROPIN_MODE is not set, and {0} lets others reach this deployment: set DROPIN_MODE=production (--mode production), or DROPIN_MODE=sandbox when no money is to move"
    )]
    Mode(String),
}
