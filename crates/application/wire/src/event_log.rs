//! GET /v1/event: a merchant's notifications, to be read instead of or beside being sent (docs/SPECIFICATION.md#event-pull).

use std::fmt;

use dropin_kernel::{EventId, PaymentId, Timestamp, Violation, ViolationCode, Violations};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::event::EventBody;
use crate::request::RequestError;
use crate::schema;

/// Events of a page when the query does not say.
pub(crate) const DEFAULT_EVENT_LIMIT: u32 = 100;
/// Most events of a page.
pub(crate) const MAX_EVENT_LIMIT: u32 = 200;

/// Where a merchant goes on reading: 32 hexadecimal digits that mean something to the store alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The first half.
    pub tick: i64,
    /// The second half.
    pub number: i64,
}

impl Cursor {
    fn parse(text: &str) -> Result<Self, Violation> {
        let half = |digits: Option<&str>| {
            let digits = digits.filter(|text| text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')))?;
            i64::from_str_radix(digits, 16).ok()
        };
        let halves = half(text.get(..16)).zip(half(text.get(16..).filter(|rest| rest.len() == 16)));
        let invalid = || {
            let help = "must be the Next of an earlier answer, as it is; leave it out to begin with the oldest event";
            Violation::new("after", ViolationCode::Invalid, help)
        };
        halves.map(|(tick, number)| Self { tick, number }).ok_or_else(invalid)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.tick, self.number)
    }
}

/// The query of GET /v1/event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventsQuery {
    /// Where to go on; at the oldest event when left out.
    pub after: Option<Cursor>,
    /// How many events at most, 1 to 200.
    pub limit: u32,
}

impl EventsQuery {
    /// Reads both parameters.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn parse(after: Option<&str>, limit: Option<&str>) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let after = after.map(Cursor::parse).transpose();
        let after = all.check(after);
        let limit = all.check(limit.map_or(Ok(DEFAULT_EVENT_LIMIT), read_limit));
        Ok(all.into_result(after.zip(limit).map(|(after, limit)| Self { after, limit }))?)
    }
}

fn read_limit(text: &str) -> Result<u32, Violation> {
    let wrong = |code| Violation::new("limit", code, format!("must be a whole number from 1 to {MAX_EVENT_LIMIT}"));
    if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(wrong(ViolationCode::Invalid));
    }
    let limit = text.parse().ok().filter(|limit| (1..=MAX_EVENT_LIMIT).contains(limit));
    limit.ok_or_else(|| wrong(ViolationCode::OutOfRange))
}

/// An event as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredEvent<'a> {
    /// `webhook-id`.
    pub event_id: EventId,
    /// EventType.
    pub event_type: &'a str,
    /// The payment.
    pub payment_id: PaymentId,
    /// `webhook-sequence`.
    pub sequence: i64,
    /// When what it tells happened.
    pub created_at: Timestamp,
    /// The bytes that are sent.
    pub body: &'a [u8],
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Event, description = "A notification as it was sent, or would have been.")]
struct StoredEventBody<'a> {
    /// The `webhook-id` that it is sent with: what you have seen by either way need not be done again.
    #[schema(value_type = schema::Id)]
    event_id: String,
    #[schema(value_type = schema::EventType)]
    event_type: &'a str,
    /// The SessionId, the OrderId of a server-to-server checkout, or the ContractId of an openContract. Order counts among the events of one payment.
    #[schema(value_type = schema::Id)]
    payment_id: String,
    /// The `webhook-sequence`: 1 for the first event of the payment, and 1 more for each that follows.
    #[schema(minimum = 1)]
    sequence: i64,
    #[schema(value_type = schema::Moment)]
    created_at: String,
    /// What is POSTed to an endpoint, to the letter.
    #[schema(value_type = EventBody)]
    body: &'a RawValue,
}

/// The answer to GET /v1/event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Events, description = "A part of a merchant's events.")]
pub struct EventsBody<'a> {
    /// Oldest first; those of one payment in the order of its changes.
    events: Vec<StoredEventBody<'a>>,
    /// The `after` of the next call, also when there was nothing.
    #[schema(value_type = schema::EventCursor)]
    next: String,
    /// Whether more is there already; otherwise ask again later.
    more: bool,
}

/// The body of an event is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body of an event is not JSON")]
pub struct InvalidEventBody;

