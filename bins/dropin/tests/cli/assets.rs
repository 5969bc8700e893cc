//! The scripts that an address serves, as somebody who watches a payment page compares them.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::program::{Data, Dropin, parse, printed, run};

/// The exit status of `assets verify`, and what it says.
fn verified(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(&[&["assets", "verify"][..], arguments].concat(), &[]);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), said)
}

/// What a proxy does to the answers for a path.
#[derive(Clone, Copy)]
enum Alteration {
    /// Replaces one text by another of the same length.
    Text(&'static str, &'static str),
    /// Flips the last bit of what is sent in that encoding.
    Encoded(&'static str),
    /// Gives no answer.
    Nothing,
}

/// A proxy before `upstream` that alters what is answered for `path`; its address.
fn altering(upstream: String, path: &'static str, alteration: Alteration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap() == 0 {
                    return;
                }
                request.push(byte[0]);
            }
            let request = String::from_utf8(request).unwrap().replacen("\r\n", "\r\nConnection: close\r\n", 1);
            let mut server = TcpStream::connect(&upstream).unwrap();
            server.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            server.read_to_end(&mut answer).unwrap();
            if request.split(' ').nth(1).unwrap().starts_with(path) {
                let find = |text: &str| answer.windows(text.len()).position(|window| window == text.as_bytes());
                match alteration {
                    Alteration::Text(from, to) => {
                        assert_eq!(from.len(), to.len());
                        if let Some(at) = find(from) {
                            answer[at..at + to.len()].copy_from_slice(to.as_bytes());
                        }
                    }
                    Alteration::Encoded(name) => {
                        if find(&format!("content-encoding: {name}")).is_some() {
                            *answer.last_mut().unwrap() ^= 1;
                        }
                    }
                    Alteration::Nothing => continue,
                }
            }
            stream.write_all(&answer).unwrap();
        }
    });
    format!("http://{address}/asset")
}

#[test]
fn what_an_address_serves_is_compared_with_what_it_should() {
    let data = Data::new();
    let dropin = Dropin::start(&data, &["--no-demo", "--client-rate", "0"]);
    let script = dropin.shown("Drop-in script");
    let asset_url = script.strip_suffix("/v1/dropin.js").unwrap();
    let (status, said) = verified(&[asset_url]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("11 scripts and 2 documents are what they should be"), "{said}");

    let upstream = asset_url.strip_prefix("http://").unwrap().strip_suffix("/asset").unwrap().to_owned();
    let origin = format!("http://{upstream}");
    let through = |path, alteration| verified(&[&altering(upstream.clone(), path, alteration), "--connect", &origin]);
    assert_eq!(through("/nowhere", Alteration::Nothing).0, Some(0), "a proxy that alters nothing");
    for (path, alteration, named) in [
        ("/asset/v1/frame.js", Alteration::Text("postMessage", "postMessagf"), "/v1/frame.js: its content is sha384-"),
        ("/asset/v1/frame.js", Alteration::Encoded("br"), "/v1/frame.js: compressed by br it is another content"),
        ("/asset/v1/frame.js", Alteration::Encoded("gzip"), "/v1/frame.js: compressed by gzip it is another content"),
        ("/asset/v1/frame.js", Alteration::Nothing, "/v1/frame.js gave no answer"),
        ("/asset/v1/challenge.html", Alteration::Nothing, "/v1/challenge.html?session="),
        ("/asset/v1/frame.html", Alteration::Text("script-src 'self'", "script-src  *    "), "lacks script-src 'self'"),
        (
            "/asset/v1/frame.html",
            Alteration::Text("integrity=\"sha384-", "integrity=\"sha385-"),
            "does not run frame.js with the integrity",
        ),
        (
            "/asset/v1/challenge.html",
            Alteration::Text("<title>Bank", "<title>Bonk"),
            "/v1/challenge.html: it is another document",
        ),
        ("/asset/.well-known/", Alteration::Text("sha384-", "sha385-"), "the service's inventory says sha385-"),
    ] {
        let (status, said) = through(path, alteration);
        assert_eq!(status, Some(1), "{path}: {said}");
        assert!(said.contains(named) && said.contains("take it for an attack"), "{path}: {said}");
        let alone = said
            .lines()
            .filter(|line| line.starts_with("/v1/"))
            .all(|line| line.contains(path.trim_start_matches("/asset")));
        assert!(alone, "nothing else differs: {said}");
    }
    let (status, said) = verified(&[&altering(upstream.clone(), "/nowhere", Alteration::Nothing)]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(&format!("lets it send to {origin}: ")), "{said}");

    // An inventory that was kept, of this version and of an earlier one.
    let kept = data.path().join("kept.json");
    let inventory = printed(&["assets", "list", "--json"]);
    fs::write(&kept, &inventory).unwrap();
    let kept_path = kept.to_str().unwrap();
    assert_eq!(verified(&[asset_url, "--against", kept_path]).0, Some(0));
    let version = parse(&inventory)["Version"].as_str().unwrap().to_owned();
    fs::write(&kept, inventory.replace(&version, "0123456789abcdef")).unwrap();
    let (status, said) = verified(&[asset_url, "--against", kept_path, "--json"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("and should be of 0123456789abcdef"), "{said}");

    let base = asset_url.strip_suffix("/asset").unwrap();
    for (arguments, named) in [
        (&[base][..], "the {asset_url} of Dropin?"),
        (&["pay.example"][..], "is no address"),
        (&[asset_url, "--against", "nowhere.json"][..], "nowhere.json cannot be read"),
    ] {
        let (status, said) = verified(arguments);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(named), "{said}");
    }
    dropin.stop();
    assert_eq!(verified(&[asset_url]).0, Some(2), "nobody answers");
}
