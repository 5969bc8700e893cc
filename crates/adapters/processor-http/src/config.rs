use std::fmt;
use std::time::Duration;

use url::Url;
use zeroize::Zeroizing;

use crate::breaker::BreakerRules;

/// The address, key or deadline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not an absolute http or https URL.
    #[error("the processor's address must be an absolute http or https URL, for example http://127.0.0.1:8086")]
    Address,
    /// http to another machine would show card data on the network.
    #[error("the processor's address must use https unless it is on this machine (loopback)")]
    PlainHttp,
    /// The client's thread could not be started.
    #[error("cannot start the processor client: {0}")]
    Start(String),
}

/// How many calls may be under way at once. Further ones wait in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Authorizations, captures, voids and refunds.
    pub payments: usize,
    /// Questions: status, abandon, journal. They never take the place of a payment, nor a payment theirs.
    pub questions: usize,
    /// How much of either one merchant may have, in percent: the rest is left to others however slowly its calls are answered.
    pub share: u8,
}

impl Default for Room {
    fn default() -> Self {
        Self { payments: 128, questions: 64, share: 50 }
    }
}

/// Where the processor is and how it is spoken to.
#[derive(Clone)]
pub struct ProcessorConfig {
    pub(crate) base: String,
    /// Host and port, without whatever else stands in the address.
    pub(crate) name: String,
    pub(crate) key: Zeroizing<String>,
    pub(crate) deadline: Duration,
    pub(crate) room: Room,
    pub(crate) breaker: BreakerRules,
}

impl fmt::Debug for ProcessorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessorConfig({})", self.name)
    }
}

impl ProcessorConfig {
    /// `deadline` bounds all of one call: waiting in line (half of it at most), connecting, and the answer to its last byte.
    ///
    /// # Errors
    /// [`ConfigError`] when `base` is no http(s) URL, or plain http to another machine.
    pub fn new(base: &str, key: String, deadline: Duration) -> Result<Self, ConfigError> {
        let url = Url::parse(base).map_err(|_not_a_url| ConfigError::Address)?;
        let host = url.host().ok_or(ConfigError::Address)?;
        let loopback = match host {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err(ConfigError::PlainHttp),
            _ => return Err(ConfigError::Address),
        }
        let name = url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            name,
            key: Zeroizing::new(key),
            deadline,
            room: Room::default(),
            breaker: BreakerRules::default(),
        })
    }

    /// The same with room for other numbers of calls; at least one each.
    #[must_use]
    pub fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// The same with other rules about when calls are held back.
    #[must_use]
    pub fn with_breaker(self, breaker: BreakerRules) -> Self {
        Self { breaker, ..self }
    }
}
