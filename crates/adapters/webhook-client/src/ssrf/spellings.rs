//! How a place that must not be called can be written.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

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
pub(super) fn spellings_of_v4([a, b, c, d]: [u8; 4]) -> Vec<String> {
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
pub(super) fn spellings(port: u16) -> Vec<String> {
    let literals = HIDDEN.into_iter().flat_map(spellings_of_v4);
    let parse = |text: &str| text.parse::<Ipv6Addr>().expect("an address");
    let v6 = HIDDEN_V6.into_iter().flat_map(|text| spellings_of_v6(parse(text)));
    let hosts = literals.chain(v6).chain(NAMES.map(str::to_owned));
    let tricks = TRICKS.map(|trick| trick.replace("{port}", &port.to_string()));
    let all: BTreeSet<String> = hosts.map(|host| format!("https://{host}:{port}/hook")).chain(tricks).collect();
    all.into_iter().collect()
}

/// Where a spelling leads; this machine when it is no literal.
pub(super) fn meant(spelling: &str) -> IpAddr {
    match Url::parse(spelling).ok().and_then(|url| url.host().map(|host| host.to_owned())) {
        Some(Host::Ipv4(literal)) => literal.into(),
        Some(Host::Ipv6(literal)) => literal.into(),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}
