//! A pooler that shares one server connection between its clients, transaction by transaction, as PgBouncer does with `pool_mode = transaction`.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dropin_ports::{StoreError, StoreHealth};
use dropin_store::{Role, StartRefused, Store, StoreConfig};

use super::migrated;

/// Answers to the request for TLS: no.
const SSL_REQUEST: u32 = 80_877_103;

fn read_exact<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A message: its type, and all of its bytes.
fn read_message(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let [kind] = read_exact(stream)?;
    let length = read_exact::<4>(stream)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body)?;
    Ok((kind, [&[kind][..], &length, &body].concat()))
}

/// Forwards what the server says until it waits for the next command; whether a transaction is open then.
fn forward_until_ready(server: &mut TcpStream, client: &mut TcpStream) -> io::Result<bool> {
    loop {
        let (kind, bytes) = read_message(server)?;
        client.write_all(&bytes)?;
        if kind == b'Z' {
            return Ok(bytes[5] != b'I');
        }
    }
}

/// The server connection, with trust for authentication.
fn connect(place: &str, database: &str) -> io::Result<TcpStream> {
    let mut server = TcpStream::connect(place)?;
    let parameters = format!("user\0postgres\0database\0{database}\0\0");
    let length = u32::try_from(8 + parameters.len()).unwrap();
    server.write_all(&[&length.to_be_bytes()[..], &196_608_u32.to_be_bytes(), parameters.as_bytes()].concat())?;
    while read_message(&mut server)?.0 != b'Z' {}
    Ok(server)
}

/// The server connections, which transactions are given by turns.
struct Servers {
    all: Vec<Mutex<TcpStream>>,
    next: AtomicUsize,
    /// Whether a connection is given for a statement alone.
    by_statement: bool,
}

fn serve(mut client: TcpStream, servers: &Servers) -> io::Result<()> {
    loop {
        let length = u32::from_be_bytes(read_exact(&mut client)?);
        let mut startup = vec![0; length as usize - 4];
        client.read_exact(&mut startup)?;
        if startup[..4] != SSL_REQUEST.to_be_bytes() {
            break;
        }
        client.write_all(b"N")?;
    }
    // Authenticated, and ready.
    client.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 0, b'Z', 0, 0, 0, 5, b'I'])?;
    loop {
        let (mut kind, mut bytes) = read_message(&mut client)?;
        if servers.by_statement && bytes[5..].starts_with(b"BEGIN") {
            let why = b"SERROR\0VERROR\0C08P01\0Mtransaction blocks not allowed in statement pooling mode\0\0";
            let length = u32::try_from(4 + why.len()).unwrap();
            client.write_all(&[&[b'E'][..], &length.to_be_bytes(), why].concat())?;
            // PgBouncer hangs up then.
            return Ok(());
        }
        let turn = servers.next.fetch_add(1, Ordering::Relaxed) % servers.all.len();
        let mut server = servers.all[turn].lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if kind == b'X' {
                return Ok(());
            }
            server.write_all(&bytes)?;
            // A simple query, or the end of an extended one.
            if matches!(kind, b'Q' | b'S') && !forward_until_ready(&mut server, &mut client)? {
                break;
            }
            (kind, bytes) = read_message(&mut client)?;
        }
    }
}

/// Starts the pooler before `url`; its own URL.
fn start(url: &str, servers: usize, by_statement: bool) -> String {
    let (place, database) = url.rsplit_once('@').unwrap().1.split_once('/').unwrap();
    let all = (0..servers).map(|_| Mutex::new(connect(place, database).unwrap())).collect();
    let servers = Arc::new(Servers { all, next: AtomicUsize::new(0), by_statement });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = format!("postgres://postgres@{}/{database}?sslmode=disable", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let servers = servers.clone();
            // A client that goes away ends it.
            std::thread::spawn(move || serve(client, &servers).is_ok());
        }
    });
    own
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_shares_connections_between_transactions_is_refused() {
    let (database, direct) = migrated();
    assert_eq!(direct.check_start().await, Ok(Ok(())), "no pooler");
    for (servers, by_statement) in [(1, false), (2, false), (3, false), (1, true)] {
        let url = start(&database.url(), servers, by_statement);
        let store = Store::open(StoreConfig::new(url, Role::Service)).unwrap();
        assert_eq!(store.check_start().await, Ok(Err(StartRefused::Pooler)), "{servers} {by_statement}");
    }
    let store = Store::open(StoreConfig::new(start(&database.url(), 1, false), Role::Service)).unwrap();
    let Err(StoreError::Refused(why)) = store.ready().await else { panic!("ready behind a pooler") };
    assert!(why.contains("pool_mode = session"), "{why}");
    let told = store.check_all().await;
    let pooler = told.iter().find(|check| check.name == "pooler").unwrap();
    assert!(pooler.result.is_err(), "{told:?}");
}
