//! What `dropin merchant …` takes.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};
use dropin_access::{Origin, Permission, ProcessorRule, RateForm, SavedCardKind};
use dropin_catalogue::{GooglePayAccount, PayLaterRegion};
use dropin_kernel::{EndpointId, MerchantId, parse_span};
use dropin_money::Currency;
use dropin_notification::{EventFilter, Schedule};
use dropin_rates::Markup;

use super::credentials::CredentialsCommand;
use crate::cli::Output;

/// Help for permissions.
const PERMISSIONS: &str =
    "session:write, session:read, order:read, order:capture, order:refund or checkout; may be repeated";

#[derive(Debug, Subcommand)]
pub(crate) enum MerchantCommand {
    /// Create a merchant with one API user; its credentials are shown this once
    Create(CreateMerchant),
    /// Show every merchant
    List(Output),
    /// Show one merchant with its API users and webhook endpoints
    Show {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Change a merchant; running services follow within two seconds
    Set(Box<SetMerchant>),
    /// API users
    #[command(subcommand)]
    User(UserCommand),
    /// Webhook endpoints
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    /// Webhook secrets
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Which payment processors a merchant's payments go to
    #[command(subcommand)]
    Processor(ProcessorCommand),
    /// Keys of accounts that a merchant has of its own at processors
    #[command(subcommand)]
    Credentials(CredentialsCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProcessorCommand {
    /// Show the rules; the first that is about a payment decides
    Show {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Replace all rules, for payments that begin from now on; running services follow within two seconds
    Set {
        /// MerchantId
        id: MerchantId,
        /// Processors in the order in which they are asked, and what the rule is about: "stripe-eu,stripe-us methods=VISA,MC currencies=EUR countries=DE"; one
        /// without conditions, as the last, is about every other payment; may be repeated
        #[arg(long = "rule", value_name = "RULE", value_parser = ProcessorRule::from_str, required = true)]
        rules: Vec<ProcessorRule>,
        #[command(flatten)]
        output: Output,
    },
    /// Take all rules away: its payments go to the main processor again
    Clear {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CreateMerchant {
    /// Name that shoppers see
    #[arg(long)]
    pub(crate) name: String,
    /// Where it is told of changes; https; http in a sandbox
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// Origin whose pages may embed the drop-in, such as https://shop.example; may be repeated
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = Origin::parse)]
    pub(crate) origins: Vec<Origin>,
    /// Currency that it may charge in, such as USD; may be repeated [default: all]
    #[arg(long = "currency", value_name = "CODE", value_parser = Currency::from_str)]
    pub(crate) currencies: Vec<Currency>,
    /// Form of its exchange rates: spot (indications) or guaranteed (offers that Sessions are priced by) [default: spot]
    #[arg(long, value_name = "FORM", value_parser = rate_form)]
    pub(crate) rates: Option<RateForm>,
    /// Currency that it is paid out in [default: EUR]
    #[arg(long, value_name = "CODE", value_parser = Currency::from_str)]
    pub(crate) settlement_currency: Option<Currency>,
    /// What is put on the rate of a currency, in basis points, such as BRL=250 for 2.5 %; may be repeated
    #[arg(long = "markup", value_name = "CODE=POINTS", value_parser = markup)]
    pub(crate) markups: Vec<(Currency, Markup)>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct SetMerchant {
    /// MerchantId
    pub(crate) id: MerchantId,
    #[command(flatten)]
    pub(crate) settings: MerchantSettings,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Switch {
    pub(crate) fn is_on(self) -> bool {
        self == Self::On
    }
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct MerchantSettings {
    /// Name that shoppers see
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Origin whose pages may embed the drop-in; may be repeated; replaces all that it has
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = Origin::parse, conflicts_with = "no_origins")]
    pub(crate) origins: Vec<Origin>,
    /// No page of its own may embed the drop-in or stash cards
    #[arg(long)]
    pub(crate) no_origins: bool,
    /// Currency that it may charge in; may be repeated; replaces all that it has
    #[arg(long = "currency", value_name = "CODE", value_parser = Currency::from_str)]
    pub(crate) currencies: Vec<Currency>,
    /// Payment method that it offers, whatever the deployment does; one of the deployment's own too (DROPIN_CATALOGUE); may be repeated
    #[arg(long = "method", value_name = "ID")]
    pub(crate) methods: Vec<String>,
    /// Payment method that it does not offer; may be repeated
    #[arg(long = "no-method", value_name = "ID")]
    pub(crate) no_methods: Vec<String>,
    /// TOML file that narrows its payment methods, as a deployment's catalogue file does; replaces all that was particular about them, and an
    /// empty one takes it away
    #[arg(long, value_name = "FILE")]
    pub(crate) methods_file: Option<PathBuf>,
    /// Its client id with the pay-later provider, by region, such as eu=K1234; without an id it is taken away; may be repeated
    #[arg(long = "pay-later-client", value_name = "REGION=ID", value_parser = pay_later_client)]
    pub(crate) pay_later_clients: Vec<(PayLaterRegion, Option<String>)>,
    /// Its account for Google Pay, which it then offers: GATEWAY:GATEWAY_MERCHANT_ID:COUNTRY, and :GOOGLE_MERCHANT_ID in production
    #[arg(long, value_name = "ACCOUNT", value_parser = GooglePayAccount::from_str, conflicts_with = "no_google_pay")]
    pub(crate) google_pay: Option<GooglePayAccount>,
    /// It does not offer Google Pay, and has no account for it
    #[arg(long)]
    pub(crate) no_google_pay: bool,
    /// Whether issuers compare the postcode of the billing address (off unless set); with on, the drop-in asks the shopper for one where a
    /// Session has none, in countries whose form of postcodes is known
    #[arg(long, value_name = "SWITCH")]
    pub(crate) address_check: Option<Switch>,
    /// How long its unpaid Sessions live, such as 24h; for Sessions created from now on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) session_lifetime: Option<Duration>,
    /// How many attempts to pay each of its Sessions allows, 1 to 20 (5 unless set); for Sessions created from now on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) attempts: Option<u32>,
    /// Whether returning shoppers are offered the cards that they saved (off unless set); with on, a BillingProfileReference stands for a customer
    /// who is logged in to the shop
    #[arg(long, value_name = "SWITCH")]
    pub(crate) saved_cards: Option<Switch>,
    /// What AllowContract opens: one-click (the shopper alone pays with the card; unless set), or unscheduled (the merchant may charge it later,
    /// too, and the consent text says so); for cards saved from now on
    #[arg(long, value_name = "KIND", value_parser = saved_card_kind)]
    pub(crate) saved_card_kind: Option<SavedCardKind>,
    /// Whether its payments are screened for fraud and card testing; a merchant begins with off in a sandbox and with on in production
    #[arg(long, value_name = "SWITCH")]
    pub(crate) screening: Option<Switch>,
    /// Form of its exchange rates: spot (indications) or guaranteed (offers that Sessions are priced by)
    #[arg(long, value_name = "FORM", value_parser = rate_form)]
    pub(crate) rates: Option<RateForm>,
    /// Currency that it is paid out in; offers that were made keep theirs
    #[arg(long, value_name = "CODE", value_parser = Currency::from_str)]
    pub(crate) settlement_currency: Option<Currency>,
    /// What is put on the rate of a currency, in basis points, such as BRL=250 for 2.5 %; 0 takes it off; may be repeated
    #[arg(long = "markup", value_name = "CODE=POINTS", value_parser = markup)]
    pub(crate) markups: Vec<(Currency, Markup)>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add an API user to a merchant; its password is shown this once
    Add {
        /// MerchantId
        id: MerchantId,
        #[arg(long = "permission", value_name = "PERMISSION", value_parser = Permission::from_str,
            help = format!("What it may do: {PERMISSIONS} [default: all]"))]
        permissions: Vec<Permission>,
        #[command(flatten)]
        output: Output,
    },
    /// Show a merchant's API users
    List {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Let an API user do exactly this
    Set {
        /// User name
        username: String,
        #[arg(long = "permission", value_name = "PERMISSION", value_parser = Permission::from_str, required = true,
            help = format!("What it may do: {PERMISSIONS}"))]
        permissions: Vec<Permission>,
        #[command(flatten)]
        output: Output,
    },
    /// Shut an API user out for ever, within two seconds
    Revoke {
        /// User name
        username: String,
        #[command(flatten)]
        output: Output,
    },
    /// Give an API user a new password, shown this once; the old one counts for a while
    Rotate {
        /// User name
        username: String,
        /// For how long the old password counts too, such as 24h, 30m or 0
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "24h")]
        overlap: Duration,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EndpointCommand {
    /// Tell a merchant's server of changes there too; its secret is shown this once
    Add {
        /// MerchantId
        id: MerchantId,
        /// https; http in a sandbox
        #[arg(long, value_name = "URL")]
        url: String,
        /// What it is told of, such as ORDER_*,SESSION_FAILED [default: everything]
        #[arg(long, value_name = "EVENTS", value_parser = EventFilter::from_str)]
        events: Option<EventFilter>,
        /// When what failed is tried again, such as 5s,30s,2m,10m,1h;72h: waits, and when it is given up [default: as the notifier does]
        #[arg(long, value_name = "SCHEDULE", value_parser = Schedule::from_str)]
        retry: Option<Schedule>,
        #[command(flatten)]
        output: Output,
    },
    /// Show a merchant's endpoints, and for each how many payments wait, what came of the last try at them, and how many notifications are parked
    List {
        /// MerchantId
        id: MerchantId,
        #[command(flatten)]
        output: Output,
    },
    /// Change an endpoint; it counts for what waits, too
    Set {
        /// EndpointId
        id: EndpointId,
        #[command(flatten)]
        settings: EndpointSettings,
        #[command(flatten)]
        output: Output,
    },
    /// Send nothing there any more; what waits for it is parked
    Remove {
        /// EndpointId
        id: EndpointId,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct EndpointSettings {
    /// Where it is from now on; https; http in a sandbox
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// What it is told of, such as ORDER_*,SESSION_FAILED
    #[arg(long, value_name = "EVENTS", value_parser = EventFilter::from_str, conflicts_with = "all_events")]
    pub(crate) events: Option<EventFilter>,
    /// It is told of everything
    #[arg(long)]
    pub(crate) all_events: bool,
    /// When what failed is tried again, such as 5s,30s,2m,10m,1h;72h: waits, and when it is given up
    #[arg(long, value_name = "SCHEDULE", value_parser = Schedule::from_str, conflicts_with = "standard_retry")]
    pub(crate) retry: Option<Schedule>,
    /// What failed is tried again as the notifier does by itself
    #[arg(long)]
    pub(crate) standard_retry: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// Give an endpoint a new secret, shown this once; the old one signs too for a while
    Rotate {
        /// EndpointId
        id: EndpointId,
        /// For how long the old secret signs too, such as 24h, 30m or 0
        #[arg(long, value_name = "TIME", value_parser = time, default_value = "24h")]
        overlap: Duration,
        #[command(flatten)]
        output: Output,
    },
}

/// A markup as people write it: a currency and basis points.
fn markup(text: &str) -> Result<(Currency, Markup), String> {
    let advice = || "must be a currency and basis points, such as BRL=250 for 2.5 %".to_owned();
    let (code, points) = text.split_once('=').ok_or_else(advice)?;
    let currency = code.parse().map_err(|_unknown| advice())?;
    let points = points.parse().map_err(|_not_a_number| advice())?;
    Ok((currency, Markup::from_basis_points(points).map_err(|error| error.to_string())?))
}

/// The kind of contract that a word names.
fn saved_card_kind(word: &str) -> Result<SavedCardKind, &'static str> {
    let named = SavedCardKind::ALL.into_iter().find(|kind| kind.as_str().to_lowercase().replace('_', "-") == word);
    named.ok_or("must be one-click or unscheduled")
}

/// The form of rates that a word names.
fn rate_form(word: &str) -> Result<RateForm, &'static str> {
    let named = RateForm::ALL.into_iter().find(|form| form.as_str().to_lowercase() == word);
    named.ok_or("must be spot or guaranteed")
}

fn pay_later_client(text: &str) -> Result<(PayLaterRegion, Option<String>), String> {
    let advice = "must be eu, na or oc, =, and an id of 1 to 128 of A-Z a-z 0-9 . _ -, such as eu=K1234";
    let (name, client) = text.split_once('=').ok_or(advice)?;
    let region = name.parse::<PayLaterRegion>().map_err(|_unknown| advice)?;
    let fits = client.len() <= 128 && client.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !fits {
        return Err(advice.to_owned());
    }
    Ok((region, Some(client.to_owned()).filter(|client| !client.is_empty())))
}

/// A time as people write it: a whole number and s, m, h or d; 0 needs no unit.
fn time(text: &str) -> Result<Duration, String> {
    let span = if text == "0" { Some(Duration::ZERO) } else { parse_span(text) };
    span.ok_or_else(|| "must be a whole number with s, m, h or d, such as 30m or 24h".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(line: &str) -> Result<MerchantCommand, clap::Error> {
        let cli = Cli::try_parse_from(["dropin", "merchant"].into_iter().chain(line.split_ascii_whitespace()))?;
        match cli.command {
            Some(Command::Merchant(command)) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_merchant_is_described_in_one_line() {
        let line = "create --name N --webhook-url http://127.0.0.1:1/w --origin http://localhost:1 --currency USD --currency EUR --json";
        let Ok(MerchantCommand::Create(create)) = parse(line) else { panic!() };
        assert_eq!(create.currencies, [Currency::Usd, Currency::Eur]);
        assert!(create.output.json && create.origins.len() == 1);
        let line = "create --name N --rates guaranteed --settlement-currency USD --markup BRL=250 --markup JPY=1";
        let Ok(MerchantCommand::Create(create)) = parse(line) else { panic!() };
        let points: Vec<_> = create.markups.iter().map(|(code, markup)| (code.code(), markup.basis_points())).collect();
        assert_eq!((create.rates, points.as_slice()), (Some(RateForm::Guaranteed), &[("BRL", 250), ("JPY", 1)][..]));
        for wrong in ["--rates=SPOT", "--markup=BRL", "--markup=BRL=2.5", "--markup=BRL=2001", "--markup=XXX=1"] {
            assert!(parse(&format!("create --name N {wrong}")).is_err(), "{wrong}");
        }
        for wrong in ["--origin=https://shop.example/path", "--currency=XXX"] {
            assert!(parse(&format!("create --name N {wrong}")).is_err());
        }
    }

    #[test]
    fn something_has_to_be_set() {
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        assert!(parse(&format!("set {id}")).is_err());
        assert!(parse(&format!("set {id} --no-origins --origin https://shop.example")).is_err());
        let Ok(MerchantCommand::Set(set)) = parse(&format!("set {id} --name N --session-lifetime 90m")) else {
            panic!()
        };
        assert_eq!(set.settings.session_lifetime, Some(Duration::from_secs(5_400)));
        assert!(parse("user set api-1").is_err());
    }

    #[test]
    fn saved_cards_are_switched_by_words() {
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        let line = format!("set {id} --saved-cards on --saved-card-kind unscheduled");
        let Ok(MerchantCommand::Set(set)) = parse(&line) else { panic!() };
        assert_eq!(set.settings.saved_cards, Some(Switch::On));
        assert_eq!(set.settings.saved_card_kind, Some(SavedCardKind::Unscheduled));
        for wrong in
            ["--saved-cards yes", "--saved-cards", "--saved-card-kind recurring", "--saved-card-kind ONE_CLICK"]
        {
            assert!(parse(&format!("set {id} {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn google_pay_is_offered_by_an_account_and_addresses_are_checked_by_a_word() {
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        let set = |rest: &str| match parse(&format!("set {id} {rest}")) {
            Ok(MerchantCommand::Set(set)) => set.settings,
            other => panic!("{other:?}"),
        };
        let account = set("--google-pay example:shop-17:NL --address-check on");
        assert_eq!(account.google_pay, "example:shop-17:NL".parse().ok());
        assert_eq!((account.address_check, account.no_google_pay), (Some(Switch::On), false));
        assert!(set("--no-google-pay").no_google_pay);
        for wrong in ["--google-pay example", "--google-pay a:b:NL --no-google-pay", "--address-check yes"] {
            assert!(parse(&format!("set {id} {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn methods_are_named_by_their_ids() {
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        let line =
            "--method BLIK --no-method PAYPAL --no-method VISA --pay-later-client eu=K_1.a-2 --pay-later-client oc=";
        let Ok(MerchantCommand::Set(set)) = parse(&format!("set {id} {line}")) else { panic!() };
        assert_eq!(set.settings.methods, ["BLIK"]);
        assert_eq!(set.settings.no_methods, ["PAYPAL", "VISA"]);
        let clients = [(PayLaterRegion::Europe, Some("K_1.a-2".to_owned())), (PayLaterRegion::Oceania, None)];
        assert_eq!(set.settings.pay_later_clients, clients);
        for wrong in ["--pay-later-client K1", "--pay-later-client us=K1", "--pay-later-client eu=K/1"] {
            assert!(parse(&format!("set {id} {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_endpoint_is_set_by_what_is_given() {
        let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
        let set = |line: &str| match parse(&format!("endpoint set {id} {line}")) {
            Ok(MerchantCommand::Endpoint(EndpointCommand::Set { settings, .. })) => Some(settings),
            _ => None,
        };
        let all = set("--url http://a --events ORDER_*,REFUND_FAILED --retry 5s,1m;1d").expect("all of it");
        let text = |one: Option<&dyn std::fmt::Display>| one.map(|one| one.to_string());
        assert_eq!(text(all.events.as_ref().map(|one| one as _)).as_deref(), Some("ORDER_*,REFUND_FAILED"));
        assert_eq!(text(all.retry.as_ref().map(|one| one as _)).as_deref(), Some("5s,1m;1d"));
        assert!(set("--all-events --standard-retry").is_some_and(|one| one.all_events && one.standard_retry));
        for wrong in ["", "--events order", "--retry 5s", "--events A --all-events", "--retry 5s;1d --standard-retry"] {
            assert!(set(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn times_have_units() {
        let read = |text| time(text).ok().map(|time| time.as_secs());
        assert_eq!(["0", "5s", "30m", "2d"].map(read), [0, 5, 1_800, 172_800].map(Some));
        for wrong in ["", "5", "00", "-1h", "24ʰ"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
