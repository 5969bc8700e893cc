//! The European Central Bank's real history, from January 1999 to October 2026: every day is read, and every cross rate of every day is checked
//! by arithmetic of another kind than the code's. `cargo xtask test --only install` fetches the file; without it the test fails.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};
use std::path::Path;

use dropin_ecb_rates::{Days, read_days};
use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_rates::{
    Dated, Quote, QuoteRefusal, RateSourceLimits, Source, SourceTable, Table, conversion_on, is_publication_day,
    overdue_at,
};
use time::Date;
use time::macros::date;

/// The figures of the fetched version, counted with other tools.
const DAYS: usize = 7_126;
const QUOTES: usize = 198_271;
/// Digits of a computed rate.
const DIGITS: u32 = 10;

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("rate-history").join(name);
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{} is missing ({error}): `cargo xtask test --only install` fetches it", path.display())
    })
}

/// The rates as the file spells them, read without any of our code: day, then code and text.
fn spelled(csv: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    lines
        .map(|cells| {
            let quoted = header.iter().zip(&cells).skip(1).map(|(code, rate)| (*code, *rate));
            (cells[0], quoted.filter(|(code, rate)| !code.is_empty() && *rate != "N/A").collect())
        })
        .collect()
}

fn is_ours(code: &str) -> bool {
    Currency::ALL.iter().any(|currency| currency.code() == code)
}

/// Digits and decimals of a number by its text alone.
fn parts(text: &str) -> (u128, u32) {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}").parse().unwrap();
    (digits, u32::try_from(fraction.len()).unwrap())
}

fn table(day: Date, rates: &BTreeMap<Currency, dropin_rates::Rate>) -> Table {
    let quote = |rate| Quote { rate, dated: Dated::On(day), source: Source::Primary };
    rates.iter().map(|(currency, rate)| (*currency, quote(*rate))).collect()
}

#[test]
fn archive_csv_and_xml_hold_the_same_days() {
    let (archive, csv) = (file("eurofxref-hist.zip"), file("eurofxref-hist.csv"));
    let csv = std::str::from_utf8(&csv).unwrap();
    let days = read_days(&archive).unwrap();
    assert_eq!(read_days(csv.as_bytes()).unwrap(), days);
    let spelled = spelled(csv);
    assert_eq!((days.len(), spelled.len()), (DAYS, DAYS));
    assert_eq!(days.values().map(BTreeMap::len).sum::<usize>(), QUOTES);
    let mut xml = "<?xml version='1.0'?><gesmes:Envelope xmlns:gesmes='g' xmlns='e'><Cube>".to_owned();
    for ((day, quoted), (date, rates)) in spelled.iter().rev().zip(&days) {
        assert_eq!(*day, date.to_string());
        let ours = quoted.iter().filter(|(code, _)| is_ours(code));
        let by_code: BTreeMap<_, _> =
            rates.iter().map(|(currency, rate)| (currency.code(), rate.to_string())).collect();
        assert_eq!(ours.clone().count(), rates.len(), "{day}");
        for (code, rate) in ours {
            assert_eq!(parts(&by_code[code]), trimmed(parts(rate)), "{day} {code}");
        }
        write!(xml, "<Cube time='{day}'>").unwrap();
        for (code, rate) in quoted {
            write!(xml, "<Cube currency='{code}' rate='{rate}'/>").unwrap();
        }
        xml.push_str("</Cube>");
    }
    xml.push_str("</Cube></gesmes:Envelope>");
    assert_eq!(read_days(xml.as_bytes()).unwrap(), days);
}

/// Without trailing zeros after the point.
fn trimmed((mut digits, mut decimals): (u128, u32)) -> (u128, u32) {
    while 0 < decimals && digits % 10 == 0 {
        (digits, decimals) = (digits / 10, decimals - 1);
    }
    (digits, decimals)
}

