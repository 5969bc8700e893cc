//! The guard ends what a run started, even when the run is cut off without a word.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A marker that no other run has.
fn marker(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

fn guard(marker: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["guard", marker]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("xtask was built")
}

#[test]
fn a_process_that_left_its_group_is_ended_when_the_pipe_closes() {
    let marker = marker("left-its-group");
    let mut guard = guard(&marker);
    let mut daemon = Command::new("setsid");
    let mut daemon = daemon.args(["sleep", "600"]).env("DROPIN_XTASK_RUN", &marker).spawn().expect("setsid exists");
    drop(guard.stdin.take());
    assert!(!daemon.wait().expect("it was started here").success());
    assert!(guard.wait().expect("it was started here").success());
}

#[test]
fn the_database_is_gone_when_the_pipe_closes() {
    let folder = std::env::temp_dir().join(format!("dropin-{}", marker("guard-test")));
    let mut guard = guard(&marker("database"));
    let mut orders = guard.stdin.take().expect("it was started with a pipe");
    writeln!(orders, "postgres {}", folder.display()).expect("the guard is alive");
    let mut answer = String::new();
    let mut answers = BufReader::new(guard.stdout.take().expect("it was started with a pipe"));
    answers.read_line(&mut answer).expect("the guard is alive");
    let port =
        answer.trim().strip_prefix("ready postgres://postgres@127.0.0.1:").and_then(|rest| rest.split('/').next());
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("the server is ready, on loopback");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());

    drop(orders);
    assert!(guard.wait().expect("it was started here").success());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the server still answers");
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[test]
fn a_folder_is_gone_when_the_pipe_closes_and_nobody_writes_there_any_more() {
    let marker = marker("writes-on");
    let folder = std::env::temp_dir().join(format!("dropin-{marker}"));
    let mut guard = guard(&marker);
    let mut orders = guard.stdin.take().expect("it was started with a pipe");
    writeln!(orders, "remove {}", folder.display()).expect("the guard is alive");
    std::fs::create_dir_all(folder.join("deep")).expect("a folder");
    let write = format!("while mkdir -p {0} && echo more >> {0}/more; do :; done", folder.join("below").display());
    let mut writer = Command::new("sh");
    let mut writer = writer.args(["-c", &write]).env("DROPIN_XTASK_RUN", &marker).spawn().expect("sh exists");
    drop(orders);
    assert!(guard.wait().expect("it was started here").success());
    assert!(!writer.wait().expect("it was started here").success());
    assert!(!folder.exists(), "{} is left", folder.display());
}
