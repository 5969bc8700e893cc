use dropin_ecb_rates::{Place, Wrong, read_days};
use dropin_money::Currency;
use dropin_rates::RateError;
use time::macros::date;

use super::{daily_xml, envelope, place, wrong};

#[test]
fn a_day_and_a_history() {
    let day = "<Cube time='2026-11-20'><Cube currency='USD' rate='1.1172'/><Cube currency='XAU' rate='no'/></Cube>";
    let before = "<Cube time=\"2026-11-19\"><Cube rate=\"1.1100\" currency=\"USD\"></Cube></Cube>";
    let days = read_days(envelope(&format!("{day}<!-- a note -->{before}")).as_bytes()).unwrap();
    assert_eq!(days.keys().copied().collect::<Vec<_>>(), [date!(2026 - 11 - 19), date!(2026 - 11 - 20)]);
    let newest = &days[&date!(2026 - 11 - 20)];
    assert_eq!((newest.len(), newest[&Currency::Usd].to_string()), (1, "1.1172".to_owned()));
    assert_eq!(days[&date!(2026 - 11 - 19)][&Currency::Usd].to_string(), "1.11");
}

#[test]
fn no_entity_is_ever_read() {
    let bomb = "<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>";
    let outside = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">";
    for declaration in [bomb, outside, "<!DOCTYPE a>"] {
        let file = daily_xml("2026-11-20", &[("USD", "1.1")])
            .replace("<gesmes:Envelope", &format!("{declaration}<gesmes:Envelope"));
        assert_eq!(wrong(file), Wrong::Entity, "{declaration}");
    }
    assert_eq!(wrong(daily_xml("2026-11-20", &[("USD", "&b;")])), Wrong::Entity);
    assert_eq!(wrong(daily_xml("2026-11-20", &[("USD", "1&#46;1")])), Wrong::Entity);
    assert_eq!(wrong(daily_xml("2026-11-20", &[("USD", "1.1")]).replace("Reference", "&b;")), Wrong::Entity);
}

#[test]
fn wherever_it_is_cut_off_it_is_refused() {
    let whole = daily_xml("2026-11-20", &[("USD", "1.1172"), ("JPY", "175.68")]);
    let end = whole.trim_end().len();
    assert!(read_days(&whole.as_bytes()[..end]).is_ok());
    for length in 0..end {
        assert!(read_days(&whole.as_bytes()[..length]).is_err(), "the first {length} bytes were taken for the whole");
    }
    assert_eq!(wrong(&whole[..whole.find("</gesmes:Envelope>").unwrap()]), Wrong::Truncated);
}

#[test]
fn rates_that_are_none() {
    for (rate, error) in [
        ("0", RateError::NotPositive),
        ("0.0000", RateError::NotPositive),
        ("-1.1", RateError::NotPositive),
        ("NaN", RateError::NotANumber),
        ("Infinity", RateError::NotANumber),
        ("1e3", RateError::NotANumber),
        ("1,1172", RateError::NotANumber),
        ("", RateError::NotANumber),
        (" 1.1", RateError::NotANumber),
        ("0x1F", RateError::NotANumber),
        ("1000000000", RateError::OutOfRange),
        ("0.000000001", RateError::OutOfRange),
        ("1.1234567890123456", RateError::TooPrecise),
    ] {
        assert_eq!(
            wrong(daily_xml("2026-11-20", &[("GBP", "0.8"), ("USD", rate)])),
            Wrong::Rate(Currency::Usd, error),
            "{rate}"
        );
    }
}

