//! What a running stash-api keeps of a card in its memory: nothing, once the browser has its answer and has gone.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dropin_access::{ApiUser, Merchant, MerchantParts, PasswordHash, Permissions};
use dropin_kernel::{ApiUserId, MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{AccessStore, NewMerchant};
use dropin_store::{Role, Store, StoreConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use uuid::Uuid;

const MERCHANT: MerchantId = MerchantId::new(Uuid::from_u128(0x6f1c_3b2a_1d2e_4f3a_8b4c_5d6e_7f80_9113));

/// The program itself, killed when dropped.
struct Program(Child, SocketAddr);

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn make_merchant(url: &str) {
    let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
    let parts = MerchantParts {
        id: MERCHANT,
        name: "Shop".to_owned(),
        currencies: vec![Currency::Usd],
        origins: vec![],
        session_lifetime: Duration::from_secs(86_400),
        attempts_allowed: 5,
        saved_cards: Default::default(),
        screening: Default::default(),
        processors: Default::default(),
        methods: Default::default(),
        sandbox: true,
        created_at: Timestamp::from_micros(0),
    };
    let merchant = Merchant::restore(parts).unwrap();
    let id = ApiUserId::new(Uuid::from_u128(1));
    let user = ApiUser::new(id, MERCHANT, "api".to_owned(), PasswordHash(vec![0; 32]), Permissions::all());
    store.insert_merchant(NewMerchant { merchant, user, endpoint: None, audit: audited() }).await.unwrap();
    store.close();
}

impl Program {
    async fn start(folder: &Path) -> Self {
        let url = format!("sqlite://{}", folder.join("dropin.db").display());
        make_merchant(&url).await;
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new(env!("CARGO_BIN_EXE_stash-api"))
            .env_clear()
            .args(["--listen", &address.to_string(), "--data"])
            .arg(folder)
            .env("DATABASE_URL", url)
            .env("RUST_LOG", "debug")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut program = Self(child, address);
        let begun = Instant::now();
        while TcpStream::connect(program.1).is_err() {
            assert!(program.0.try_wait().unwrap().is_none(), "it ended at once");
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not listen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        program
    }

    /// Which of these texts stand in its memory, and in which part of it; an error where the system does not let one look.
    fn memory_holds(&self, texts: &[String]) -> io::Result<Vec<String>> {
        let (maps, memory) = (format!("/proc/{}/maps", self.0.id()), format!("/proc/{}/mem", self.0.id()));
        let memory = File::open(memory)?;
        let mut found = Vec::new();
        for line in fs::read_to_string(maps)?.lines().filter(|line| line.contains(" rw")) {
            let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let [from, to] = [from, to].map(|end| u64::from_str_radix(end, 16).unwrap());
            // In pieces that overlap, so that none hides a text on its border.
            let mut piece = vec![0; 1 << 20];
            for start in (from..to).step_by(piece.len() - 64) {
                let length = piece.len().min(usize::try_from(to - start).unwrap());
                // Parts that are mapped and not there (guard pages) are refused.
                let read = memory.read_at(&mut piece[..length], start).unwrap_or_default();
                let part = line.split_whitespace().nth(5).unwrap_or("memory without a name");
                found.extend(places(&piece[..read], texts).into_iter().map(|one| format!("{one} in {part}")));
            }
        }
        Ok(found)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.1).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn send(&self, content_type: &str, body: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(head(content_type, body.len()).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// Which of the texts, all of which begin with [`RANGE`], stand in these bytes: their places in the list, and what is before them.
fn places(bytes: &[u8], texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for at in (0..bytes.len()).filter(|at| bytes[*at] == b'4' && bytes[*at..].starts_with(RANGE.as_bytes())) {
        if let Some(number) = texts.iter().position(|text| bytes[at..].starts_with(text.as_bytes())) {
            let before = String::from_utf8_lossy(&bytes[at.saturating_sub(40)..at]).escape_debug().to_string();
            found.push(format!("number {number} behind {before:?}"));
        }
    }
    found
}

fn head(content_type: &str, length: usize) -> String {
    format!(
        "POST /{MERCHANT}/cart HTTP/1.1\r\nHost: stash\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// How the published 4242 4242 4242 4242 begins.
const RANGE: &str = "42424242";

/// A number in that range, with its check digit.
fn number(count: u32) -> String {
    let body = format!("{RANGE}{:07}", 1_000_003 * (count + 1) % 9_999_991);
    let double = |digit: u32| if digit < 5 { 2 * digit } else { 2 * digit - 9 };
    let digits = body.bytes().map(|digit| u32::from(digit - b'0'));
    let sum: u32 = digits.enumerate().map(|(at, digit)| if at % 2 == 0 { double(digit) } else { digit }).sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}

fn form(number: &str) -> String {
    format!(
        r#"DeviceFingerprint=f&card={{"Name":"Ana","Number":"{number}","VerificationCode":"123","Expiry":{{"Year":"2035","Month":"12"}}}}"#
    )
}

const FORM: &str = "application/x-www-form-urlencoded";

/// What the program has of the machine's memory, in KiB, without pages of files: how much of its own code was read by then is another matter.
fn resident(program: &Program) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", program.0.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Six hundred clients of many addresses that each send most of a large form took 98 MB once.
#[tokio::test]
async fn half_sent_forms_take_little_memory() {
    const LENGTH: usize = 32_000;
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path()).await;
    assert_eq!(program.send(FORM, &form("")), "200");
    let before = resident(&program);
    let form = format!("DeviceFingerprint={}", "x".repeat(LENGTH - 1_000));
    let mut held = Vec::new();
    for number in 0..600_u32 {
        let socket = TcpSocket::new_v4().unwrap();
        let client = Ipv4Addr::new(127, 0, 3, u8::try_from(number % 100 + 1).unwrap());
        socket.bind(SocketAddr::from((client, 0))).unwrap();
        let mut stream = socket.connect(program.1).await.unwrap();
        stream.write_all(format!("{}{form}", head(FORM, LENGTH)).as_bytes()).await.unwrap();
        held.push(stream);
    }
    // The deadline for bodies is ten seconds; the most that is ever seen counts.
    let begun = Instant::now();
    let mut most = 0;
    while begun.elapsed() < Duration::from_secs(2) {
        most = most.max(resident(&program).saturating_sub(before));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(most < 48 * 1024, "{most} KiB for 600 of them");
    drop(held);
}

#[tokio::test]
async fn no_number_stays_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path()).await;
    let numbers: Vec<_> = (0..24).map(number).collect();
    // The search itself: a number that is on its way is found, or the system lets nobody look, which is what it was told.
    let half = form(&numbers[0]);
    let begun = Instant::now();
    loop {
        // Its time is over after ten seconds, which a search on a busy machine may take.
        let mut open = program.connect();
        open.write_all(format!("{}{half}", head(FORM, half.len() + 1)).as_bytes()).unwrap();
        match program.memory_holds(&numbers) {
            Ok(found) if found.is_empty() => {
                assert!(begun.elapsed() < Duration::from_secs(30), "the search finds nothing that is there")
            }
            Ok(_) => break,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for (at, number) in numbers.iter().enumerate() {
        let form = form(number);
        let (content_type, body, status) = match at % 6 {
            0 | 1 => (FORM, form, "200"),
            2 => (FORM, form.replace("\"}}", "\"}"), "400"),
            3 => (FORM, format!("{form}&padding={}", "x".repeat(64 * 1024)), "413"),
            4 => ("application/json", form, "415"),
            _ => (FORM, form.replace("123", "12"), "200"),
        };
        assert_eq!(program.send(content_type, &body), status, "{at}");
    }
    let begun = Instant::now();
    loop {
        let found = program.memory_holds(&numbers).unwrap();
        if found.is_empty() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "still in memory: {found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", program.0.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
}

/// An entry of the audit log where it does not matter which.
fn audited() -> dropin_ports::NewAuditEntry {
    let (id, at) = (Uuid::from_u128(1), Timestamp::from_micros(0));
    let (by, action) = (dropin_ports::Acting::system(), dropin_access::AuditAction::MerchantChange);
    dropin_ports::NewAuditEntry::new(id, at, by, None, action, dropin_ports::AuditSubject::deployment())
}
