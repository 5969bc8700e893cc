//! The ECB's XML: an Envelope with Cubes in it; one with a time is a day, those with a currency and a rate in it are its rates.

use std::collections::BTreeMap;

use dropin_money::Currency;
use dropin_rates::Rate;
use quick_xml::Reader;
use quick_xml::events::{BytesDecl, BytesStart, Event};
use time::Date;

use crate::days::{Days, FormatError, Place, Wrong, add, currency, day, finish};

/// Deepest nesting; the ECB's is four.
const MAX_DEPTH: usize = 8;

pub(crate) fn days(text: &str) -> Result<Days, FormatError> {
    let mut reader = Reader::from_str(text);
    let mut walk = Walk::default();
    loop {
        let place = Place::Byte(reader.buffer_position());
        let event = reader.read_event().map_err(|_malformed| Place::Byte(reader.error_position()).is(Wrong::Syntax))?;
        let step = match event {
            Event::Start(element) => walk.open(&element),
            Event::Empty(element) => walk.open(&element).and_then(|()| walk.close()),
            Event::End(_) => walk.close(),
            Event::Decl(declaration) => encoding(&declaration),
            Event::DocType(_) | Event::GeneralRef(_) => Err(Wrong::Entity),
            Event::Text(text) if walk.depth == 0 && !text.xml10_content().trim().is_empty() => Err(Wrong::Syntax),
            Event::Text(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) => Ok(()),
            Event::Eof if walk.depth == 0 => return Ok(walk.days),
            Event::Eof => Err(Wrong::Truncated),
        };
        step.map_err(|wrong| place.is(wrong))?;
    }
}

fn encoding(declaration: &BytesDecl<'_>) -> Result<(), Wrong> {
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") => Ok(()),
        Some(Ok(_)) => Err(Wrong::NotText),
        Some(Err(_)) => Err(Wrong::Syntax),
    }
}

/// Where in the tree the reader is.
#[derive(Default)]
struct Walk {
    depth: usize,
    rooted: bool,
    /// The day that is open, and at which depth it was opened.
    open: Option<(usize, Date, BTreeMap<Currency, Rate>)>,
    days: Days,
}

impl Walk {
    fn open(&mut self, element: &BytesStart<'_>) -> Result<(), Wrong> {
        let name = element.local_name();
        if self.depth == 0 && (std::mem::replace(&mut self.rooted, true) || name.as_ref() != "Envelope") {
            return Err(Wrong::Layout("the file has to be one Envelope"));
        }
        self.depth += 1;
        if MAX_DEPTH < self.depth {
            return Err(Wrong::Layout("elements are nested too deeply"));
        }
        match (name.as_ref(), &self.open) {
            ("Cube", _) => self.cube(&Cube::read(element)?),
            (_, None) => Ok(()),
            (_, Some(_)) => Err(Wrong::Layout("a day holds nothing but Cubes")),
        }
    }

    fn cube(&mut self, cube: &Cube<'_>) -> Result<(), Wrong> {
        match (cube, &mut self.open) {
            (Cube { time: Some(time), currency: None, rate: None }, None) => {
                self.open = Some((self.depth, day(time)?, BTreeMap::new()));
                Ok(())
            }
            (Cube { time: None, currency: Some(code), rate: Some(rate) }, Some((depth, _, rates))) => {
                if self.depth != *depth + 1 {
                    return Err(Wrong::Layout("a rate lies in another rate"));
                }
                currency(code)?.map_or(Ok(()), |known| add(rates, known, rate))
            }
            (Cube { time: None, currency: None, rate: None }, None) => Ok(()),
            _ => Err(Wrong::Layout("a Cube holds days, or is a day, or has a currency and a rate within a day")),
        }
    }

    /// The end of an element; the reader has checked that it is the one that was opened last.
    fn close(&mut self) -> Result<(), Wrong> {
        let finished = self.open.take_if(|(depth, ..)| *depth == self.depth);
        self.depth = self.depth.saturating_sub(1);
        finished.map_or(Ok(()), |(_, date, rates)| finish(&mut self.days, date, rates))
    }
}

/// The attributes of a Cube. Others are refused, with the first that is met: a multiplier, for instance, would give its rate another meaning.
#[derive(Default)]
struct Cube<'a> {
    time: Option<std::borrow::Cow<'a, str>>,
    currency: Option<std::borrow::Cow<'a, str>>,
    rate: Option<std::borrow::Cow<'a, str>>,
}

impl<'a> Cube<'a> {
    fn read(element: &'a BytesStart<'_>) -> Result<Self, Wrong> {
        let mut cube = Self::default();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|_malformed| Wrong::Syntax)?;
            if attribute.value.contains('&') {
                return Err(Wrong::Entity);
            }
            let place = match attribute.key.into_inner() {
                "time" => &mut cube.time,
                "currency" => &mut cube.currency,
                "rate" => &mut cube.rate,
                _ => return Err(Wrong::Layout("a Cube has an attribute that is none of time, currency and rate")),
            };
            *place = Some(attribute.value);
        }
        Ok(cube)
    }
}
