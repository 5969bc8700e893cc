//! Ordinary shoppers of a shop in Austria: in offices, on mobile networks and at home; new and returning ones, travellers, people who live abroad.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use dropin_risk::{CardFunding, Facts};

use crate::shop::{COUNTRIES, DAY, Draw, Payer, Try, country, text};

/// Shoppers who come back.
const CUSTOMERS: u64 = 6_000;
/// Offices, each behind one address.
const OFFICES: u64 = 30;
/// Addresses of mobile networks, each for thousands.
const MOBILE_ADDRESSES: u64 = 8;
/// How busy each hour of a day is; together 240.
const HOURS: [u64; 24] = [4, 2, 1, 1, 1, 2, 5, 8, 11, 12, 13, 13, 14, 12, 11, 11, 12, 13, 15, 19, 22, 20, 12, 6];

/// All tries of a week, of 1,500 payments a day.
pub(crate) fn week(seed: u64) -> Vec<Try> {
    tries(seed, 0..7, 1_500)
}

/// All tries of these days, of so many payments each.
pub(crate) fn tries(seed: u64, days: Range<u64>, payments_per_day: u64) -> Vec<Try> {
    let mut tries = Vec::new();
    let mut draw = Draw::new(seed, 1);
    for payment in days.start * payments_per_day..days.end * payments_per_day {
        let at = payment / payments_per_day * DAY + time_of_day(&mut draw);
        tries.extend(payment_of(payment, at, &mut draw));
    }
    tries
}

fn time_of_day(draw: &mut Draw) -> u64 {
    let mut point = draw.below(HOURS.iter().sum());
    let hour = HOURS.iter().position(|weight| {
        let is_here = point < *weight;
        point = point.saturating_sub(*weight);
        is_here
    });
    u64::try_from(hour.unwrap()).unwrap() * 3_600 + draw.below(3_600)
}

/// A shopper's tries until the payment is made or given up.
fn payment_of(payment: u64, mut at: u64, draw: &mut Draw) -> Vec<Try> {
    let is_returning = draw.in_thousand(580);
    // One who comes back is the same person each time.
    let person = if is_returning { draw.below(CUSTOMERS) } else { draw.unique() };
    let facts = facts(person, is_returning, draw);
    let mut card = person.wrapping_mul(8);
    let session = draw.unique();
    let mut tries = Vec::new();
    // Nine of a hundred first tries are declined. Half of those who try again take another card; hardly anybody has more than four.
    for number in 0..6 {
        let declined = if number == 0 { 90 } else { 350 };
        let is_approved = !draw.in_thousand(declined);
        // Three of ten new shoppers leave at a challenge, or fail it.
        let is_owner = draw.in_thousand(if is_returning { 950 } else { 700 });
        let facts = facts.clone();
        tries.push(Try { at, payer: Payer::Honest(payment), card, session, facts, is_approved, is_owner });
        if is_approved || draw.in_thousand(250) {
            break;
        }
        at += 25 + draw.below(90);
        if draw.in_thousand(500) {
            card += 1;
        }
    }
    tries
}

fn facts(person: u64, is_returning: bool, draw: &mut Draw) -> Facts {
    // What belongs to the person does not change from payment to payment.
    let mut own = Draw::new(person, 2);
    let home = if own.in_thousand(720) { "AT" } else { own.one_of(&COUNTRIES) };
    let lives_abroad = own.in_thousand(20);
    let card_country = if lives_abroad { own.one_of(&COUNTRIES) } else { home };
    let language = if own.in_thousand(120) { own.one_of(&["US", "GB"]) } else { home };
    let phone = if own.in_thousand(25) { card_country } else { home };
    let email = email(person, &mut own);
    let funding = own.one_of(&[CardFunding::Credit, CardFunding::Debit, CardFunding::Debit]);
    let funding = if own.in_thousand(40) { CardFunding::Prepaid } else { funding };

    let (ip, network_country) = address(person, home, &mut own, draw);
    let is_travelling = draw.in_thousand(30);
    let uses_relay = draw.in_thousand(20);
    let away = draw.one_of(&COUNTRIES);
    let ip_country = if is_travelling || uses_relay { away } else { network_country };
    let clock = if is_travelling && draw.in_thousand(800) { away } else { home };
    let shipping = if draw.in_thousand(25) { draw.one_of(&COUNTRIES) } else { home };
    let known_days = is_returning.then(|| u32::try_from(own.below(900)).unwrap());
    Facts {
        amount_cents: Some(amount(draw)),
        scheme: "VISA".parse().ok(),
        funding: Some(funding),
        card_country: country(card_country),
        billing_country: country(home),
        shipping_country: country(shipping),
        phone_country: country(phone),
        ip_country: country(ip_country),
        time_zone_country: country(clock),
        language_country: country(language),
        email: text(&email),
        device: text(&format!("browser-{person}")),
        profile: is_returning.then(|| text(&format!("customer-{person}"))).flatten(),
        ip: Some(ip),
        known_days,
        ..Facts::default()
    }
}

fn email(person: u64, own: &mut Draw) -> String {
    let domain = if own.in_thousand(3) { "yopmail.com" } else { "example.com" };
    if own.in_thousand(30) {
        return format!("k{}x{}m{}@{domain}", own.below(10), own.below(10), own.below(10));
    }
    // Syllables, so that everybody has an address of their own.
    let (mut name, mut rest) =
        (format!("{}.", own.one_of(&["anna", "jo", "max.huber", "schmidt", "eva.gruber"])), person);
    while 0 < rest {
        name.extend(
            [b"bdfghklmnprst"[usize::try_from(rest % 13).unwrap()], b"aeiou"[usize::try_from(rest / 13 % 5).unwrap()]]
                .map(char::from),
        );
        rest /= 65;
    }
    format!("{name}@{domain}")
}

/// A quarter pays in an office, a third on a mobile network, the others at home.
fn address(person: u64, home: &'static str, own: &mut Draw, draw: &mut Draw) -> (IpAddr, &'static str) {
    let part = |number: u64| u8::try_from(number % 250).unwrap();
    let office = own.below(OFFICES);
    match draw.below(100) {
        0..25 if home == "AT" => (Ipv4Addr::new(192, 0, 2, part(office)).into(), "AT"),
        25..60 if home == "AT" => (Ipv4Addr::new(198, 51, 100, part(draw.below(MOBILE_ADDRESSES))).into(), "AT"),
        _ => (Ipv4Addr::new(100, part(person), part(person / 250), part(person / 62_500)).into(), home),
    }
}

fn amount(draw: &mut Draw) -> u64 {
    match draw.below(100) {
        0..3 => 50 + draw.below(250),
        3..60 => 500 + draw.below(4_500),
        60..97 => 5_000 + draw.below(20_000),
        _ => 50_100 + draw.below(90_000),
    }
}
