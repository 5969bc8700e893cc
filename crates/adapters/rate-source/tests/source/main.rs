//! The source from outside: files and addresses as they should be and as they should not.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod files;
mod server;
mod web;

use dropin_kernel::Timestamp;
use dropin_money::Currency;
use dropin_rates::Table;
use time::Date;
use time::macros::date;

/// The day of the small files below.
const FRIDAY: Date = date!(2026 - 11 - 20);

/// When somebody looks.
fn on(day: Date) -> Timestamp {
    day.with_hms(18, 0, 0).unwrap().assume_utc().into()
}

/// What one euro costs, as text.
fn price(table: &Table, currency: Currency) -> Option<String> {
    table.per_euro(currency).map(|rate| rate.to_string())
}

/// A file of one day in the ECB's XML.
fn daily_xml(day: &str, rates: &[(&str, &str)]) -> String {
    let cubes: String =
        rates.iter().map(|(code, rate)| format!("\t\t\t<Cube currency='{code}' rate='{rate}'/>\n")).collect();
    envelope(&format!("\t\t<Cube time='{day}'>\n{cubes}\t\t</Cube>\n"))
}

fn envelope(days: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gesmes:Envelope xmlns:gesmes=\"http://www.gesmes.org/xml/2002-08-01\" \
         xmlns=\"http://www.ecb.int/vocabulary/2002-08-01/eurofxref\">\n\t<gesmes:subject>Reference rates</gesmes:subject>\n\
         \t<gesmes:Sender>\n\t\t<gesmes:name>European Central Bank</gesmes:name>\n\t</gesmes:Sender>\n\t<Cube>\n{days}\t</Cube>\n\
         </gesmes:Envelope>\n"
    )
}
