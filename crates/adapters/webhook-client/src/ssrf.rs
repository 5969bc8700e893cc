//! Where the client does not go, however the place is spelled, whoever leads there: a canary on loopback counts who comes.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use dropin_access::TargetPolicy;
use dropin_notification::{AttemptOutcome, Failure};
use dropin_ports::WebhookSender;
use futures_util::future::LocalBoxFuture;
use tokio::net::{TcpListener, TcpStream};
use url::{Host, Url};

use crate::client::WebhookClient;
use crate::hostile::{Manner, Receiver, answered, config, failed, request, says};
use crate::internet::Internet;

/// Who must never be called: this machine, clouds' metadata, private and reserved networks.
const HIDDEN: [[u8; 4]; 14] = [
    [127, 0, 0, 1],
    [127, 0, 0, 2],
    [169, 254, 169, 254],
    [10, 0, 0, 1],
    [172, 16, 0, 1],
    [192, 168, 0, 1],
    [100, 64, 0, 1],
    [0, 0, 0, 0],
    [192, 0, 0, 192],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [198, 18, 0, 1],
    [224, 0, 0, 1],
    [255, 255, 255, 255],
];

/// Also never, and no IPv4 address inside.
const HIDDEN_V6: [&str; 14] = [
    "::1",
    "::",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "2001:10::1",
];

/// The spellings of an IPv4 address that URL parsers of this world understand, some of which ours refuses.
fn spellings_of_v4([a, b, c, d]: [u8; 4]) -> Vec<String> {
    let (plain, number) = (format!("{a}.{b}.{c}.{d}"), u32::from_be_bytes([a, b, c, d]));
    let (three, two) = (number & 0xff_ffff, number & 0xffff);
    let digits = |zero: u32| -> String {
        let exotic = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(zero + digit)).unwrap_or(c);
        plain.chars().map(exotic).collect()
    };
    let escaped = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02x}")).collect() };
    let mut all = vec![
        plain.clone(),
        format!("{plain}."),
        format!("{number}"),
        format!("{number}."),
        format!("0x{number:x}"),
        format!("0X{number:08X}"),
        format!("0{number:o}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("{a:#x}.0{b:o}.{c}.{d:#x}"),
        format!("0000000{a:o}.000{b:o}.00{c:o}.0{d:o}"),
        format!("{a}.{three}"),
        format!("{a:#x}.{three:#x}"),
        format!("{a}.{b}.{two}"),
        format!("0{a:o}.{b}.0{two:o}"),
        digits(0xff10),
        digits(0x1d7ce),
        plain.replace('.', "\u{3002}"),
        plain.replace('.', "\u{ff0e}"),
        plain.replace('.', "\u{ff61}"),
        plain.replace('.', "%2e"),
        plain.replacen('.', "\u{ad}.", 1),
        plain.replacen('.', "\u{200b}.", 1),
        escaped(&plain),
        escaped(&digits(0xff10)),
        escaped(&format!("{number}")),
        format!("{a}.{b}.{c}.{d}%00.shop.example"),
        format!("{plain}%20"),
    ];
    all.extend(v6_around([a, b, c, d]).into_iter().flat_map(spellings_of_v6));
    all.push(format!("[::ffff:{plain}]"));
    all.push(format!("[::{plain}]"));
    all.push(format!("[64:ff9b::{plain}]"));
    all.push(format!("[0:0:0:0:0:FFFF:{plain}]"));
    all
}

/// Every IPv6 address that stands for an IPv4 address somewhere.
fn v6_around([a, b, c, d]: [u8; 4]) -> Vec<Ipv6Addr> {
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let (middle, last) = (u16::from_be_bytes([0, c]), u16::from_be_bytes([d, 0]));
    vec![
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 1, high, middle, last, 0, 0),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
        Ipv6Addr::new(0x2a00, 1, 2, 3, 0, 0x5efe, high, low),
        Ipv6Addr::new(0x2a00, 1, 2, 3, 0x200, 0x5efe, high, low),
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low),
    ]
}

