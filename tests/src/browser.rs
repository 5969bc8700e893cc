use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Longest time of one browser scenario, far above what any needs.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs one scenario of tests/browser in headless Chromium; `input` goes in as JSON and what the scenario saw comes back as JSON.
///
/// All tests of a program share one node and one Chromium, which end with it; a scenario has contexts of its own there.
/// A missing browser, node or playwright-core fails the test.
pub async fn run(scenario: &str, input: &Value) -> Value {
    static BROWSER: OnceLock<Browser> = OnceLock::new();
    let answer = BROWSER.get_or_init(Browser::start).ask(scenario, input);
    let answer = tokio::time::timeout(LIMIT, answer)
        .await
        .unwrap_or_else(|_late| panic!("the scenario {scenario} did not end within {LIMIT:?}"))
        .expect("node runs (what it says stands above; cargo xtask test installs what it needs)");
    answer.seen.unwrap_or_else(|| panic!("the scenario {scenario} failed:\n{}", answer.error))
}

/// What a scenario saw, or how it failed.
#[derive(Deserialize)]
struct Answer {
    id: u64,
    seen: Option<Value>,
    #[serde(default)]
    error: String,
}

/// Who waits for which answer; `None` once node has said its last.
type Waiting = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>>;

/// The node that drives Chromium. It ends when the pipe to it does, with this program.
struct Browser {
    input: Mutex<ChildStdin>,
    waiting: Waiting,
    asked: AtomicU64,
    _node: Child,
}

impl Browser {
    fn start() -> Self {
        let mut node = Command::new("node")
            .arg("run.mjs")
            .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("browser"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts (cargo xtask test installs it)");
        let waiting = Waiting::new(Mutex::new(Some(HashMap::new())));
        let (output, hand_to) = (node.stdout.take().expect("piped"), waiting.clone());
        std::thread::spawn(move || hand_out(output, &hand_to));
        let input = Mutex::new(node.stdin.take().expect("piped"));
        Self { input, waiting, asked: AtomicU64::new(0), _node: node }
    }

    fn ask(&self, scenario: &str, input: &Value) -> oneshot::Receiver<Answer> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        locked(&self.waiting).as_mut().expect("node runs (what it says stands above)").insert(id, sender);
        let line = json!({"id": id, "scenario": scenario, "input": input});
        writeln!(locked(&self.input), "{line}").expect("node reads its input");
        receiver
    }
}

fn hand_out(output: ChildStdout, waiting: &Waiting) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let answer: Answer = serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"));
        // Whoever asked may have given up.
        let sender = locked(waiting).as_mut().and_then(|senders| senders.remove(&answer.id));
        sender.map(|sender| sender.send(answer));
    }
    // Node has ended: nobody waits for what does not come.
    locked(waiting).take();
}

/// A test that failed meanwhile is no reason for the others to fail.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
