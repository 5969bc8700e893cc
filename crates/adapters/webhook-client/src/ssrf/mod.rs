//! Where the client does not go, however the place is spelled, whoever leads there: a canary on loopback counts who comes.

mod spellings;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dropin_access::{TargetPolicy, TargetRefused};
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::WebhookSender;
use futures_util::future::LocalBoxFuture;
use tokio::net::{TcpListener, TcpStream};
use url::{Host, Url};

use crate::client::WebhookClient;
use crate::hostile::{DEADLINE, Manner, Receiver, answered, config, failed, request, says};
use crate::internet::Internet;
use spellings::{meant, spellings, spellings_of_v4};

/// A name server under the test's control, and a line that leads to this machine alone. It notes every call.
#[derive(Default)]
struct Played {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<usize>,
    dialled: Mutex<Vec<SocketAddr>>,
    /// How often it was asked whether an address is its own.
    doubted: AtomicUsize,
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
        self.doubted.fetch_add(1, Ordering::SeqCst);
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

fn refused(why: TargetRefused) -> AttemptOutcome {
    failed(DeliveryFailure::Forbidden(why.why()))
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
    let spellings = spellings(world.canary.port);
    assert!(400 <= spellings.len());
    for (number, spelling) in spellings.iter().enumerate() {
        let bad = meant(spelling);
        for (way, answer) in [&[bad][..], &[PUBLIC, bad], &[bad, PUBLIC]].into_iter().enumerate() {
            world.answer_with(&[answer]);
            let name = format!("https://s{number}-{way}.shop.example:{}/", world.canary.port);
            assert_eq!(world.send(&name).await, refused(TargetRefused::NotPublic), "{answer:?}");
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
        assert_eq!(world.send(&name).await, failed(DeliveryFailure::Refused));
        assert_eq!(*world.internet.asked.lock().unwrap(), 2 * number + 1, "asked once for a call");
        assert_eq!(world.dialled(), [SocketAddr::new(PUBLIC, world.canary.port)]);
        let moved = world.send(&name).await;
        assert_eq!(moved, refused(TargetRefused::NotPublic), "{spelling}");
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
    let back = refused(TargetRefused::Own);
    for literal in ["8.8.8.8", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2a00::5efe:808:808]"] {
        let outcome = production.send(request(format!("https://{literal}/"))).await.outcome;
        assert_eq!(outcome, back, "{literal}");
    }
    own.0.answers.lock().unwrap().push_back(vec![PUBLIC]);
    assert_eq!(production.send(request("https://shop.example/".to_owned())).await.outcome, back);
    assert!(own.0.dialled.lock().unwrap().is_empty());
    let sandbox = WebhookClient::start_with(config(TargetPolicy::sandbox()), own).expect("a thread");
    let called = sandbox.send(request("http://8.8.8.8/".to_owned())).await.outcome;
    assert_eq!(called, failed(DeliveryFailure::Refused), "a sandbox is for trying out");
}

#[tokio::test]
async fn a_name_with_hundreds_of_addresses_costs_nothing() {
    let world = World::production().await;
    let name = format!("https://shop.example:{}/", world.canary.port);
    let public = |count: u8| -> Vec<IpAddr> { (1..=count).map(|last| Ipv4Addr::new(8, 8, 8, last).into()).collect() };
    world.answer_with(&[&public(33), &public(32)]);
    assert_eq!(world.send(&name).await, failed(DeliveryFailure::TooManyAddresses));
    assert_eq!((world.internet.doubted.load(Ordering::SeqCst), world.dialled()), (0, vec![]));
    assert_eq!(world.send(&name).await, failed(DeliveryFailure::Refused));
    assert_eq!((world.internet.doubted.load(Ordering::SeqCst), world.dialled().len()), (32, 4));
}

#[tokio::test]
async fn what_waited_for_the_thread_too_long_is_not_sent() {
    /// A machine that takes its time to say whether it is `PUBLIC`.
    struct Slow(Played);
    impl Internet for Slow {
        fn find(&self, host: String) -> LocalBoxFuture<'static, io::Result<Vec<IpAddr>>> {
            self.0.find(host)
        }
        fn dial(&self, address: SocketAddr) -> LocalBoxFuture<'static, io::Result<TcpStream>> {
            self.0.dial(address)
        }
        fn is_own(&self, address: IpAddr) -> bool {
            if address == PUBLIC {
                std::thread::sleep(2 * DEADLINE);
            }
            false
        }
    }
    let slow = Arc::new(Slow(Played::default()));
    let client = WebhookClient::start_with(config(TargetPolicy::production()), slow.clone()).expect("a thread");
    let send = async |address: &str| client.send(request(address.to_owned())).await.outcome;
    let (_, second) = tokio::join!(send("https://8.8.8.8/"), send("https://8.8.4.4/"));
    assert_eq!(second, failed(DeliveryFailure::Late));
    let dialled: Vec<IpAddr> = slow.0.dialled.lock().unwrap().iter().map(SocketAddr::ip).collect();
    assert_eq!(dialled, [PUBLIC], "the second had no time left when its turn came");
    assert_eq!(send("https://8.8.4.4/").await, failed(DeliveryFailure::Refused), "and the next has all of it");
}
