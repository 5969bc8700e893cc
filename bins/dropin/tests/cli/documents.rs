//! docs/settings.md and docs/metrics.md, made from the programs: `cargo xtask docs` (DROPIN_REGENERATE=1) writes them, else these tests compare.
//! And the commands that the documents name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use dropin_order::DeclineReason;
use sandbox_processor::Arguments;

use crate::program::{Data, Dropin, call};

/// The small services, with the variables that each reads.
const SERVICES: [(&str, &str); 6] = [
    ("session-api", include_str!("../../../session-api/example.env")),
    ("checkout-api", include_str!("../../../checkout-api/example.env")),
    ("stash-api", include_str!("../../../stash-api/example.env")),
    ("notifier", include_str!("../../../notifier/example.env")),
    ("settler", include_str!("../../../settler/example.env")),
    ("admin-panel", include_str!("../../../admin-panel/example.env")),
];

/// The page's parts, each with the groups in it that clap makes of our structs. Of a struct with others in it clap makes an empty group.
const SECTIONS: [(&str, &[&str]); 10] = [
    ("Parts and addresses", &["DocsArgs"]),
    ("Database, keys and mode", &["StoreArgs", "KeyArgs", "ModeArgs"]),
    ("Listeners and requests", &["ListenArgs", "AccessArgs"]),
    ("Stash", &["StashArgs", "StashLimitArgs"]),
    ("Calls to the processor", &["ProcessorEventArgs", "ProcessorLimitArgs"]),
    ("Notifications", &["WebhookArgs", "RetentionArgs"]),
    ("Exchange rates", &["RateSourceArgs", "OfferArgs"]),
    ("Payment methods and wallet", &["CatalogueArgs", "CatalogueFileArgs", "WalletArgs"]),
    ("Screening", &["ScreeningArgs", "IpCountriesArgs", "OutsideScoreArgs", "ScreeningRetentionArgs"]),
    ("Logs and settings file", &["LogArgs", "ConfigArgs"]),
];

/// What flags of the notifier begin with that clap has in no group. All other such flags belong to the first part.
const DELIVERY: [&str; 3] = ["delivery-", "endpoint-", "retry-"];

/// The part of the deployment that tells of a metric, by the beginning of its name.
const TELLERS: [(&str, &str); 15] = [
    ("dropin_audit_", "settler"),
    ("dropin_authorizations_", "checkout-api, settler, admin-panel"),
    ("dropin_http_", "Every program"),
    ("dropin_clock_", "Every program"),
    ("dropin_processor_", "session-api, checkout-api, settler, admin-panel"),
    ("dropin_operations_", "settler"),
    ("dropin_disputes_", "settler"),
    ("dropin_rates_", "settler"),
    ("dropin_notif", "notifier"),
    ("dropin_wallet_", "checkout-api"),
    ("dropin_screening_rules_", "checkout-api, settler, admin-panel"),
    ("dropin_screening_decisions_", "checkout-api, settler"),
    ("dropin_screening_failures_", "checkout-api, settler"),
    ("dropin_screening_unchallenged_", "checkout-api, settler"),
    ("dropin_screening_alarms", "checkout-api, settler"),
];

/// What a deployment on SQLite does not tell, as it would stand in its /metrics.
const ON_POSTGRESQL: &str = "\
# HELP dropin_clock_difference_milliseconds Milliseconds that this machine's clock was ahead of or behind the database's when it was measured last.
# TYPE dropin_clock_difference_milliseconds gauge
dropin_clock_difference_milliseconds{direction=\"ahead\"} 0
dropin_clock_difference_milliseconds{direction=\"behind\"} 0
";

/// What a deployment without a merchant tells, and what follows there with one that has a wallet.
const WITHOUT_MERCHANT: &str = "# TYPE dropin_wallet_certificate_seconds gauge\n";
const OF_MERCHANT: &str = "dropin_wallet_certificate_seconds{merchant=\"\"} 0\n";

/// What a deployment tells that authorized nothing yet, before what follows of those that ended in every way.
const WITHOUT_AUTHORIZATION: &str = "# TYPE dropin_authorizations_total counter\n";

fn of_authorizations() -> String {
    let outcomes = DeclineReason::ALL.into_iter().map(DeclineReason::as_str).chain(["APPROVED"]);
    let line =
        |outcome| format!("dropin_authorizations_total{{processor=\"sandbox\",method=\"\",outcome=\"{outcome}\"}} 0\n");
    outcomes.map(line).collect()
}

/// Compares a page with the one in docs, or writes it there.
fn committed(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("DROPIN_REGENERATE").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "docs/{name} is stale: run `cargo xtask docs` and commit; it would be\n{text}");
}

/// Whether an example file names a variable.
fn names(example: &str, variable: &str) -> bool {
    let mut lines = example.lines().filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('='));
    lines.any(|(name, _)| name == variable)
}

