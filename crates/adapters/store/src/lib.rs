#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod activity;
mod audit;
mod audit_log;
mod back_office;
mod checks;
mod clock;
mod columns;
mod contract;
mod deployment;
mod dispute;
mod event_log;
mod grants;
mod health;
mod history;
mod idempotency;
mod ledger;
mod migrations;
mod notifications;
mod open;
mod operator;
mod outbox;
mod payment;
mod processor_account;
#[cfg(test)]
mod query_plan;
mod rates;
mod rows;
mod schema;
mod screening;
mod sealed;
mod session;
mod start_state;
mod stash;
mod store;
mod wallet;

pub use checks::StoreCheck;
pub use clock::ClockDifference;
pub use dropin_store_runtime::config::{AddressRefused, DatabaseAddress, OpenError, ReplaceError, Role, StoreConfig};
pub use dropin_store_runtime::wake::WakeSubscription;
pub use grants::grants;
pub use start_state::{Deployment, DeploymentMode, StartRefused};
pub use store::Store;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dropin_store_runtime::worker_pool::Batchable;
    use dropin_store_runtime::worker_pool::Kind::{self, Read, Write};

    use crate::outbox::{Claiming, Finishing};
    use crate::payment::{Changing, Preparation, Settling};
    use crate::screening::Counting;
    use crate::session::{Creation, Replacement, Search};
    use crate::stash::{Peek, Put};

    fn kind<W: Batchable>() -> (Kind, usize, &'static str) {
        (W::KIND, W::THREADS, W::THREAD)
    }

    #[test]
    fn each_kind_of_batch_has_threads_of_its_own_name() {
        let kinds = [
            (kind::<Creation>(), Write, 2),
            (kind::<Replacement>(), Write, 2),
            (kind::<Search>(), Read, 1),
            (kind::<Peek>(), Read, 1),
            (kind::<Preparation>(), Write, 2),
            (kind::<Settling>(), Write, 2),
            (kind::<Changing>(), Write, 2),
            (kind::<Put>(), Write, 2),
            (kind::<Counting>(), Write, 1),
            (kind::<Claiming>(), Write, 2),
            (kind::<Finishing>(), Write, 2),
        ];
        let mut names = BTreeSet::new();
        for ((kind, threads, name), expected_kind, expected_threads) in kinds {
            assert_eq!((kind, threads), (expected_kind, expected_threads), "{name}");
            assert!(names.insert(name) && name.len() <= 15, "{name}: Linux shows 15 bytes");
        }
        // docs/adr/0002: N + 19 connections.
        assert_eq!(kinds.iter().map(|((_, threads, _), ..)| threads).sum::<usize>(), 19);
    }
}
