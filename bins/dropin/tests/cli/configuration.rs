use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program::{Data, command, parse, run};

/// The report of `--check-config`.
fn report(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut program = command(&[arguments, &["--check-config"]].concat(), environment);
    // Nothing listens here: the port of tests is left out.
    let output = program.env_remove("DROPIN_ADMIN_LISTEN").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn line(report: &str, name: &str) -> String {
    report.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}:\n{report}")).to_owned()
}

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let data = Data::new();
    let file = data.path().join("dropin.toml");
    fs::write(&file, "listen = \"127.0.0.1:3\"\nworkers = 3\ntarget = [\"session-api\", \"settler\"]\n").unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(line(&report(&[], &[]), "listen"), "listen = \"127.0.0.1:8080\"  # default");
    let from_file = report(&["--config", file], &[]);
    assert_eq!(line(&from_file, "listen"), "listen = \"127.0.0.1:3\"  # file");
    assert_eq!(line(&from_file, "target"), "target = [\"session-api\", \"settler\"]  # file");
    let environment = [("DROPIN_CONFIG", file), ("DROPIN_LISTEN", "127.0.0.1:2")];
    let both = report(&[], &environment);
    assert_eq!(line(&both, "listen"), "listen = \"127.0.0.1:2\"  # environment DROPIN_LISTEN");
    assert_eq!(line(&both, "workers"), "workers = \"3\"  # file");
    let all = report(&["--listen", "127.0.0.1:1"], &environment);
    assert_eq!(line(&all, "listen"), "listen = \"127.0.0.1:1\"  # flag");
}

#[test]
fn secrets_are_never_printed() {
    let environment = [("DATABASE_URL", "postgres://dropin:geheim@db/dropin"), ("PROCESSOR_KEY", "geheim")];
    let report = report(&[], &environment);
    assert!(!report.contains("geheim"), "{report}");
    assert_eq!(
        line(&report, "database_url ="),
        "database_url = \"postgres://dropin:hidden@db/dropin\"  # environment DATABASE_URL"
    );
    assert!(report.contains("PROCESSOR_KEY: set, hidden"), "{report}");
}

#[test]
fn wrong_settings_are_refused_before_anything_starts() {
    for environment in [("DATABASE_URL", "mysql://h/d"), ("DROPIN_LISTEN", "here"), ("DROPIN_CONFIG", "/nowhere.toml")]
    {
        let output = run(&["--check-config"], &[environment]);
        assert!(!output.status.success(), "{environment:?}");
        assert!(!output.stderr.is_empty(), "{environment:?}");
    }
}

