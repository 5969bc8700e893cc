//! The API documents: made from the tables of operations and the types of the bodies, with what the running service really did as examples.
//!
//! `cargo xtask openapi` (this test with DROPIN_REGENERATE=1) writes docs/openapi; without it, the test compares.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conform;
mod markdown;
mod page;
mod record;
mod scenarios;
mod served;

use std::collections::BTreeSet;

use dropin_http::{ApiDocs, ApiOperation, Exchange};
use dropin_tests::{Topology, World, committed};
use serde_json::Value;

/// A service with a document.
pub(crate) struct Service {
    name: &'static str,
    operations: &'static [ApiOperation],
    document: fn(&[Exchange]) -> String,
    docs: ApiDocs,
}

pub(crate) const SERVICES: [Service; 4] = [
    Service {
        name: "session-api",
        operations: session_api::OPERATIONS,
        document: session_api::openapi::document,
        docs: session_api::openapi::DOCS,
    },
    Service {
        name: "checkout-api",
        operations: checkout_api::OPERATIONS,
        document: checkout_api::openapi::document,
        docs: checkout_api::openapi::DOCS,
    },
    Service {
        name: "shopper-api",
        operations: checkout_api::SHOPPER_OPERATIONS,
        document: checkout_api::openapi::shopper::document,
        docs: checkout_api::openapi::shopper::DOCS,
    },
    Service {
        name: "stash-api",
        operations: stash_api::OPERATIONS,
        document: stash_api::openapi::document,
        docs: stash_api::openapi::DOCS,
    },
];

/// Every operation of a document: (method, path, operationId).
fn documented(document: &Value) -> BTreeSet<(String, String, String)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, operation)| {
            (method.to_uppercase(), path.clone(), operation["operationId"].as_str().unwrap().to_owned())
        })
    });
    operations.collect()
}

#[test]
fn every_operation_is_documented_and_nothing_else() {
    for service in SERVICES {
        let table: BTreeSet<_> = (service.operations.iter())
            .map(|row| (row.method.to_string(), row.path.to_owned(), row.name.to_owned()))
            .collect();
        for (kind, text) in [("generated", (service.document)(&[])), ("served", service.docs.document.to_owned())] {
            let document: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(documented(&document), table, "{}, {kind} document", service.name);
            assert_eq!(document["openapi"], "3.1.0", "{}", service.name);
        }
    }
}

#[actix_web::test]
async fn documents_show_what_the_running_service_does() {
    let world = World::start(Topology::AllInOne).await;
    let recorded = scenarios::run(&world).await;
    world.finish().await;
    let names: Vec<&str> = SERVICES.iter().flat_map(|service| service.operations).map(|row| row.name).collect();
    for one in &recorded {
        assert!(names.contains(&one.operation.as_str()), "{} is in no table of operations", one.operation);
    }
    for service in SERVICES {
        let mine: Vec<Exchange> = recorded
            .iter()
            .filter(|one| service.operations.iter().any(|row| row.name == one.operation))
            .cloned()
            .collect();
        let text = (service.document)(&mine);
        let document: Value = serde_json::from_str(&text).unwrap();
        for row in service.operations {
            let shown = |status: std::ops::Range<u16>| {
                mine.iter().any(|one| one.operation == row.name && status.contains(&one.status))
            };
            assert!(shown(200..300) && shown(400..500), "{} needs an example of a success and of a refusal", row.name);
        }
        for exchange in &mine {
            conform::check(&document, exchange);
        }
        committed(&format!("openapi/{}.json", service.name), &format!("{text}\n"), "openapi");
        committed(&format!("openapi/{}.html", service.name), &page::render(&document), "openapi");
    }
}