fn spellings_of_v6(address: Ipv6Addr) -> Vec<String> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let long = format!("{a:04x}:{b:04x}:{c:04x}:{d:04x}:{e:04x}:{f:04x}:{g:04x}:{h:04x}");
    vec![format!("[{address}]"), format!("[{}]", long.to_uppercase()), format!("[{long}]"), format!("[{address}%25lo]")]
}

/// Addresses that try to look like something else; `{port}` is the canary's.
const TRICKS: [&str; 34] = [
    "https://shop.example@127.0.0.1:{port}/",
    "https://shop.example:443@127.0.0.1:{port}/",
    "https://127.0.0.1:{port}@shop.example/",
    "https://shop.example%40127.0.0.1:{port}/",
    r"https://shop.example\@127.0.0.1:{port}/",
    r"https:\\127.0.0.1:{port}\",
    r"https:/\127.0.0.1:{port}/",
    r"https://127.0.0.1:{port}\@shop.example/",
    "https:127.0.0.1:{port}/",
    "https:/127.0.0.1:{port}/",
    "https:///127.0.0.1:{port}/",
    "https:////127.0.0.1:{port}/",
    "https://127.0.\t0.1:{port}/",
    "https://127.0.0.1\n:{port}/",
    "ht\ntps://127.0.0.1:{port}/",
    " \u{1} https://127.0.0.1:{port}/ ",
    "https://127.0.0.1:{port}#@shop.example/",
    "https://127.0.0.1:{port}?@shop.example/",
    "https://127.0.0.1:{port};shop.example/",
    "https://127.0.0.1:{port}&@shop.example/",
    "https://127.0.0.1 :{port}/",
    "https://[::1]:{port}#[shop.example]",
    "HTTPS://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_POST",
    "file://127.0.0.1:{port}/etc/passwd",
    "unix:///run/canary",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "https://127.0.0.1:{port}/../\r\nHost: shop.example",
    "https://\u{24db}\u{24de}\u{24d2}\u{24d0}\u{24db}\u{24d7}\u{24de}\u{24e2}\u{24e3}:{port}/",
    "https://127.0.0.1.:{port}/",
];

/// Names that lead to the machine or its network by custom.
const NAMES: [&str; 12] = [
    "localhost",
    "LocalHost.",
    "localhost.localdomain",
    "canary.localhost",
    "ip6-localhost",
    "metadata.google.internal",
    "instance-data",
    "127.0.0.1.nip.example",
    "host.docker.internal",
    "kubernetes.default.svc.cluster.local",
    "l%6fcalhost",
    "lo\u{ad}calhost",
];

/// Whole addresses, each once.
fn spellings(port: u16) -> Vec<String> {
    let literals = HIDDEN.into_iter().flat_map(spellings_of_v4);
    let parse = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
    let v6 = HIDDEN_V6.into_iter().flat_map(|text| spellings_of_v6(parse(text)));
    let hosts = literals.chain(v6).chain(NAMES.map(str::to_owned));
    let tricks = TRICKS.map(|trick| trick.replace("{port}", &port.to_string()));
    let all: BTreeSet<String> = hosts.map(|host| format!("https://{host}:{port}/hook")).chain(tricks).collect();
    all.into_iter().collect()
}

