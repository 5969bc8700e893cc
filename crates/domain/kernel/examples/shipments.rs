//! A warehouse's shipments: read from lines of text, changed by two clerks at once, and sent back when nobody takes them.
//!
//! `cargo run -p dropin-kernel --example shipments`

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use dropin_kernel::{
    Change, OrderId, Revision, Timestamp, Violation, ViolationCode, Violations, coded_enum, parse_span, write_span,
};

coded_enum! {
    /// Where a shipment is.
    enum ShipmentState: "state of a shipment" {
        /// In the warehouse.
        Packed = "PACKED",
        /// With the carrier.
        Sent = "SENT",
        /// With the shopper.
        Delivered = "DELIVERED",
        /// On its way back.
        Returned = "RETURNED",
    }
}

/// The parcel of an Order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shipment {
    order: OrderId,
    state: ShipmentState,
    updated_at: Timestamp,
    revision: Revision,
}

impl Shipment {
    /// Reads `order state instant`. All that is wrong with the line is reported at once, each with its path.
    fn parse(line_number: usize, line: &str) -> Result<Self, Violations> {
        let mut all = Violations::new();
        let mut words = line.split_whitespace();
        let mut field = |name: &str| (format!("Lines[{line_number}].{name}"), words.next());
        let (order, state, updated_at) = (field("Order"), field("State"), field("UpdatedAt"));
        let (order, state, updated_at) = (read(order, &mut all), read(state, &mut all), read(updated_at, &mut all));
        let whole = order.zip(state).zip(updated_at);
        let revision = Revision::FIRST;
        all.into_result(whole.map(|((order, state), updated_at)| Self { order, state, updated_at, revision }))
    }

    /// The shipment in another state, to be written where it still has the revision that was read.
    fn moved(&self, state: ShipmentState, now: Timestamp) -> Change<Self> {
        let next = Self { state, updated_at: now, revision: self.revision.next(), ..self.clone() };
        Change { next, expected: self.revision }
    }
}

/// A field by the `FromStr` of its type, whose error is the message.
fn read<T: FromStr<Err: Display>>((path, word): (String, Option<&str>), all: &mut Violations) -> Option<T> {
    let word = word.ok_or_else(|| Violation::new(&path, ViolationCode::Missing, "is required"));
    let value = word.and_then(|word| {
        word.parse().map_err(|error: T::Err| Violation::new(&path, ViolationCode::Invalid, error.to_string()))
    });
    all.check(value)
}

/// A store that writes a change only where nobody was faster (compare-and-set).
struct Warehouse(BTreeMap<OrderId, Shipment>);

impl Warehouse {
    fn write(&mut self, change: Change<Shipment>) -> bool {
        let Some(stored) = self.0.get_mut(&change.next.order) else { return false };
        let is_current = stored.revision == change.expected;
        if is_current {
            *stored = change.next;
        }
        is_current
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let lines = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112 PACKED 2026-11-18T11:06:40.000000Z\n\
                 6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809113 SENT   2026-11-20T08:00:00.000000Z";
    let read: Result<Vec<_>, _> = lines.lines().enumerate().map(|(n, line)| Shipment::parse(n, line)).collect();
    let mut warehouse = Warehouse(read?.into_iter().map(|shipment| (shipment.order, shipment)).collect());

    // A line with two errors names both of them, and repeats nothing of what was sent.
    let wrong = Shipment::parse(2, "6f1c3b2a LOST 2026-11-20T08:00:00.000000Z").expect_err("two fields are wrong");
    assert_eq!(
        wrong.to_string(),
        "Lines[2].Order not a valid UUID (FIELD_INVALID); \
         Lines[2].State is no state of a shipment; there are PACKED, SENT, DELIVERED, RETURNED (FIELD_INVALID)"
    );

    // Two clerks read the same revision. The one who writes second has to read again and decide again.
    let now: Timestamp = "2026-11-21T09:00:00.000000Z".parse()?;
    let order: OrderId = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112".parse()?;
    let seen = warehouse.0[&order].clone();
    assert!(warehouse.write(seen.moved(ShipmentState::Sent, now)));
    assert!(!warehouse.write(seen.moved(ShipmentState::Returned, now)), "decided on a revision that is gone");
    assert_eq!(warehouse.0[&order].revision, Revision::new(2));

    // What is with the carrier for longer than the setting says comes back.
    let patience = parse_span("14d").ok_or("a span such as 14d")?;
    let today = now.plus(patience);
    let late: Vec<_> = (warehouse.0.values())
        .filter(|one| one.state == ShipmentState::Sent && patience < today.since(one.updated_at))
        .map(|one| one.moved(ShipmentState::Returned, today))
        .collect();
    assert!(late.into_iter().all(|change| warehouse.write(change)));

    println!("sent back after {}:", write_span(patience));
    for Shipment { order, state, updated_at, revision } in warehouse.0.values() {
        println!("{order} {state:<9} {updated_at} revision {}", revision.number());
    }
    let count = |state| warehouse.0.values().filter(|one| one.state == state).count();
    assert_eq!(ShipmentState::ALL.map(count), [0, 1, 0, 1]);
    Ok(())
}