/// The small programs that know a variable beside `dropin`.
fn programs(variable: &str) -> String {
    let knowing: Vec<_> =
        SERVICES.iter().filter(|(_, example)| names(example, variable)).map(|(name, _)| *name).collect();
    match knowing.len() {
        0 => "dropin alone".to_owned(),
        len if len == SERVICES.len() => "all".to_owned(),
        _ => knowing.join(", "),
    }
}

fn variable(argument: &Arg) -> Option<&str> {
    argument.get_env()?.to_str()
}

/// The unit of a setting's number, where clap shows it as the value's name.
fn unit(argument: &Arg) -> &'static str {
    match argument.get_value_names().and_then(<[_]>::first).map(|name| name.as_str()) {
        Some("SECONDS") => " s",
        Some("MILLISECONDS") => " ms",
        Some("BYTES") => " bytes",
        Some("PERCENT") => " %",
        _ => "",
    }
}

/// A setting's meaning, and its default: clap's own, or the one that its help ends with.
fn meaning(argument: &Arg) -> (String, String) {
    let help = argument.get_long_help().or(argument.get_help()).expect("a help text").to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (help, told) = help.split_once(" [default: ").unwrap_or((&help, ""));
    let mut help = help.to_owned();
    let values: Vec<_> = argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !values.is_empty() {
        write!(help, " ({})", values.join(", ")).unwrap();
    }
    let own: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match told.strip_suffix(']') {
        Some(told) => told.to_owned(),
        None if own.is_empty() => "none".to_owned(),
        None => format!("`{}`{}", own.join(","), unit(argument)),
    };
    (help.replace('|', "\\|"), default)
}

fn row(page: &mut String, argument: &Arg, programs: Option<&str>) {
    let (meaning, default) = meaning(argument);
    let flag = argument.get_long().unwrap();
    write!(page, "| `--{flag}` | `{}` | {default} | {meaning} |", variable(argument).unwrap()).unwrap();
    writeln!(page, "{}", programs.map(|programs| format!(" {programs} |")).unwrap_or_default()).unwrap();
}

fn settings() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         Generated from the programs' flags by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         Each setting is a flag, a variable of the environment, and a name in the TOML file: the flag with `_` in place of `-`\n\
         ([OPERATIONS.md](OPERATIONS.md#settings)). `dropin` has all of them, with the defaults shown. The last column names the small programs that have a setting\n\
         too. Their addresses have other defaults: each program's `example.env` shows them.\n\
         `PROCESSOR_KEY` and `SANDBOX_PROCESSOR_KEY` hold a key in the environment and are no flags.\n",
    );
    let command = dropin::command();
    for (title, _) in SECTIONS {
        write!(page, "\n## {title}\n\n| Flag | Environment | Default | Meaning | Programs |\n|---|---|---|---|---|\n")
            .unwrap();
        for argument in command.get_arguments() {
            if let Some(variable) = variable(argument)
                && section(&command, argument) == title
            {
                row(&mut page, argument, Some(&programs(variable)));
            }
        }
    }
    page.push_str("\n## sandbox-processor\n\n| Flag | Environment | Default | Meaning |\n|---|---|---|---|\n");
    let command = Arguments::command();
    command.get_arguments().filter(|one| variable(one).is_some()).for_each(|one| row(&mut page, one, None));
    page
}

/// The title of the part that a setting stands in.
fn section(command: &Command, argument: &Arg) -> &'static str {
    let group = command.get_groups().find(|group| group.get_args().any(|id| id == argument.get_id()));
    let Some(group) = group.map(|group| group.get_id().as_str()) else {
        let flag = argument.get_long().unwrap();
        let is_delivery = DELIVERY.iter().any(|start| flag.starts_with(start));
        return if is_delivery { "Notifications" } else { SECTIONS[0].0 };
    };
    let found = SECTIONS.iter().find(|(_, groups)| groups.contains(&group));
    found.unwrap_or_else(|| panic!("SECTIONS does not name {group}")).0
}

/// One metric as /metrics tells it.
#[derive(Default)]
struct Family {
    kind: String,
    help: String,
    /// Each label with its values.
    labels: BTreeMap<String, BTreeSet<String>>,
}

