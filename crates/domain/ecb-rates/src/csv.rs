//! The ECB's comma-separated files: a line of currencies, then one line per day. Lines that begin with `#` before the first are notes.

use dropin_money::Currency;

use crate::days::{Days, FormatError, Place, Wrong, add, currency, day, finish};

/// Most columns; the ECB has 42.
const MAX_COLUMNS: usize = 200;

pub(crate) fn days(text: &str) -> Result<Days, FormatError> {
    // Whatever wrote the last line wrote its end; without it, its last number may be half a number.
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(Place::File.is(Wrong::Truncated));
    }
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (Place::Line(index + 1), line))
        .filter(|(_, line)| !line.trim().is_empty())
        .skip_while(|(_, line)| line.starts_with('#'));
    let (place, header) = lines.next().ok_or(Place::File.is(Wrong::NoRate))?;
    let columns = columns(header).map_err(|wrong| place.is(wrong))?;
    let mut days = Days::new();
    for (place, line) in lines {
        row(&columns, line, &mut days).map_err(|wrong| place.is(wrong))?;
    }
    Ok(days)
}

/// The currency of each column after the first; `None` for those that [`Currency`] does not have.
fn columns(header: &str) -> Result<Vec<Option<Currency>>, Wrong> {
    let header = header.trim_end();
    let mut names = header.strip_suffix(',').unwrap_or(header).split(',').map(str::trim);
    if names.next() != Some("Date") {
        return Err(Wrong::Layout("the first column has to be Date"));
    }
    let columns = names.take(MAX_COLUMNS + 1).map(currency).collect::<Result<Vec<_>, _>>()?;
    if MAX_COLUMNS < columns.len() {
        return Err(Wrong::Layout("there are more columns than currencies"));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(currency) = column
            && columns[..index].contains(column)
        {
            return Err(Wrong::Repeated(*currency));
        }
    }
    Ok(columns)
}

fn row(columns: &[Option<Currency>], line: &str, days: &mut Days) -> Result<(), Wrong> {
    let mut cells = line.trim_end().split(',').map(str::trim);
    let date = day(cells.next().unwrap_or_default())?;
    let mut rates = std::collections::BTreeMap::new();
    for column in columns {
        let cell = cells.next().ok_or(Wrong::Layout("a line has fewer columns than the first one"))?;
        if let Some(currency) = column
            && !matches!(cell, "" | "N/A")
        {
            add(&mut rates, *currency, cell)?;
        }
    }
    // The ECB ends each line with a comma.
    if cells.next().is_some_and(|cell| !cell.is_empty()) || cells.next().is_some() {
        return Err(Wrong::Layout("a line has more columns than the first one"));
    }
    finish(days, date, rates)
}
