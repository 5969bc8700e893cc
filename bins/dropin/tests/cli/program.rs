//! A running `dropin`, and a small HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Far longer than anything here takes; only a broken program lets it pass.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The program with nothing in its environment but this.
pub(crate) fn command(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dropin"));
    command
        .args(arguments)
        .env_clear()
        .env("DROPIN_ADMIN_LISTEN", "127.0.0.1:0")
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    command
}

/// Runs to the end.
pub(crate) fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    command(arguments, environment).output().unwrap()
}

/// Runs to a good end; what it printed.
#[track_caller]
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = run(arguments, &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs to a bad end; what it says about it.
#[track_caller]
pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = run(arguments, &[]);
    assert!(!output.status.success(), "{arguments:?} should have been refused");
    String::from_utf8(output.stderr).unwrap()
}

/// A folder of one test's own.
pub(crate) struct Data(tempfile::TempDir);

impl Data {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The data folder, which does not exist yet.
    pub(crate) fn folder(&self) -> String {
        self.path().join("data").to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join("data").join(name)
    }
}

/// A running program; killed when a test fails.
pub(crate) struct Dropin {
    child: Child,
    lines: Receiver<String>,
    /// What it printed until it was ready.
    pub(crate) banner: String,
}

impl Dropin {
    /// Starts it on free ports and waits until it says that it runs.
    pub(crate) fn start(data: &Data, arguments: &[&str]) -> Self {
        let folder = data.folder();
        let mut all = vec!["--data", &folder, "--listen", "127.0.0.1:0", "--shop-listen", "127.0.0.1:0"];
        all.retain(|argument| !arguments.contains(argument));
        if arguments.contains(&"--shop-listen") {
            all.pop();
        }
        all.extend(arguments);
        let mut child = command(&all, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let errors = send.clone();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).for_each(|line| drop(send.send(line)))
        });
        std::thread::spawn(move || {
            BufReader::new(err).lines().map_while(Result::ok).for_each(|line| drop(errors.send(line)))
        });
        let mut running = Self { child, lines, banner: String::new() };
        let ready = |banner: &str| banner.contains("Ctrl-c stops.") || banner.contains(r#""message":"Dropin runs"#);
        while !ready(&running.banner) {
            let line = running.lines.recv_timeout(LONG);
            running.banner += &line.unwrap_or_else(|_| panic!("it did not start:\n{}", running.banner));
            running.banner.push('\n');
        }
        running
    }

    /// The value of a line of the banner.
    pub(crate) fn shown(&self, name: &str) -> String {
        let line = self.banner.lines().find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} is not in\n{}", self.banner)).trim().to_owned()
    }

    /// A member of the banner, where that is a line of JSON.
    pub(crate) fn member(&self, name: &str) -> String {
        let lines = self.banner.lines().map(parse);
        let mut found = lines.filter_map(|line| line[name].as_str().map(str::to_owned));
        found.next().unwrap_or_else(|| panic!("{name} is not in\n{}", self.banner))
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits for a clean end; everything it wrote since it was ready.
    pub(crate) fn stop(mut self) -> String {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONG, "it does not stop");
            std::thread::sleep(Duration::from_millis(5));
        };
        let rest: Vec<_> = self.lines.iter().collect();
        assert!(status.success(), "{status}: {}", rest.join("\n"));
        rest.join("\n")
    }
}

impl Drop for Dropin {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One request on a connection of its own; status and body.
pub(crate) fn call(method: &str, url: &str, headers: &[String], body: &str) -> (u16, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let length = body.len();
    let mut request =
        format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Reads JSON.
#[track_caller]
pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A JSON body posted with credentials.
pub(crate) fn post(url: &str, credentials: &Value, body: &Value) -> (u16, Value) {
    let pair = format!("{}:{}", credentials["Username"].as_str().unwrap(), credentials["Password"].as_str().unwrap());
    let headers = [basic(&pair), "Content-Type: application/json".to_owned()];
    let (status, body) = call("POST", url, &headers, &body.to_string());
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// The header for a user name and password.
pub(crate) fn basic(pair: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in pair.as_bytes().chunks(3) {
        let bits = group.iter().chain([&0; 2]).take(3).fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        for at in 0..4 {
            let sextet = (bits >> (18 - 6 * at)) & 63;
            encoded.push(if at <= group.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    format!("Authorization: Basic {encoded}")
}

/// Asks until there is an answer.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < LONG, "waited for nothing: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A port that nobody uses now.
pub(crate) fn free_address() -> String {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below the ports that the system gives to whoever asks for any: nobody else gets it before the program starts.
    let begin = u16::try_from(std::process::id() % 9_000).unwrap();
    let mut ports = std::iter::repeat_with(|| 13_000 + begin + NEXT.fetch_add(1, Ordering::Relaxed) % 9_000);
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap();
    format!("127.0.0.1:{free}")
}

/// A whole Session request; every call names another reference.
pub(crate) fn session_request() -> Value {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    serde_json::json!({
        "MerchantReference": format!("order {number}"), "AutoCapture": true, "Currency": "EUR",
        "CompleteUrl": "https://shop.example/", "CancelUrl": "https://shop.example/",
        "Items": [{"Name": "Postcard", "Amount": 2.5, "Quantity": 1}],
        "BillingProfile": {
            "Name": "Ada Lovelace", "Email": "ada@example.com",
            "Address": {"Street": "Unter den Linden 1", "City": "Berlin", "Country": "DE"},
        },
    })
}
