use super::*;

fn hosts() -> WalletHosts {
    WalletHosts::new(WalletHost::PUBLISHED.map(|name| WalletHost::parse(name).unwrap()).to_vec())
}

#[test]
fn the_published_servers_are_found() {
    for name in WalletHost::PUBLISHED {
        let url = format!("https://{name}/paymentservices/startSession");
        assert_eq!(hosts().find(&url).map(|host| host.name.as_str()), Ok(name));
    }
}

#[test]
fn nothing_but_the_published_spelling_is_found() {
    for wrong in HOSTILE {
        assert_eq!(hosts().find(wrong), Err(ValidationUrlRefused), "{wrong:?}");
    }
    let long = format!("https://{}/{}", WalletHost::PUBLISHED[0], "a".repeat(LONGEST_URL));
    assert_eq!(hosts().find(&long), Err(ValidationUrlRefused));
}

const HOSTILE: &[&str] = &[
    "",
    "https://",
    "https:///paymentservices/startSession",
    "https://apple-pay-gateway.apple.com",
    "https://apple-pay-gateway.apple.com/",
    "https://apple-pay-gateway.apple.com//evil.example/",
    "https://apple-pay-gateway.apple.com./paymentservices/startSession",
    "https://apple-pay-gateway.apple.com:443/paymentservices/startSession",
    "https://APPLE-PAY-GATEWAY.apple.com/paymentservices/startSession",
    "HTTPS://apple-pay-gateway.apple.com/paymentservices/startSession",
    "http://apple-pay-gateway.apple.com/paymentservices/startSession",
    "https://apple-pay-gateway.apple.com/paymentservices/../startSession",
    "https://apple-pay-gateway.apple.com/paymentservices/startSession?a=b",
    "https://apple-pay-gateway.apple.com/paymentservices/startSession#a",
    "https://apple-pay-gateway.apple.com.evil.example/paymentservices/startSession",
    "https://evil.example/apple-pay-gateway.apple.com",
    "https://x@apple-pay-gateway.apple.com/paymentservices/startSession",
    "https://apple-pay-gateway.apple.com@evil.example/paymentservices/startSession",
    " https://apple-pay-gateway.apple.com/paymentservices/startSession",
    "https://apple-pay-gateway.apple.com/paymentservices/startSession\r\n",
    "https://apple-pay-gateway.apple.com\\evil.example/paymentservices/startSession",
];

#[test]
fn a_host_is_a_public_name_or_one_of_this_machine() {
    let sandbox = WalletHost::parse("wallet-gateway.localhost=127.0.0.1:8087").unwrap();
    assert_eq!(
        (sandbox.name.as_str(), sandbox.at),
        (WalletHost::SANDBOX, Some(SocketAddr::from(([127, 0, 0, 1], 8087))))
    );
    assert!(WalletHost::parse("wallet-gateway.localhost=[::1]:8087").is_ok());
    for wrong in [
        "",
        "=",
        "localhost",
        "127.0.0.1",
        "wallet-gateway.localhost",
        "apple-pay-gateway.apple.com=127.0.0.1:1",
        "a.localhost=10.0.0.1:443",
        "a.localhost=127.0.0.1:0",
        "a.localhost=127.0.0.1",
        ".localhost=127.0.0.1:1",
        "https://apple-pay-gateway.apple.com",
        "Apple-pay-gateway.apple.com",
    ] {
        assert_eq!(WalletHost::parse(wrong), Err(InvalidHost), "{wrong}");
    }
}