#[test]
fn a_variable_that_nobody_knows_is_told() {
    let data = Data::new();
    let output = run(&["merchant", "create", "--name", "N", "--data", &data.folder()], &[("DROPIN_KEYZ", "x")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("DROPIN_KEYZ") && said.contains("DROPIN_KEYS?"), "{said}");
    let report = report(&[], &[("DROPIN_DOKS", "x")]);
    assert!(report.contains("# warning: DROPIN_DOKS") && report.contains("DROPIN_DOCS?"), "{report}");
}

/// Whatever goes wrong, each line on either output is one of JSON.
#[test]
fn with_json_logs_the_last_words_are_json_too() {
    let data = Data::new();
    let (folder, toml) = (data.folder(), data.path().join("dropin.toml"));
    fs::write(&toml, "log_format = \"json\"\n").unwrap();
    let toml = toml.to_str().unwrap();
    let json: (&[&str], &[(&str, &str)]) = (&[], &[("DROPIN_LOG_FORMAT", "json")]);
    for ((arguments, environment), rest) in [
        (json, &["--listen", "0.0.0.0:0"][..]),
        (json, &["--listen", "nowhere"]),
        (json, &["--no-such-flag"]),
        (json, &["merchant", "list"]),
        (json, &["ledger", "verify"]),
        (json, &["--config", "/nowhere.toml"]),
        ((&["--log-format=json"], &[]), &["merchant", "show", "no-id"]),
        ((&["--config", toml], &[]), &["merchant", "list"]),
    ] {
        let output = run(&[arguments, &["--data", &folder], rest].concat(), environment);
        assert!(!output.status.success(), "{rest:?}");
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        let lines: Vec<_> = said.lines().map(parse).collect();
        let last = lines.last().unwrap_or_else(|| panic!("{rest:?} says nothing"));
        assert_eq!(last["level"], "ERROR", "{said}");
        assert!(
            last["message"].as_str().is_some_and(|message| !message.is_empty()) && last["time"].is_string(),
            "{said}"
        );
    }
}

#[test]
fn what_is_dangerous_is_refused_at_the_start_with_what_to_do() {
    let data = Data::new();
    let folder = data.folder();
    let refused = |arguments: &[&str], environment: &[(&str, &str)]| {
        let all = [&["--data", &folder, "--no-demo", "--listen", "127.0.0.1:0"], arguments].concat();
        let output = run(&all, environment);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&["--behind-proxy"], &[]);
    assert!(said.contains("DROPIN_MODE=sandbox") && said.contains("DROPIN_MODE=production"), "{said}");
    let processor = [("PROCESSOR_URL", "https://processor.example"), ("PROCESSOR_KEY", "k")];
    for flag in ["--base-url", "--checkout-url", "--asset-url", "--stash-url", "--pay-later-script-url"] {
        let said = refused(&["--mode", "production", flag, "http://pay.example"], &processor);
        assert!(said.contains(&flag[2..].replace('-', "_")) && said.contains("https://"), "{flag}: {said}");
    }
    let said = refused(&["--mode", "production", "--behind-proxy", "--asset-url", "https://a.example"], &processor);
    assert!(said.contains("stash_url leads to this machine") && said.contains("DROPIN_STASH_URL"), "{said}");
    for flag in ["--base-url", "--checkout-url", "--asset-url", "--stash-url"] {
        let said = refused(&[flag, "pay.example"], &[]);
        assert!(said.contains("has to be an absolute http or https URL"), "{flag}: {said}");
    }
    let key = data.path().join("processor.key");
    fs::write(&key, "hush").unwrap();
    let said = refused(&["--processor-key-file", key.to_str().unwrap()], &[]);
    assert!(said.contains("chmod 600") && !said.contains("hush"), "{said}");
    assert!(run(&["migrate", "--data", &folder], &[]).status.success());
    let database = data.file("dropin.db");
    fs::set_permissions(&database, PermissionsExt::from_mode(0o644)).unwrap();
    let said = refused(&[], &[]);
    assert!(said.contains(&format!("chmod 600 {}", database.display())), "{said}");
}

#[test]
fn the_first_merchant_of_a_folder_says_that_it_makes_a_database() {
    let data = Data::new();
    let create = |name: &str| {
        let output = run(&["merchant", "create", "--name", name, "--json", "--data", &data.folder()], &[]);
        assert!(output.status.success());
        parse(&String::from_utf8(output.stdout).unwrap());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = create("One");
    let path = data.file("dropin.db");
    assert!(said.contains(&format!("there is no database at {}: making a new one", path.display())), "{said}");
    let said = create("Two");
    assert!(!said.contains("database"), "{said}");
}

#[test]
fn the_example_names_every_variable_and_is_accepted() {
    let example = include_str!("../../example.env");
    let settings = || example.lines().filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('='));
    let named: BTreeSet<_> = settings().map(|(name, _)| name).filter(|name| !name.contains(' ')).collect();
    let help = String::from_utf8(run(&["--help"], &[]).stdout).unwrap();
    let known = help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next());
    // The one secret that is no flag.
    assert_eq!(named, known.chain(["PROCESSOR_KEY"]).collect());
    let active: Vec<_> =
        example.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('=')).collect();
    let plain =
        |report: &str| report.lines().map(|line| line.split("  # ").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(plain(&report(&[], &active)), plain(&report(&[], &[])), "an active value is not the default");
}
