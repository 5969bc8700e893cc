//! The program: killed at any moment it loses nothing it answered; it stops in order; it says what is wrong.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{Caller, KEY, PLAIN, asking, audit, authorization, fresh_key, money, until};
use actix_web::http::Method;
use futures_util::future::join_all;

/// Ends with the test, whatever becomes of it.
struct Owned(Child);

impl Owned {
    /// SIGKILL.
    fn kill(&mut self) {
        self.0.kill().expect("a running program");
        self.0.wait().expect("its end");
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _status = self.0.wait();
    }
}

struct Program {
    child: Owned,
    caller: Caller,
    log: JoinHandle<String>,
}

fn command(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox-processor"));
    command
        .args(["--listen", "127.0.0.1:0", "--capture-delay-ms", "0", "--silence-ms", "100", "--database"])
        .arg(database)
        .env("SANDBOX_PROCESSOR_KEY", KEY)
        .env("RUST_LOG", "info")
        .stderr(Stdio::piped());
    command
}

impl Program {
    fn start(database: &Path) -> Self {
        let mut child = command(database).spawn().expect("the program");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (listening, address) = mpsc::channel();
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            while let Some(Ok(line)) = lines.next() {
                if let Some((_, address)) = line.split_once("listening on http://") {
                    let _nobody_asks = listening.send(address.trim().to_owned());
                }
                log.push_str(&line);
                log.push('\n');
            }
            log
        });
        let address = address.recv_timeout(Duration::from_secs(20)).expect("the program listens");
        Self { child: Owned(child), caller: Caller::new(address.parse().expect("an address"), ""), log }
    }
}

/// Authorizes and captures until the connection breaks; gives the keys with the status and outcome that were answered.
async fn hammer(caller: Caller, answered: mpsc::Sender<()>) -> BTreeMap<String, Option<String>> {
    let mut seen = BTreeMap::new();
    loop {
        let (authorize, capture) = (fresh_key(), fresh_key());
        for (path, key, body) in [
            ("/v1/authorizations", &authorize, authorization("4000000000002016")),
            ("/v1/captures", &capture, money(&authorize, "29.90", "USD")),
        ] {
            seen.insert(key.clone(), None);
            match caller.try_post(path, key, &body).await {
                Ok(answer) => seen.insert(key.clone(), Some(answer.outcome().to_owned())),
                Err(_killed) => return seen,
            };
            let _nobody_counts = answered.send(());
        }
    }
}

#[actix_web::test]
async fn kill_minus_nine_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("processor.db");
    let mut expected = BTreeMap::new();
    for round in 0..6 {
        let Program { mut child, caller, .. } = Program::start(&database);
        let (answered, count) = mpsc::channel();
        let callers: Vec<_> = (0..8).map(|_| actix_web::rt::spawn(hammer(caller.clone(), answered.clone()))).collect();
        // Not in step with the calls: after a number of answers that differs from round to round.
        let killer = std::thread::spawn(move || {
            for _ in 0..20 + 17 * round {
                count.recv_timeout(Duration::from_secs(20)).expect("answers");
            }
            child.kill();
        });
        for seen in join_all(callers).await {
            expected.extend(seen.unwrap());
        }
        killer.join().unwrap();
        audit(&database);
    }
    let program = Program::start(&database);
    let mut kept = 0;
    for (key, answered) in &expected {
        let now = program.caller.operation(key).await;
        match answered {
            // Pending captures are due at once, so they have been settled by now.
            Some(outcome) => assert!(now.outcome() == outcome || outcome == "PENDING" && now.outcome() == "APPROVED"),
            None => assert!(now.status == 404 || now.outcome() == "APPROVED", "{now:?}"),
        }
        kept += usize::from(answered.is_some());
    }
    assert!(kept >= 6 * 20, "{kept}");
    drop(program);
    audit(&database);
}

/// Has shoppers pay at their bank and sends their forms twice, until the connection breaks; gives each key with whether a form was answered.
async fn shop(caller: Caller, answered: mpsc::Sender<()>) -> BTreeMap<String, bool> {
    let mut seen = BTreeMap::new();
    loop {
        let key = fresh_key();
        let body = asking(serde_json::json!({"Method": "IDEAL"}));
        let Ok(pending) = caller.try_post("/v1/authorizations", &key, &body).await else { return seen };
        seen.insert(key.clone(), false);
        let page = pending.page();
        let Ok(shown) = caller.send(Method::GET, &page, &[], String::new()).await else { return seen };
        for _ in 0..2 {
            match caller.try_form(&page, &shown.form(), "pay", None).await {
                Ok(back) => assert_eq!(back.status, 303),
                Err(_killed) => return seen,
            }
            seen.insert(key.clone(), true);
            let _nobody_counts = answered.send(());
        }
    }
}

