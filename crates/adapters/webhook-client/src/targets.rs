//! Webhook addresses, checked once and then known.

use std::collections::HashMap;
use std::rc::Rc;

use actix_web::http::Uri;
use actix_web::http::header::HeaderValue;
use dropin_access::TargetPolicy;
use dropin_notification::DeliveryFailure;
use url::{Position, Url};

/// Addresses that are remembered; a deployment has about as many as merchants.
const MAX_CACHED_TARGETS: usize = 10_000;

/// A checked address in the form that the HTTP client takes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Host, port, path and query. Its scheme says nothing.
    pub(crate) uri: Uri,
    /// Host, and the port unless it is the scheme's own.
    pub(crate) host: HeaderValue,
    pub(crate) is_https: bool,
}

/// What was found out about addresses under one policy.
pub(crate) struct Targets {
    policy: TargetPolicy,
    known: HashMap<String, Result<Rc<Target>, DeliveryFailure>>,
}

impl Targets {
    pub(crate) fn new(policy: TargetPolicy) -> Self {
        Self { policy, known: HashMap::new() }
    }

    /// The target, or why it is none.
    pub(crate) fn get(&mut self, address: &str) -> Result<Rc<Target>, DeliveryFailure> {
        if let Some(known) = self.known.get(address) {
            return known.clone();
        }
        if MAX_CACHED_TARGETS <= self.known.len() {
            self.known.clear();
        }
        let checked = self.policy.check(address).map_err(|refused| DeliveryFailure::Forbidden(refused.why()));
        let found = checked.and_then(|url| target(&url));
        self.known.insert(address.to_owned(), found.clone());
        found
    }
}

fn target(url: &Url) -> Result<Rc<Target>, DeliveryFailure> {
    let (host, port) = url.host_str().zip(url.port_or_known_default()).ok_or(DeliveryFailure::Uncallable)?;
    let uri = format!("http://{host}:{port}{}", &url[Position::BeforePath..Position::AfterQuery]);
    let named = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok(Rc::new(Target {
        uri: uri.parse().map_err(|_not_in_a_request| DeliveryFailure::Uncallable)?,
        host: HeaderValue::from_str(&named).map_err(|_not_in_a_header| DeliveryFailure::Uncallable)?,
        is_https: url.scheme() == "https",
    }))
}

#[cfg(test)]
mod tests {
    use dropin_access::TargetRefused;

    use super::*;

    #[test]
    fn an_address_is_called_as_it_was_checked() {
        let mut targets = Targets::new(TargetPolicy::sandbox());
        for (address, uri, host, is_https) in [
            ("https://Shop.Example/hook?a=b#c", "http://shop.example:443/hook?a=b", "shop.example", true),
            ("http://127.1:8081", "http://127.0.0.1:8081/", "127.0.0.1:8081", false),
            ("https://[::1]:8443/a b", "http://[::1]:8443/a%20b", "[::1]:8443", true),
            (
                "http://b\u{fc}cher.example:80/\u{e9}",
                "http://xn--bcher-kva.example:80/%C3%A9",
                "xn--bcher-kva.example",
                false,
            ),
        ] {
            for _ in 0..2 {
                let target = targets.get(address).expect("a target");
                assert_eq!((target.uri.to_string().as_str(), target.is_https), (uri, is_https));
                assert_eq!(target.host, host);
            }
        }
        assert_eq!(
            targets.get("http://169.254.169.254/").map(drop),
            Err(DeliveryFailure::Forbidden(TargetRefused::NotPublic.why()))
        );
        assert_eq!(targets.known.len(), 5);
    }

    #[test]
    fn a_flood_of_addresses_is_not_remembered_for_ever() {
        let mut targets = Targets::new(TargetPolicy::sandbox());
        for number in 0..=MAX_CACHED_TARGETS {
            assert!(targets.get(&format!("http://shop.example/{number}")).is_ok());
        }
        assert_eq!(targets.known.len(), 1);
    }
}