/// Where a spelling leads; this machine when it is no literal.
fn meant(spelling: &str) -> IpAddr {
    match Url::parse(spelling).ok().and_then(|url| url.host().map(|host| host.to_owned())) {
        Some(Host::Ipv4(literal)) => literal.into(),
        Some(Host::Ipv6(literal)) => literal.into(),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

/// A name server under the test's control, and a line that leads to this machine alone. It notes every call.
#[derive(Default)]
struct Played {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<usize>,
    dialled: Mutex<Vec<SocketAddr>>,
}

impl Internet for Played {
    fn find(&self, _: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
        *self.asked.lock().unwrap() += 1;
        let found = self.answers.lock().unwrap().pop_front();
        Box::pin(async move { Ok(found.unwrap_or_else(|| vec![Ipv4Addr::LOCALHOST.into()])) })
    }

    fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
        self.dialled.lock().unwrap().push(address);
        Box::pin(async move {
            match address.ip().to_canonical().is_loopback() {
                true => TcpStream::connect(address).await,
                false => Err(io::ErrorKind::ConnectionRefused.into()),
            }
        })
    }

    fn is_own(&self, _: IpAddr) -> bool {
        false
    }
}

/// Listens on loopback in both families, on one port.
struct Canary {
    v4: Receiver,
    v6: Option<Receiver>,
    port: u16,
}

impl Canary {
    async fn start() -> Self {
        let v4 = Receiver::start(says("200 OK")).await;
        let port = v4.address.port();
        // A machine may have no IPv6, or somebody else that port.
        let v6 = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
        Self { v4, v6: v6.map(|listener| Receiver::serve_on(listener, says("200 OK"))), port }
    }

    fn connections(&self) -> usize {
        self.v4.connections() + self.v6.as_ref().map_or(0, Receiver::connections)
    }
}

struct World {
    canary: Canary,
    internet: Arc<Played>,
    client: WebhookClient,
}

impl World {
    async fn with(policy: impl FnOnce(u16) -> TargetPolicy) -> Self {
        let (canary, internet) = (Canary::start().await, Arc::<Played>::default());
        let client = WebhookClient::start_with(config(policy(canary.port)), internet.clone()).expect("a thread");
        Self { canary, internet, client }
    }

    /// In which only the canary's port may be called, so that no spelling is refused for its port.
    async fn production() -> Self {
        Self::with(|port| TargetPolicy::production().with_ports(vec![port])).await
    }

    async fn send(&self, address: &str) -> AttemptOutcome {
        self.client.send(request(address.to_owned())).await.outcome
    }

    fn answer_with(&self, answers: &[&[IpAddr]]) {
        *self.internet.answers.lock().unwrap() = answers.iter().map(|answer| answer.to_vec()).collect();
    }

    fn dialled(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut *self.internet.dialled.lock().unwrap())
    }
}

const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(8, 8, 8, 8));

#[tokio::test]
async fn no_spelling_of_a_literal_is_called() {
    let world = World::production().await;
    let spellings = spellings(world.canary.port);
    assert!(400 <= spellings.len(), "{}", spellings.len());
    for spelling in &spellings {
        let outcome = world.send(spelling).await;
        assert!(matches!(outcome, AttemptOutcome::Failed { .. }), "{spelling:?}: {outcome:?}");
        assert_eq!(world.dialled(), [], "{spelling:?}");
    }
    assert_eq!(world.canary.connections(), 0);
}

#[tokio::test]
async fn no_answer_of_a_name_server_leads_there() {
    let world = World::production().await;
    let refused = failed(Failure::Forbidden("the webhook address leads into a private, local or reserved network"));
    let spellings = spellings(world.canary.port);
    assert!(400 <= spellings.len());
    for (number, spelling) in spellings.iter().enumerate() {
        let bad = meant(spelling);
        for (way, answer) in [&[bad][..], &[PUBLIC, bad], &[bad, PUBLIC]].into_iter().enumerate() {
            world.answer_with(&[answer]);
            let name = format!("https://s{number}-{way}.shop.example:{}/", world.canary.port);
            assert_eq!(world.send(&name).await, refused, "{answer:?}");
            assert_eq!(world.dialled(), [], "not even the good one of {answer:?}");
        }
    }
    assert_eq!(world.canary.connections(), 0);
}

#[tokio::test]
async fn a_name_that_moves_is_checked_anew_and_called_where_it_was_checked() {
    let world = World::production().await;
    let spellings = spellings(world.canary.port);
    assert!(400 <= spellings.len());
    for (number, spelling) in spellings.iter().enumerate() {
        world.answer_with(&[&[PUBLIC], &[meant(spelling)]]);
        let name = format!("https://s{number}.shop.example:{}/", world.canary.port);
        assert_eq!(world.send(&name).await, failed(Failure::Refused));
        assert_eq!(*world.internet.asked.lock().unwrap(), 2 * number + 1, "asked once for a call");
        assert_eq!(world.dialled(), [SocketAddr::new(PUBLIC, world.canary.port)]);
        let moved = world.send(&name).await;
        assert_eq!(
            moved,
            failed(Failure::Forbidden("the webhook address leads into a private, local or reserved network")),
            "{spelling}"
        );
        assert_eq!(world.dialled(), [], "{spelling}");
    }
    assert_eq!(world.canary.connections(), 0);
}