#[actix_web::test]
async fn kill_minus_nine_decides_no_page_twice_and_forgets_none() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("processor.db");
    let mut expected = BTreeMap::new();
    for round in 0..4 {
        let Program { mut child, caller, .. } = Program::start(&database);
        let (answered, count) = mpsc::channel();
        let shoppers: Vec<_> = (0..8).map(|_| actix_web::rt::spawn(shop(caller.clone(), answered.clone()))).collect();
        let killer = std::thread::spawn(move || {
            for _ in 0..20 + 17 * round {
                count.recv_timeout(Duration::from_secs(20)).expect("answers");
            }
            child.kill();
        });
        for seen in join_all(shoppers).await {
            expected.extend(seen.unwrap());
        }
        killer.join().unwrap();
        audit(&database);
    }
    let program = Program::start(&database);
    for (key, answered) in &expected {
        let now = program.caller.operation(key).await;
        assert!(now.outcome() == "APPROVED" || !answered && now.outcome() == "PENDING", "{now:?}");
    }
    assert!(expected.values().filter(|answered| **answered).count() >= 4 * 10);
    drop(program);
    audit(&database);
}

#[cfg(unix)]
#[actix_web::test]
async fn sigterm_lets_a_running_call_finish_and_the_log_holds_no_card_number() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(&folder.path().join("processor.db"));
    let caller = program.caller.clone();
    assert_eq!(caller.get("/healthz").await.text, "ok\n");
    let bearer = format!("Bearer {KEY}");
    for path in [format!("/v1/operations/{PLAIN}"), format!("/{PLAIN}"), format!("/v1/journal?after={PLAIN}x")] {
        let answer = caller.send(Method::GET, &path, &[("Authorization", &bearer)], String::new()).await.unwrap();
        assert!(!answer.text.contains(PLAIN) && answer.body["Code"].is_string(), "{}", answer.text);
    }
    caller.post("/v1/authorizations", PLAIN, authorization(PLAIN)).await;
    caller.authorized(PLAIN).await;
    let (_, pending) = caller.pending(serde_json::json!({})).await;
    let page = pending.page();
    assert_eq!(caller.press(&page, "succeed").await.status, 303);
    let key = fresh_key();
    caller.faults(serde_json::json!({"Mode": "timeout_after_work", "DelayMs": 1000, "Remaining": 1})).await;
    let running = actix_web::rt::spawn({
        let (caller, key) = (caller.clone(), key.clone());
        async move { caller.authorize(&key, PLAIN).await }
    });
    until("the work", || async { (caller.operation(&key).await.status == 200).then_some(()) }).await;
    let pid = program.child.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(running.await.unwrap().code(), "PROCESSOR_TIMEOUT");
    assert!(program.child.0.wait().unwrap().success());
    let log = program.log.join().unwrap();
    assert!(log.contains("POST /v1/authorizations 200"), "{log}");
    assert!(!log.contains(PLAIN) && !log.contains(KEY), "{log}");
    let token = page.rsplit('/').next().expect("a token");
    assert!(log.contains("POST /pages/{token} 303") && !log.contains(token), "{log}");
}

#[test]
fn it_says_why_it_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("processor.db");
    let failing = |change: &dyn Fn(&mut Command)| {
        let mut command = command(&database);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut log = String::new();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(!child.wait().unwrap().success());
        log
    };
    let log = failing(&|command| {
        command.env_remove("SANDBOX_PROCESSOR_KEY");
    });
    assert!(log.contains("set SANDBOX_PROCESSOR_KEY or name a file with --key-file"), "{log}");
    let log = failing(&|command| {
        command.args(["--key-file", "/nonexistent/key"]);
    });
    assert!(log.contains("key file") && log.contains("cannot read /nonexistent/key"), "{log}");
    let open = folder.path().join("open.key");
    std::fs::write(&open, KEY).unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let log = failing(&|command| {
        command.arg("--key-file").arg(&open);
    });
    assert!(log.contains("chmod 600"), "{log}");
    for open in ["0.0.0.0:0", "[::]:0"] {
        let mut outside = Command::new(env!("CARGO_BIN_EXE_sandbox-processor"));
        outside.args(["--listen", open, "--database"]).arg(&database).env("SANDBOX_PROCESSOR_KEY", KEY);
        let output = outside.output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not a loopback address"), "{open}");
    }
    assert!(!database.exists(), "nothing is made before the configuration is right");
}
