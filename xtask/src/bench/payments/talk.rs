//! What the bench and the payers, a process of their own, tell each other: lines of JSON.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where one of the services is found.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    /// What stands before its paths where several share an address.
    pub(crate) prefix: String,
}

/// A merchant: its shoppers pay, its endpoint is told.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Shop {
    pub(crate) merchant_id: String,
    pub(crate) authorization: String,
    /// Signs its notifications.
    pub(crate) secret: String,
}

/// Whom the payers deal with.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Meeting {
    pub(crate) session: Door,
    /// {asset_url}, for shoppers, and {checkout_url}, for merchants' servers.
    pub(crate) checkout: Door,
    pub(crate) server: Door,
    pub(crate) stash: Door,
    /// Clients are spread over them; their endpoints are `/hook/0`, `/hook/1`, …
    pub(crate) shops: Vec<Shop>,
    /// File to which "reference OrderId" of every paid Order is added.
    pub(crate) paid: PathBuf,
}

/// How a payment comes about.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Way {
    /// A Session that the shopper pays in the drop-in.
    DropIn,
    /// The merchant's server sends the whole payment.
    Checkout,
}

impl Way {
    /// The calls, in their order.
    pub(crate) fn calls(self) -> &'static [&'static str] {
        match self {
            Self::DropIn => &["create", "view", "stash", "submit"],
            Self::Checkout => &["stash", "checkout"],
        }
    }

    /// The notifications of a payment that is captured at once, in their order; `webhook-sequence` counts them from one.
    pub(crate) fn events(self) -> &'static [&'static str] {
        match self {
            Self::DropIn => &["SESSION_COMPLETED", "ORDER_AUTHORIZED", "ORDER_PROCESSED"],
            Self::Checkout => &["ORDER_AUTHORIZED", "ORDER_PROCESSED"],
        }
    }
}

/// One run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Load {
    pub(crate) way: Way,
    /// References begin with it.
    pub(crate) run: String,
    /// Payments under way at once.
    pub(crate) clients: usize,
    /// Seconds before and while it counts.
    pub(crate) warm_up: u32,
    pub(crate) seconds: u32,
}

/// How long one step of a payment took, in milliseconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// What came of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Report {
    /// Payments whose ORDER_PROCESSED arrived while it counted.
    pub(crate) payments: u64,
    pub(crate) seconds: f64,
    pub(crate) steps: Vec<Step>,
    /// Processor time while it counted, of the threads that pay and of those that receive; seconds.
    pub(crate) clients_cpu: f64,
    pub(crate) receiver_cpu: f64,
    pub(crate) troubles: Troubles,
}

/// What must not happen when nothing fails; each a number of times, the warm-up and the end included.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Troubles {
    /// Calls that were refused or not answered, and what was said to the first.
    pub(crate) refused: u64,
    pub(crate) first_refusal: Option<String>,
    /// Payments that were submitted and of which no ORDER_PROCESSED came.
    pub(crate) lost: u64,
    /// Notifications that came more than once, out of their order, with a wrong signature, or of no known event.
    pub(crate) again: u64,
    pub(crate) disordered: u64,
    pub(crate) forged: u64,
    pub(crate) strange: u64,
}
