//! Who tests cards, and who uses stolen ones: each attack on a day of its own, the short ones at an hour between eight and 22.

use std::net::{IpAddr, Ipv4Addr};

use dropin_risk::{CardFunding, Facts};

use crate::shop::{COUNTRIES, DAY, Draw, Payer, Try, country, text};

/// An attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Attack {
    /// 300 cards from one browser in five minutes.
    OneBrowser,
    /// 3,000 cards in half an hour, from 500 addresses with 50 browsers.
    ManyAddresses,
    /// A card every five minutes of a day, one browser, changing addresses and e-mails.
    Slow,
    /// 1,000 cards in a quarter of an hour; browser, address and e-mail are new each time.
    FreshEachTime,
    /// 60 stolen cards in half a day, each in a country of its own, far from the address and from where the goods go.
    MismatchedCountries,
    /// 300 codes for one card from 20 browsers.
    Codes,
}

impl Attack {
    pub(crate) const ALL: [Self; 6] = [
        Self::OneBrowser,
        Self::ManyAddresses,
        Self::Slow,
        Self::FreshEachTime,
        Self::MismatchedCountries,
        Self::Codes,
    ];

    /// Its tries in the week of `seed`.
    pub(crate) fn tries(self, seed: u64) -> Vec<Try> {
        let mut draw = Draw::new(seed, 100 + self as u64);
        let day = self as u64 * DAY;
        let hour = day + 8 * 3_600 + draw.below(14 * 3_600);
        let (number, begin, seconds) = match self {
            Self::OneBrowser => (300, hour, 300),
            Self::ManyAddresses => (3_000, hour, 1_800),
            Self::Slow => (288, day, DAY),
            Self::FreshEachTime => (1_000, hour, 900),
            Self::MismatchedCountries => (60, day + 8 * 3_600, 12 * 3_600),
            Self::Codes => (300, hour, 600),
        };
        (0..number).map(|index| self.one(begin + index * seconds / number, &mut draw)).collect()
    }

    fn one(self, at: u64, draw: &mut Draw) -> Try {
        let browsers = match self {
            Self::OneBrowser | Self::Slow => 1,
            Self::ManyAddresses => 50,
            Self::Codes => 20,
            Self::FreshEachTime | Self::MismatchedCountries => u64::MAX,
        };
        let browser = draw.below(browsers);
        let card = if self == Self::Codes { 7 } else { draw.unique() };
        let session = if self == Self::OneBrowser { 7 } else { draw.unique() };
        let facts = Facts {
            device: text(&format!("{self:?}-{browser}")),
            email: text(&self.email(draw)),
            ip: Some(self.address(draw)),
            ..if self == Self::MismatchedCountries { three_countries(draw) } else { self.countries(draw) }
        };
        let approved = if self == Self::Codes { 2 } else { 100 };
        let is_approved = draw.in_thousand(approved);
        Try { at, payer: Payer::Attacker(self), card, session, facts, is_approved, is_owner: false }
    }

    fn email(self, draw: &mut Draw) -> String {
        match self {
            Self::OneBrowser => "jo.tester@example.net".to_owned(),
            // A third of the made-up addresses look like those of people.
            _ if draw.in_thousand(330) => format!("maria.{}@example.net", draw.unique()),
            _ => format!("q{}w{}e{}@example.net", draw.below(100), draw.below(100), draw.below(100)),
        }
    }

    fn address(self, draw: &mut Draw) -> IpAddr {
        let addresses = match self {
            Self::OneBrowser => 1,
            Self::ManyAddresses => 500,
            Self::Slow => 30,
            Self::Codes => 20,
            Self::FreshEachTime | Self::MismatchedCountries => u64::from(u32::MAX),
        };
        // Spread over networks, as those of a botnet are.
        let number = draw.below(addresses).wrapping_mul(2_654_435_761);
        Ipv4Addr::from_bits(u32::try_from(number % u64::from(u32::MAX)).unwrap()).into()
    }

    /// Cards of all countries, typed with the shop's country or the card's own; three of ten tries have nothing that differs.
    fn countries(self, draw: &mut Draw) -> Facts {
        let card = draw.one_of(&COUNTRIES);
        let matches = draw.in_thousand(300);
        let billing = if matches || draw.in_thousand(500) { card } else { "AT" };
        let ip = if matches { card } else { draw.one_of(&COUNTRIES) };
        let clock = if matches || draw.in_thousand(600) { ip } else { "US" };
        let language = if matches { card } else { "US" };
        let is_small = draw.in_thousand(700);
        Facts {
            amount_cents: Some(if is_small { 1_00 } else { 29_90 }),
            scheme: "VISA".parse().ok(),
            funding: Some(CardFunding::Credit),
            card_country: country(card),
            billing_country: country(billing),
            shipping_country: country(billing),
            phone_country: country(billing),
            ip_country: country(ip),
            time_zone_country: country(clock),
            language_country: country(language),
            ..Facts::default()
        }
    }
}

/// Card, billing address and address of three countries; what is bought is worth selling on.
fn three_countries(draw: &mut Draw) -> Facts {
    let card = draw.one_of(&COUNTRIES);
    let billing = draw.one_of(&COUNTRIES.map(|code| if code == card { "SE" } else { code }));
    let ip = draw.one_of(&COUNTRIES.map(|code| if code == card || code == billing { "VN" } else { code }));
    let is_forwarded = draw.in_thousand(500);
    let clock = if draw.in_thousand(500) { ip } else { card };
    Facts {
        amount_cents: Some(15_000 + draw.below(100_000)),
        scheme: "VISA".parse().ok(),
        funding: Some(CardFunding::Credit),
        card_country: country(card),
        billing_country: country(billing),
        shipping_country: country(if is_forwarded { "LT" } else { billing }),
        phone_country: country(billing),
        ip_country: country(ip),
        time_zone_country: country(clock),
        language_country: country(billing),
        ..Facts::default()
    }
}
