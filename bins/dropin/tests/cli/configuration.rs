use std::collections::BTreeSet;
use std::fs;

use crate::program::{Data, run};

/// The report of `--check-config`.
fn report(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = run(&[arguments, &["--check-config"]].concat(), environment);
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
