//! The formats as they should be and as they should not.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod archives;
mod csv;
mod xml;

use dropin_ecb_rates::{FormatError, Place, Wrong, read_days};

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

/// What is wrong with a file.
fn wrong(file: impl AsRef<[u8]>) -> Wrong {
    read_days(file.as_ref()).expect_err("the file is wrong and was read all the same").wrong
}

/// Where something is wrong with a file.
fn place(file: impl AsRef<[u8]>) -> Place {
    let FormatError { place, .. } = read_days(file.as_ref()).expect_err("the file is wrong and was read all the same");
    place
}
