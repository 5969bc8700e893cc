use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use url::Url;
use zeroize::Zeroizing;

use crate::breaker::ProcessorBreakerRules;

/// The address, key or deadline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorConfigError {
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

/// Limits of calls in flight. Further calls wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Authorizations, captures, voids and refunds.
    pub payments: usize,
    /// Questions: status, abandon, journal. They never take the place of a payment, nor a payment theirs.
    pub questions: usize,
    /// How much of either one merchant may have, in percent: the rest is left to others however slowly its calls are answered.
    pub share: u8,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { payments: 128, questions: 64, share: 50 }
    }
}

/// The key that the processor knows us by. It may be replaced while calls are under way; a call uses what it holds when the call begins.
pub struct ProcessorKey(RwLock<Zeroizing<String>>);

impl ProcessorKey {
    fn new(key: String) -> Self {
        Self(RwLock::new(Zeroizing::new(key)))
    }

    /// Uses another key for all calls that begin from now on.
    pub fn replace(&self, key: String) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Zeroizing::new(key);
    }

    /// What a call that begins now uses.
    pub fn text(&self) -> Zeroizing<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ProcessorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessorKey(..)")
    }
}

/// Where the processor is and how it is spoken to.
#[derive(Clone)]
pub struct ProcessorConfig {
    pub(crate) base: String,
    /// Where files are sent; with everything else when `None`.
    pub(crate) upload_base: Option<&'static str>,
    /// Host and port, without whatever else stands in the address.
    pub(crate) name: String,
    pub(crate) key: Arc<ProcessorKey>,
    pub(crate) deadline: Duration,
    pub(crate) limits: CallLimits,
    pub(crate) breaker: ProcessorBreakerRules,
    /// What every call says besides.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
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
    /// [`ProcessorConfigError`] when `base` is no http(s) URL, or plain http to another machine.
    pub fn new(base: &str, key: String, deadline: Duration) -> Result<Self, ProcessorConfigError> {
        let url = Url::parse(base).map_err(|_not_a_url| ProcessorConfigError::Address)?;
        let host = url.host().ok_or(ProcessorConfigError::Address)?;
        let loopback = match host {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => return Err(ProcessorConfigError::PlainHttp),
            _ => return Err(ProcessorConfigError::Address),
        }
        let name = url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            upload_base: None,
            name,
            key: Arc::new(ProcessorKey::new(key)),
            deadline,
            limits: CallLimits::default(),
            breaker: ProcessorBreakerRules::default(),
            headers: Vec::new(),
        })
    }

    /// Where calls go, without a slash at its end.
    pub fn address(&self) -> &str {
        &self.base
    }

    /// The same for a processor that takes files at an address of their own, which must be an https one.
    #[must_use]
    pub fn with_upload_address(self, address: &'static str) -> Self {
        Self { upload_base: Some(address), ..self }
    }

    /// The same with one more header in every call.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same with other limits of calls; at least one each.
    #[must_use]
    pub fn with_call_limits(self, limits: CallLimits) -> Self {
        Self { limits, ..self }
    }

    /// The same with other rules about when calls are held back.
    #[must_use]
    pub fn with_breaker(self, breaker: ProcessorBreakerRules) -> Self {
        Self { breaker, ..self }
    }
}