/// In a sandbox, where the address that redirects may itself be called.
#[tokio::test]
async fn no_redirect_leads_there() {
    let world = World::with(|_| TargetPolicy::sandbox()).await;
    let places: Vec<String> = spellings(world.canary.port)
        .into_iter()
        .flat_map(|spelling| [spelling.replacen("https://", "http://", 1), spelling])
        .map(|place| place.chars().filter(|c| !c.is_control()).collect())
        .collect();
    assert!(800 <= places.len());
    let places = Arc::new(places);
    let receiver = Receiver::start(Manner::Redirects(places.clone())).await;
    for place in places.iter() {
        assert_eq!(world.send(&receiver.url()).await, answered(307), "{place}");
    }
    assert_eq!(world.canary.connections(), 0);
    assert!(world.dialled().iter().all(|address| *address == receiver.address));
}

/// Without the rules the canary would sing: the spellings are right, and so is the canary.
#[tokio::test]
async fn a_policy_that_allows_it_leads_to_the_canary() {
    let world = World::with(|_| TargetPolicy::sandbox()).await;
    let port = world.canary.port;
    let own: Vec<String> = spellings_of_v4([127, 0, 0, 1])
        .into_iter()
        .filter(|host| {
            let url = Url::parse(&format!("http://{host}:{port}/"));
            url.is_ok_and(|url| url.host() == Some(Host::Ipv4(Ipv4Addr::LOCALHOST)))
        })
        .collect();
    assert!(10 <= own.len(), "{own:?}");
    let mut called = 0;
    for host in own {
        assert_eq!(world.send(&format!("http://{host}:{port}/")).await, answered(200), "{host}");
        called += usize::from(!world.dialled().is_empty());
    }
    assert!(0 < called && 0 < world.canary.v4.connections());
    let before = world.canary.connections();
    world.answer_with(&[&[Ipv4Addr::LOCALHOST.into()]]);
    assert_eq!(world.send(&format!("http://shop.example:{port}/")).await, answered(200), "by name");
    assert!(before < world.canary.connections());
    if let Some(v6) = &world.canary.v6 {
        assert_eq!(world.send(&format!("http://[::1]:{port}/")).await, answered(200));
        assert_eq!(v6.connections(), 1);
    }
    for never in ["169.254.169.254", "[fe80::1]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "0.0.0.0"] {
        let outcome = world.send(&format!("http://{never}:{port}/")).await;
        assert!(matches!(outcome, AttemptOutcome::Failed { .. }), "{never} in a sandbox");
    }
}

#[tokio::test]
async fn what_the_machine_itself_has_is_not_called() {
    /// A machine with a public address.
    struct Own(Played);
    impl Internet for Own {
        fn find(&self, host: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
            self.0.find(host)
        }
        fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
            self.0.dial(address)
        }
        fn is_own(&self, address: IpAddr) -> bool {
            address == PUBLIC
        }
    }
    let own = Arc::new(Own(Played::default()));
    let production = WebhookClient::start_with(config(TargetPolicy::production()), own.clone()).expect("a thread");
    let back = failed(Failure::Forbidden("the webhook address leads back to this machine"));
    assert_eq!(production.send(request("https://8.8.8.8/".to_owned())).await.outcome, back);
    own.0.answers.lock().unwrap().push_back(vec![PUBLIC]);
    assert_eq!(production.send(request("https://shop.example/".to_owned())).await.outcome, back);
    assert!(own.0.dialled.lock().unwrap().is_empty());
    let sandbox = WebhookClient::start_with(config(TargetPolicy::sandbox()), own).expect("a thread");
    let called = sandbox.send(request("http://8.8.8.8/".to_owned())).await.outcome;
    assert_eq!(called, failed(Failure::Refused), "a sandbox is for trying out");
}
