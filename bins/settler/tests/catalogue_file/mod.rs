//! A wrong file of payment methods, with which every program that reads one refuses to start. session-api has this module, too.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far longer than a start that is refused takes.
const LONG: Duration = Duration::from_secs(30);

/// What the program at this path says, which has to end at once with this file of payment methods.
fn refused_with(program: &str, methods: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("methods.toml");
    fs::write(&file, methods).unwrap();
    let database = format!("sqlite://{}", folder.path().join("dropin.db").display());
    let processor = [("PROCESSOR_URL", "http://127.0.0.1:1"), ("PROCESSOR_KEY", "key")];
    let mut command = Command::new(program);
    command.env_clear().args(["--listen", "127.0.0.1:0", "--data"]).arg(folder.path());
    command.env("DATABASE_URL", database).env("DROPIN_CATALOGUE", &file).envs(processor);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if LONG < begun.elapsed() => break None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(status.is_some_and(|status| !status.success()), "{methods}: {said}");
    said
}

/// The program at this path tells what is wrong in each of several files.
pub(crate) fn must_be_refused(program: &str) {
    for (text, place) in [
        ("[TIKKIE]\npartial_capture = true\n", "[TIKKIE] is no payment method"),
        ("[VISA]\npartial_capture = true\n", "[VISA] partial_capture: leave it out"),
        ("[TIKKIE]\nname = \"Tikkie\"\nclass = \"Onlin\"\n", "[TIKKIE] class: write Online or Offline"),
        ("[TIKKIE", "line 1"),
    ] {
        let said = refused_with(program, text);
        assert!(said.contains("methods.toml") && said.contains(place), "{text}: {said}");
        assert!(said.contains("--catalogue (DROPIN_CATALOGUE) names this file"), "{text}: {said}");
    }
}
