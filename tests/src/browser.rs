use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Longest time of one browser scenario, far above what any needs.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs one scenario of tests/browser in headless Chromium; `input` goes in as JSON and what the scenario saw comes back as JSON.
///
/// A missing browser, node or playwright-core fails the test.
pub async fn run(scenario: &str, input: &Value) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("browser");
    let mut node = Command::new("node")
        .arg("run.mjs")
        .arg(scenario)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node starts (cargo xtask test installs it)");
    let mut stdin = node.stdin.take().expect("piped");
    stdin.write_all(input.to_string().as_bytes()).await.expect("the scenario reads its input");
    drop(stdin);
    let output = tokio::time::timeout(LIMIT, node.wait_with_output())
        .await
        .unwrap_or_else(|_late| panic!("the scenario {scenario} did not end within {LIMIT:?}"))
        .expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the scenario {scenario} failed:\n{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("the scenario {scenario} said no JSON ({error}): {}", String::from_utf8_lossy(&output.stdout))
    })
}