#[test]
fn a_domain_is_a_name_and_a_sandbox_has_this_machine_too() {
    for good in ["shop.example", "Pay.Shop.example", "xn--bcher-kva.example", "3com.example"] {
        assert_eq!(WalletDomain::parse(good, false).map(|domain| domain.0), Ok(good.to_ascii_lowercase()));
    }
    for local in ["localhost", "localhost:8081", "127.0.0.1:8081"] {
        assert!(WalletDomain::parse(local, true).is_ok() && WalletDomain::parse(local, false).is_err(), "{local}");
    }
    assert_eq!(WalletDomain::parse("localhost:8081", true).unwrap().name(), "localhost");
    for wrong in [
        "",
        "shop",
        ".",
        "shop.example.",
        ".example",
        "shop..example",
        "-a.example",
        "a-.example",
        "shop.example:443",
        "shop.example:8443",
        "https://shop.example",
        "shop.example/",
        "a@shop.example",
        "bücher.example",
        "shop.example%2e",
        "10.0.0.1",
        "127.0.0.2",
        "localhost:0",
        "localhost:08081",
        "localhost:65536",
        "localhost:",
        "a.localhost",
        "router.local",
        "1.2",
        "0x7f.1",
        "a.0x7f",
        "[::1]",
        "shop_1.example",
        "shop.example\n",
    ] {
        assert_eq!(WalletDomain::parse(wrong, true), Err(InvalidWallet::Domain), "{wrong:?}");
    }
    assert_eq!(WalletDomain::restore("Shop.example"), None);
}

#[test]
fn an_origin_tells_its_domain() {
    let of = |origin: &str| WalletDomain::of_origin(origin, true).map(|domain| domain.0);
    assert_eq!(of("https://shop.example").as_deref(), Some("shop.example"));
    assert_eq!(of("http://localhost:8081").as_deref(), Some("localhost:8081"));
    for none in [
        "http://shop.example",
        "https://shop.example:8443",
        "null",
        "",
        "https://shop.example/",
        "https://Shop.example",
        "file://",
    ] {
        assert_eq!(of(none), None, "{none}");
    }
    assert_eq!(WalletDomain::of_origin("http://localhost:8081", false), None);
}

#[test]
fn a_file_is_compared_but_for_its_last_line_ends() {
    let registered = RegisteredDomain {
        merchant_id: "0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c11".parse().unwrap(),
        domain: WalletDomain::parse("shop.example", false).unwrap(),
        file: RegisteredDomain::file("7B2270\r\n").unwrap(),
        check: None,
        registered_at: Timestamp::from_micros(0),
    };
    assert!(registered.is_file(b"7B2270") && registered.is_file(b"7B2270\n\n"));
    assert!(!registered.is_file(b" 7B2270") && !registered.is_file(b"7B22") && !registered.is_file(b""));
    for wrong in ["", " \n", "caf\u{e9}", "a\0"] {
        assert_eq!(RegisteredDomain::file(wrong), Err(InvalidWallet::File));
    }
    assert!(RegisteredDomain::file(&"a".repeat(LONGEST_FILE + 1)).is_err());
}

#[test]
fn a_check_decides_the_state() {
    let at = Timestamp::from_micros(1);
    let state = |check| {
        RegisteredDomain {
            merchant_id: "0d9f7b0e-34c1-4a53-8f3c-5a9f7f8f0c11".parse().unwrap(),
            domain: WalletDomain::parse("shop.example", false).unwrap(),
            file: "a".to_owned(),
            check,
            registered_at: at,
        }
        .state()
    };
    assert_eq!(state(None), DomainState::Registered);
    assert_eq!(state(Some(DomainCheck { at, failure: None })), DomainState::Verified);
    assert_eq!(state(Some(DomainCheck { at, failure: Some("gone".to_owned()) })), DomainState::Failed);
}

#[test]
fn identifiers_and_countries_have_a_form() {
    assert!(MerchantIdentifier::parse("merchant.com.example.shop").is_ok());
    for wrong in ["", "a b", "caf\u{e9}", "\"", "a\n"] {
        assert_eq!(MerchantIdentifier::parse(wrong), Err(InvalidWallet::Identifier));
    }
    assert_eq!(WalletIdentity::country("NL").as_deref(), Ok("NL"));
    for wrong in ["", "nl", "NLD", "N1"] {
        assert_eq!(WalletIdentity::country(wrong), Err(InvalidWallet::Country));
    }
}