#[test]
fn every_cross_rate_of_every_day_is_the_nearest_number_with_ten_digits() {
    let csv = file("eurofxref-hist.csv");
    let (days, csv) = (read_days(&csv).unwrap(), String::from_utf8(csv).unwrap());
    let spelled = spelled(&csv);
    // One thread per core would gain nothing more: the machine that has to be quick has two.
    let half = spelled.len() / 2;
    let checked: usize = std::thread::scope(|scope| {
        let halves = [&spelled[..half], &spelled[half..]].map(|part| scope.spawn(|| check_days(part, &days)));
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(5_000_000 < checked, "{checked} crosses");
}

fn check_days(spelled: &[(&str, Vec<(&str, &str)>)], days: &Days) -> usize {
    let by_text: BTreeMap<String, _> = days.iter().map(|(date, rates)| (date.to_string(), (*date, rates))).collect();
    let mut checked = 0;
    for (day, quoted) in spelled {
        let (date, rates) = by_text[*day];
        let table = table(date, rates);
        let mut all: Vec<_> = quoted
            .iter()
            .filter(|(code, _)| is_ours(code))
            .map(|(code, rate)| (code.parse::<Currency>().unwrap(), parts(rate)))
            .collect();
        all.push((Currency::Eur, (1, 0)));
        for (settlement, per_euro) in &all {
            for (shopper, units) in &all {
                let cross = table.cross(*settlement, *shopper).unwrap().rate();
                // units / 10^a over per_euro / 10^b.
                let numerator = units.0 * 10_u128.pow(per_euro.1);
                let denominator = per_euro.0 * 10_u128.pow(units.1);
                check_cross(&cross.to_string(), numerator, denominator, &format_args!("{day} {settlement} {shopper}"));
                checked += 1;
            }
        }
    }
    checked
}

/// Multiplies back: the rounded number is at most half a unit of its tenth digit away, and even where it is exactly half of one.
fn check_cross(cross: &str, numerator: u128, denominator: u128, what: &impl Display) {
    let (digits, decimals) = parts(cross);
    let missing = DIGITS - digits.ilog10() - 1;
    let (digits, decimals) = (digits * 10_u128.pow(missing), decimals + missing);
    let off = (numerator * 10_u128.pow(decimals)).abs_diff(digits * denominator);
    assert!(2 * off <= denominator, "{what}: {cross} is not nearest to {numerator} / {denominator}");
    assert!(2 * off < denominator || digits % 2 == 0, "{what}: {cross} went to the odd neighbour");
}

#[test]
fn the_bank_publishes_on_exactly_the_days_that_our_calendar_has() {
    let days: BTreeSet<Date> = read_days(&file("eurofxref-hist.zip")).unwrap().into_keys().collect();
    let (first, last) = (date!(2002 - 01 - 01), *days.last().unwrap());
    let mut day = first;
    while day <= last {
        assert_eq!(days.contains(&day), is_publication_day(day), "{day}");
        day = day.next_day().unwrap();
    }
}

#[test]
fn the_whole_history_in_order_is_never_stale_and_alarms_seven_times() {
    let limits = RateSourceLimits::default();
    let (mut table, mut alarms, mut former) = (Table::default(), Vec::new(), None::<Date>);
    for (day, rates) in read_days(&file("eurofxref-hist.zip")).unwrap() {
        let now: Timestamp = overdue_at(day);
        if former.is_some_and(|former| date!(2002 - 01 - 01) <= former) {
            assert!(!table.is_stale(now, &limits), "{day}: the next publication is only just overdue");
        }
        let today = [SourceTable { source: Source::Primary, dated: Dated::On(day), rates }];
        let merged = table.merge(&today, now, &limits);
        for refused in &merged.refused {
            assert_eq!(refused.why, QuoteRefusal::Jump);
            alarms.push(format!("{day} {}", refused.currency));
        }
        // A person looks and finds that it is so.
        let confirmed = limits.clone().with_confirmed(merged.refused.iter().map(|refused| refused.currency));
        table = table.merge(&today, now, &confirmed).table;
        former = Some(day);
    }
    assert_eq!(
        alarms,
        [
            "2008-10-06 ISK",
            "2008-10-08 ISK",
            "2008-11-06 ISK",
            "2014-12-16 RUB",
            "2018-02-01 ISK",
            "2021-12-21 TRY",
            "2022-02-28 RUB"
        ]
    );
    // What the bank stopped quoting is left behind; what was withdrawn is not.
    assert_eq!(table.left_behind(&limits), [Currency::Rub]);
    let fixed: Vec<_> = conversion_on(former.unwrap()).map(|fixed| fixed.currency).collect();
    assert_eq!(fixed, [Currency::Hrk, Currency::Bgn]);
}

#[test]
fn the_last_quotes_of_withdrawn_currencies_lead_to_their_fixed_rates() {
    let days = read_days(&file("eurofxref-hist.zip")).unwrap();
    for fixed in conversion_on(Date::MAX) {
        let quoted = days.range(..fixed.from).rev().find_map(|(_, rates)| rates.get(&fixed.currency)).unwrap();
        let ((a, up), (b, down)) = (parts(&quoted.to_string()), parts(&fixed.rate().to_string()));
        let (quoted, law) = (a * 10_u128.pow(down), b * 10_u128.pow(up));
        assert!(quoted.abs_diff(law) * 1_000 < law, "{}: within a thousandth", fixed.currency);
        assert!(days.range(fixed.from..).all(|(_, rates)| !rates.contains_key(&fixed.currency)), "{}", fixed.currency);
    }
}
