//! What a checkout page shows and stores for what a shopper gave: the brand's logo while the number is typed, what is wrong with the card, and
//! the payment method that it is charged by. Run it with `cargo run -p dropin-card --example wallet_or_card`.
//!
//! All numbers are the test numbers that processors publish.

use dropin_card::{
    Card, CardBrand, ClientFacts, Scheme, StashContents, StashedData, StashedKind, Wallet, WalletToken, Warning,
};
use dropin_kernel::Timestamp;

/// 2026-12-01T00:00:00Z. A real program asks its clock.
const NOW: Timestamp = Timestamp::from_micros(1_796_083_200_000_000);

/// What the page answers to the shopper.
struct Reply {
    method: Option<&'static str>,
    last4: Option<String>,
    warnings: Vec<Warning>,
}

fn take(data: &StashedData) -> Reply {
    Reply { method: data.kind().method_id(), last4: data.last4(), warnings: data.warnings(NOW) }
}

fn main() {
    // While the shopper types, the logo follows the first digits.
    let typed = ["4", "4242", "5555", "3782", "6011", "3530", "620000", "220000", "99"];
    let logos: Vec<_> = typed.map(|digits| CardBrand::of_iin(digits).map_or("?", CardBrand::name)).to_vec();
    let expected = ["Visa", "Visa", "Mastercard", "American Express", "Discover", "JCB", "UnionPay", "Mir", "?"];
    assert_eq!(logos, expected);

    // A card that can be charged.
    let card = StashedData::Card(Card::new("Ana Souza", "4242 4242 4242 4242", "123", "2030", "12"));
    let reply = take(&card);
    assert_eq!((reply.method, reply.last4.as_deref()), (Some("VISA"), Some("4242")));
    assert!(reply.warnings.is_empty());

    // A slip of the finger, a month that is over and a code of three digits, where American Express prints four.
    let wrong = StashedData::Card(Card::new("Ana Souza", "3782 822463 10006", "123", "2026", "11"));
    let reply = take(&wrong);
    assert_eq!(reply.method, Some(Scheme::AmericanExpress.as_str()));
    assert_eq!(reply.warnings, Warning::ALL);

    // A card of a brand that has no payment method: it is right, and the shop says that it does not take it.
    let unionpay = Card::new("Ana Souza", "6200 0000 0000 0005", "123", "2030", "12");
    assert_eq!((unionpay.brand(), unionpay.scheme()), (Some(CardBrand::UnionPay), None));
    let reply = take(&StashedData::Card(unionpay));
    assert_eq!((reply.method, reply.warnings), (None, Vec::new()));

    // A wallet's token: nothing of it is judged, or shown.
    let token = StashedData::WalletToken(WalletToken::new(Wallet::ApplePay, r#"{"paymentData":{}}"#));
    let reply = take(&token);
    assert_eq!((reply.method, reply.last4, reply.warnings), (Some("APPLEPAY"), None, Vec::new()));

    // A log line cannot show a digit.
    println!("stashed {card:?}, {token:?}");
    assert_eq!(format!("{card:?}"), "Card(Card(..))");

    // The vault encrypts bytes, with what is known of the browser, and gives them back; the store keeps the method's id beside them.
    let kind = card.kind();
    let client = ClientFacts::new("192.0.2.7".parse().ok(), Some("Europe/Vienna"), Some("de-AT"));
    let bytes = StashContents { data: card, client }.to_sealed_plaintext();
    let opened = StashContents::from_sealed_plaintext(&bytes).expect("what was sealed before");
    assert_eq!(StashedKind::from_method_id(opened.data.kind().method_id()), Some(kind));
    assert_eq!(opened.client.time_zone(), Some("Europe/Vienna"));
}