/// The metrics of Prometheus' text format, in its order.
fn families(text: &str) -> Vec<(String, Family)> {
    let mut found = Vec::<(String, Family)>::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|told| told.split_once(' ')) {
            found.push((name.to_owned(), Family { help: help.to_owned(), ..Family::default() }));
            continue;
        }
        let (_, family) = found.last_mut().expect("HELP comes first");
        if let Some((_, kind)) = line.strip_prefix("# TYPE ").and_then(|told| told.split_once(' ')) {
            kind.clone_into(&mut family.kind);
        } else if let Some((_, labels)) = line.split_once('{') {
            // No value of ours holds a quotation mark.
            let parts: Vec<_> = labels.split('"').collect();
            for pair in parts.chunks_exact(2) {
                let label = pair[0].trim_start_matches(',').trim_end_matches('=').to_owned();
                family.labels.entry(label).or_default().insert(pair[1].to_owned());
            }
        }
    }
    found
}

fn metrics() -> String {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo"]);
    let base = dropin.shown("Session API");
    assert_eq!(call("GET", &format!("{base}/healthz"), &[], "").0, 200);
    let text = call("GET", &format!("{base}/metrics"), &[], "").1 + ON_POSTGRESQL;
    let text = text.replace(WITHOUT_MERCHANT, &format!("{WITHOUT_MERCHANT}{OF_MERCHANT}"));
    let text = text.replace(WITHOUT_AUTHORIZATION, &format!("{WITHOUT_AUTHORIZATION}{}", of_authorizations()));
    dropin.stop();
    let mut page = String::from(
        "# Metrics\n\n\
         Generated from what a running `dropin` tells at `/metrics`, by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         `dropin` tells all of them, a small program its own. [OPERATIONS.md](OPERATIONS.md#alerts) says when to call a person.\n",
    );
    let mut families = families(&text);
    for teller in TELLERS.iter().map(|(_, teller)| *teller).collect::<BTreeSet<_>>() {
        write!(page, "\n## {teller}\n\n| Metric | Kind | Labels | Tells |\n|---|---|---|---|\n").unwrap();
        let prefixes = || TELLERS.iter().filter(|(_, one)| *one == teller).map(|(prefix, _)| *prefix);
        families.retain(|(name, family)| {
            if !prefixes().any(|prefix| name.starts_with(prefix)) {
                return true;
            }
            let Family { kind, help, labels } = family;
            writeln!(page, "| `{name}` | {kind} | {} | {help} |", described(labels)).unwrap();
            false
        });
    }
    let rest: Vec<_> = families.iter().map(|(name, _)| name).collect();
    assert!(rest.is_empty(), "TELLERS does not say who tells {rest:?}");
    page
}

/// The labels, with all values where these are ours and not a request's.
fn described(labels: &BTreeMap<String, BTreeSet<String>>) -> String {
    let described = labels.iter().filter(|(label, _)| *label != "le").map(|(label, values)| match label.as_str() {
        "method" | "route" | "status" | "merchant" => format!("`{label}`"),
        _ => format!("`{label}`: {}", values.iter().cloned().collect::<Vec<_>>().join(", ")),
    });
    described.collect::<Vec<_>>().join("; ")
}

#[test]
fn the_page_of_settings_is_current() {
    committed("settings.md", &settings());
}

#[test]
fn the_page_of_metrics_is_current() {
    committed("metrics.md", &metrics());
}

/// What is wrong with a command line of a document: a subcommand or a flag that does not exist. Names in capitals and values are passed over.
fn unknown_in(line: &str) -> Option<String> {
    let mut command = dropin::command();
    command.build();
    let (mut at, mut words) = (&command, line.split_whitespace().skip(1));
    while let Some(word) = words.next() {
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.trim_end_matches(',');
            let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let mut known = at.get_arguments().chain(command.get_arguments());
            match known.find(|one| one.get_long() == Some(name)) {
                None => return Some(word.to_owned()),
                Some(one) if value.is_none() && one.get_action().takes_values() && !one.is_require_equals_set() => {
                    words.next();
                }
                Some(_) => {}
            }
        } else if let Some(next) = at.find_subcommand(word) {
            at = next;
        } else if at.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Some(word.to_owned());
        }
    }
    None
}

#[test]
fn every_command_of_the_documents_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut checked, mut wrong) = (0, Vec::new());
    for folder in [root.clone(), root.join("docs"), root.join("docs/design")] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
            let lines = quoted.chain(text.lines()).filter(|line| line.starts_with("dropin "));
            for line in lines {
                checked += 1;
                wrong.extend(unknown_in(line).map(|what| format!("{}: {what} in {line}", path.display())));
            }
        }
    }
    assert!(50 < checked, "only {checked} commands were found: this test looks in the wrong place");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