#[test]
fn days_and_currencies_that_are_none() {
    for day in ["2026-02-30", "2026-13-01", "1998-12-31", "", "today", "2026-11-20T00:00"] {
        assert_eq!(wrong(daily_xml(day, &[("USD", "1.1")])), Wrong::Date, "{day}");
    }
    for code in ["usd", "US", "USDX", "U D", "ÄÖÜ", ""] {
        assert_eq!(wrong(daily_xml("2026-11-20", &[(code, "1.1")])), Wrong::Code, "{code}");
    }
    assert_eq!(wrong(daily_xml("2026-11-20", &[("EUR", "1")])), Wrong::Base);
    assert_eq!(wrong(daily_xml("2026-11-20", &[("USD", "1.1"), ("USD", "1.1")])), Wrong::Repeated(Currency::Usd));
    assert_eq!(wrong(daily_xml("2026-11-20", &[("XAU", "1")])), Wrong::NoRate);
    assert_eq!(wrong(daily_xml("2026-11-20", &[])), Wrong::NoRate);
    let twice = "<Cube time='2026-11-20'><Cube currency='USD' rate='1'/></Cube>".repeat(2);
    assert_eq!(wrong(envelope(&twice)), Wrong::RepeatedDay);
}

#[test]
fn other_layouts_are_refused() {
    let is_layout = |file: String| assert!(matches!(wrong(&file), Wrong::Layout(_)), "{file}");
    is_layout("<html><body>The file has moved.</body></html>".to_owned());
    is_layout(envelope("<Cube currency='USD' rate='1.1'/>"));
    is_layout(envelope("<Cube time='2026-11-20'><Cube currency='USD'/></Cube>"));
    is_layout(envelope("<Cube time='2026-11-20'><Cube rate='1.1'/></Cube>"));
    is_layout(envelope("<Cube time='2026-11-20' currency='USD' rate='1.1'/>"));
    is_layout(envelope("<Cube time='2026-11-20'><Cube time='2026-11-19'/></Cube>"));
    is_layout(envelope("<Cube time='2026-11-20'><other/></Cube>"));
    is_layout(envelope(
        "<Cube time='2026-11-20'><Cube currency='USD' rate='1'><Cube currency='JPY' rate='1'/></Cube></Cube>",
    ));
    // A multiplier, as other banks have it, would make the rate another one.
    is_layout(envelope("<Cube time='2026-11-20'><Cube currency='HUF' multiplier='100' rate='4'/></Cube>"));
    is_layout(format!("{0}{0}", "<Envelope></Envelope>"));
    is_layout("<Envelope>".to_owned() + &"<a>".repeat(100_000));
    assert_eq!(wrong(daily_xml("2026-11-20", &[("USD", "1.1")]) + "more"), Wrong::Syntax);
    assert_eq!(wrong("<Envelope></Other>"), Wrong::Syntax);
    assert_eq!(wrong(envelope("<Cube time='2026-11-20' time='2026-11-19'/>")), Wrong::Syntax);
}

#[test]
fn an_element_of_a_million_attributes_costs_nothing() {
    let attributes: String = (0..1_000_000).map(|index| format!(" a{index}=''")).collect();
    assert!(matches!(wrong(envelope(&format!("<Cube{attributes}/>"))), Wrong::Layout(_)));
}

#[test]
fn other_encodings_are_refused() {
    let file = daily_xml("2026-11-20", &[("USD", "1.1")]);
    assert_eq!(wrong(file.replace("UTF-8", "ISO-8859-1")), Wrong::NotText);
    assert_eq!(wrong(b"<Envelope>\xff</Envelope>"), Wrong::NotText);
    assert!(read_days(file.replace("UTF-8", "utf-8").as_bytes()).is_ok());
    assert!(read_days(format!("\u{feff}{file}").as_bytes()).is_ok());
}

#[test]
fn whoever_repairs_it_is_told_where() {
    let file = daily_xml("2026-11-20", &[("GBP", "0.8"), ("USD", "0")]);
    let at = file.find("<Cube currency='USD'").unwrap();
    assert_eq!(place(&file), Place::Byte(u64::try_from(at).unwrap()));
    let error = read_days(file.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), format!("byte {at} has a wrong rate for USD: it must be greater than zero"));
}