impl<'a> EventsBody<'a> {
    /// With these events, in their order.
    ///
    /// # Errors
    /// [`InvalidEventBody`].
    pub fn new(
        events: impl IntoIterator<Item = StoredEvent<'a>>,
        next: Cursor,
        more: bool,
    ) -> Result<Self, InvalidEventBody> {
        let events = events.into_iter().map(StoredEventBody::new).collect::<Result<_, _>>()?;
        Ok(Self { events, next: next.to_string(), more })
    }

    /// As JSON text.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a page has string keys and JSON that was checked only")
    }
}

impl<'a> StoredEventBody<'a> {
    fn new(event: StoredEvent<'a>) -> Result<Self, InvalidEventBody> {
        Ok(Self {
            event_id: event.event_id.to_string(),
            event_type: event.event_type,
            payment_id: event.payment_id.to_string(),
            sequence: event.sequence,
            created_at: event.created_at.to_string(),
            body: serde_json::from_slice(event.body).map_err(|_error| InvalidEventBody)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(after: &str, limit: &str) -> Vec<String> {
        let Err(RequestError::Fields(all)) = EventsQuery::parse(Some(after), Some(limit)) else { return vec![] };
        all.iter().map(|one| format!("{} {}", one.field, one.code.as_str())).collect()
    }

    #[test]
    fn a_cursor_comes_back() {
        for (tick, number) in [(0, 0), (1, 2), (1_790_000_000_123_456, 7), (i64::MAX, i64::MAX)] {
            let cursor = Cursor { tick, number };
            let text = cursor.to_string();
            assert_eq!(text.len(), 32);
            let query = EventsQuery::parse(Some(&text), None);
            assert_eq!(query, Ok(EventsQuery { after: Some(cursor), limit: 100 }), "{text}");
        }
        assert_eq!(EventsQuery::parse(None, Some("200")), Ok(EventsQuery { after: None, limit: 200 }));
    }

    #[test]
    fn anything_else_is_none() {
        let good = "0".repeat(32);
        assert_eq!(wrong(&good, "1"), Vec::<String>::new());
        let negative = format!("8{}", "0".repeat(31));
        let signed = format!("+{}", "0".repeat(31));
        let wide = format!("{}é", "0".repeat(15));
        for after in
            ["", "0", &good[1..], &format!("{good}0"), &negative, &signed, &wide, &"A".repeat(32), &"g".repeat(32)]
        {
            assert_eq!(wrong(after, "1"), ["after FIELD_INVALID"], "{after}");
        }
        for (limit, code) in [
            ("", "FIELD_INVALID"),
            ("+1", "FIELD_INVALID"),
            ("1.0", "FIELD_INVALID"),
            ("-1", "FIELD_INVALID"),
            ("0", "VALUE_OUT_OF_RANGE"),
            ("201", "VALUE_OUT_OF_RANGE"),
            ("99999999999999999999", "VALUE_OUT_OF_RANGE"),
        ] {
            assert_eq!(wrong(&good, limit), [format!("limit {code}")], "{limit}");
        }
        assert_eq!(wrong("x", "x"), ["after FIELD_INVALID", "limit FIELD_INVALID"], "both at once");
    }

    #[test]
    fn a_body_is_shown_to_the_letter() {
        let id = uuid::Uuid::from_u128(7);
        let event = |body| StoredEvent {
            event_id: EventId::new(id),
            event_type: "ORDER_PROCESSED",
            payment_id: PaymentId::new(id),
            sequence: 3,
            created_at: Timestamp::from_micros(1_790_000_000_000_000),
            body,
        };
        let next = Cursor { tick: 16, number: 1 };
        let exact = br#"{"Amount": 29.90,"Big":12345678901234567890.100}"#;
        let text = String::from_utf8(EventsBody::new([event(exact)], next, false).unwrap().bytes()).unwrap();
        let expected = r#"{"Events":[{"EventId":"00000000-0000-0000-0000-000000000007","EventType":"ORDER_PROCESSED","#
            .to_owned()
            + r#""PaymentId":"00000000-0000-0000-0000-000000000007","Sequence":3,"CreatedAt":"2026-09-21T14:13:20.000000Z","#
            + r#""Body":{"Amount": 29.90,"Big":12345678901234567890.100}}],"#
            + r#""Next":"00000000000000100000000000000001","More":false}"#;
        assert_eq!(text, expected);
        for body in [&b""[..], b"{", b"{} {}", b"\xff"] {
            assert_eq!(EventsBody::new([event(body)], next, false).err(), Some(InvalidEventBody));
        }
    }
}
