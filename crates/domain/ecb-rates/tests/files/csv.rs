use dropin_ecb_rates::{MAX_BYTES, Place, Wrong, read_days};
use dropin_money::Currency;
use dropin_rates::RateError;
use time::macros::date;

use super::{place, wrong};

#[test]
fn the_history_and_the_daily_dialect() {
    let history = "Date,USD,CYP,JPY,\n2026-10-30,1.1172,N/A,175.68,\n1999-01-04,1.1789,0.58231,,\n";
    let days = read_days(history.as_bytes()).unwrap();
    assert_eq!(days[&date!(1999 - 01 - 04)].keys().copied().collect::<Vec<_>>(), [Currency::Usd]);
    assert_eq!(days[&date!(2026 - 10 - 30)][&Currency::Jpy].to_string(), "175.68");
    let daily = "Date, USD, GBP, \n30 October 2026, 1.1172, 0.83380, \n";
    assert_eq!(read_days(daily.as_bytes()).unwrap()[&date!(2026 - 10 - 30)][&Currency::Gbp].to_string(), "0.8338");
}

#[test]
fn notes_stand_before_the_first_line() {
    let file = "# Source: our bank, noon\n\n# Second note\r\nDate,AED\r\n2026-11-20,4.1028\r\n";
    assert_eq!(read_days(file.as_bytes()).unwrap().len(), 1);
    assert_eq!(wrong("Date,AED\n# note\n2026-11-20,4.1028\n"), Wrong::Date);
}

#[test]
fn wherever_it_is_cut_off_it_is_refused() {
    let whole = "Date,USD,JPY\n2026-11-20,1.1172,175.68\n2026-11-19,1.1,175\n";
    for length in 0..whole.len() {
        // At the end of a line nobody can tell; what is there is whole.
        let at_a_line = whole[..length].ends_with('\n') && 13 < length;
        assert_eq!(read_days(&whole.as_bytes()[..length]).is_ok(), at_a_line, "the first {length} bytes");
    }
    assert_eq!(wrong("Date,USD\n2026-11-20,1.11"), Wrong::Truncated);
}

#[test]
fn what_is_wrong_and_where() {
    let is = |file: &str, expected| assert_eq!((wrong(file), place(file)), expected, "{file}");
    is("", (Wrong::NoRate, Place::File));
    is("\n\n", (Wrong::NoRate, Place::File));
    is("Date,USD\n", (Wrong::NoRate, Place::File));
    is("Date,USD\n2026-11-20,N/A\n", (Wrong::NoRate, Place::File));
    is("Date,usd\n2026-11-20,1\n", (Wrong::Code, Place::Line(1)));
    is("Date,USD,USD\n2026-11-20,1,1\n", (Wrong::Repeated(Currency::Usd), Place::Line(1)));
    is("Date,EUR\n2026-11-20,1\n", (Wrong::Base, Place::Line(1)));
    is("Date,USD\n2026-11-20,1\n2026-11-20,1\n", (Wrong::RepeatedDay, Place::Line(3)));
    is("Date,USD\n2026-11-31,1\n", (Wrong::Date, Place::Line(2)));
    is("Date,USD\n\n2026-11-20,0\n", (Wrong::Rate(Currency::Usd, RateError::NotPositive), Place::Line(3)));
    is("Date,USD\n2026-11-20,1e5\n", (Wrong::Rate(Currency::Usd, RateError::NotANumber), Place::Line(2)));
    is("Date,USD\n2026-11-20,\"1.1\"\n", (Wrong::Rate(Currency::Usd, RateError::NotANumber), Place::Line(2)));
    for layout in [
        "Day,USD\n2026-11-20,1\n",
        "Date,USD\n2026-11-20\n",
        "Date,USD\n2026-11-20,1,2\n",
        "Date,USD\n2026-11-20,1,,\n",
    ] {
        assert!(matches!(wrong(layout), Wrong::Layout(_)), "{layout}");
    }
    assert!(matches!(wrong("no such file\n"), Wrong::Layout(_)));
    let wide = format!("Date{}\n", ",XAU".repeat(1_000_000));
    assert!(matches!(wrong(wide), Wrong::Layout(_)));
}

#[test]
fn what_is_too_large_is_not_looked_at() {
    assert_eq!(wrong(vec![b'<'; MAX_BYTES + 1]), Wrong::TooLarge);
}
