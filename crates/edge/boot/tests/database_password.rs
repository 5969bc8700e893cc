//! A DATABASE_URL_FILE that changes while a program runs.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dropin_boot::StoreArgs;
use dropin_store::{Role, Store};
use tempfile::TempDir;

/// Writes a private file in one step.
fn put(path: &Path, text: &str, mode: u32) {
    let next = path.with_extension("next");
    fs::write(&next, text).unwrap();
    fs::set_permissions(&next, PermissionsExt::from_mode(mode)).unwrap();
    fs::rename(next, path).unwrap();
}

/// Opens the store whose URL stands in `file`. Nothing is connected before it is needed.
fn open(file: &Path) -> Store {
    let database_url_file = Some(file.to_owned());
    let args = StoreArgs {
        data: "data".into(),
        database_url: None,
        database_url_file,
        write_check: 5,
        database_connections: 8,
    };
    args.open(Role::Tool).unwrap()
}

/// A store whose URL stands in a file, in a folder of its own.
fn start(url: &str) -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    put(&file, url, 0o600);
    let opened = open(&file);
    (folder, file, opened)
}

/// Listens at `place` with the password of every user but `wrong`.
fn listen(place: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(place).unwrap();
    let place = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve_postgres(client, "wrong").is_ok());
        }
    });
    place
}

/// Answers as PostgreSQL does to whoever is no `refused` user, and finds nothing. Ends with its client.
fn serve_postgres(mut client: TcpStream, refused: &str) -> io::Result<()> {
    let read_message = |client: &mut TcpStream| {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut body).map(|()| body)
    };
    let message =
        |kind: u8, body: &[u8]| [&[kind][..], &u32::try_from(4 + body.len()).unwrap().to_be_bytes(), body].concat();
    // 80877103 and 80877104 ask for encryption.
    let startup = loop {
        let body = read_message(&mut client)?;
        if body[..2] != [0x04, 0xd2] {
            break body;
        }
        client.write_all(b"N")?;
    };
    if String::from_utf8_lossy(&startup).contains(&format!("user\0{refused}\0")) {
        let why = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0";
        return client.write_all(&message(b'E', why));
    }
    client.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat())?;
    loop {
        let mut kind = [0];
        client.read_exact(&mut kind)?;
        read_message(&mut client)?;
        let said = match kind[0] {
            b'Q' => [message(b'C', b"SET\0"), message(b'Z', b"I")].concat(),
            b'P' => message(b'1', b""),
            b'B' => message(b'2', b""),
            b'D' => message(b'n', b""),
            b'E' => message(b'C', b"SET\0"),
            b'S' => message(b'Z', b"I"),
            _ => return Ok(()),
        };
        client.write_all(&said)?;
    }
}

#[test]
fn a_new_database_password_is_used_once_it_works_and_another_database_never() {
    let place = listen(SocketAddr::from(([127, 0, 0, 1], 0)));
    let url = |user: &str| format!("postgres://{user}:hush@{place}/d");
    let (_folder, file, opened) = start(&url("a"));
    let address = opened.address().unwrap();
    // Replacing it with what it is already says so.
    put(&file, &url("b"), 0o600);
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(address.replace(&url("b")), Ok(false), "it was read");
    for (wrong, mode) in
        [(url("b") + "other", 0o600), (url("c"), 0o640), ("x".to_owned(), 0o600), (url("wrong"), 0o600)]
    {
        put(&file, &wrong, mode);
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(address.replace(&url("b")), Ok(false), "{wrong}");
    }
    opened.close();
}

#[test]
fn a_password_that_does_not_work_yet_is_tried_again() {
    // Nobody listens there until later.
    let place = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = |user: &str| format!("postgres://{user}:hush@{place}/d");
    let (_folder, file, opened) = start(&url("a"));
    let address = opened.address().unwrap();
    put(&file, &url("b"), 0o600);
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(address.replace(&url("a")), Ok(false), "nobody has proved the new one");
    listen(place);
    std::thread::sleep(Duration::from_millis(2_500));
    assert_eq!(address.replace(&url("b")), Ok(false), "it was tried again");
    opened.close();
}
