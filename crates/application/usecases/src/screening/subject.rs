//! What is known of a payment when it is screened, and what it is counted by.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use dropin_card::Scheme;
use dropin_kernel::{MerchantId, SessionId};
use dropin_ports::{HashedVelocityKey, KeyringError, VelocityKeyring};
use dropin_risk::{FactText, Facts, Rules, VelocityKey};
use dropin_session::Session;
use dropin_validation::Country;
use zeroize::Zeroizing;

use crate::access::client_network;

/// A payment that is to be screened, as the merchant and the browser tell of it.
pub(crate) struct ScreeningSubject {
    /// The rules in force when it began.
    pub(crate) rules: Arc<Rules>,
    pub(crate) session: Option<SessionId>,
    /// Of the browser.
    pub(crate) fingerprint: String,
    pub(crate) email: Option<String>,
    /// BillingProfileReference.
    pub(crate) profile: Option<String>,
    pub(crate) billing_country: Option<Country>,
    pub(crate) shipping_country: Option<Country>,
}

/// What the opened payment instrument adds.
pub(crate) struct InstrumentFacts {
    /// The digits of a card's number. A wallet's token and a stored card have none here.
    pub(crate) digits: Option<Zeroizing<String>>,
    pub(crate) scheme: Option<Scheme>,
    /// What the entry of the stash was posted from.
    pub(crate) address: Option<IpAddr>,
    pub(crate) time_zone_country: Option<Country>,
    pub(crate) language_country: Option<Country>,
    /// Whether the card is stored for later payments.
    pub(crate) is_stored: bool,
}

impl ScreeningSubject {
    /// The payment of a Session by a browser.
    pub(crate) fn of_session(rules: Arc<Rules>, session: &Session, fingerprint: &str) -> Self {
        let (billing, shipping) = (&session.terms.billing.details, session.terms.shipping.as_ref());
        Self {
            rules,
            session: Some(session.id),
            fingerprint: fingerprint.to_owned(),
            email: Some(billing.email.as_str().to_owned()),
            profile: billing.reference.as_ref().map(|reference| reference.as_str().to_owned()),
            billing_country: Some(billing.address.country),
            shipping_country: shipping.map(|shipping| shipping.address.country),
        }
    }

    /// The facts. What nothing here tells of is absent: whoever knows the countries of the card and the IP address adds them.
    pub(crate) fn facts(&self, instrument: &InstrumentFacts) -> Facts {
        let text = |text: &Option<String>| text.as_deref().map(FactText::new);
        Facts {
            scheme: instrument.scheme,
            billing_country: self.billing_country,
            shipping_country: self.shipping_country,
            time_zone_country: instrument.time_zone_country,
            language_country: instrument.language_country,
            email: text(&self.email),
            device: Some(FactText::new(&self.fingerprint)),
            profile: text(&self.profile),
            ip: instrument.address,
            ..Facts::default()
        }
    }

    /// The hashes of what it is counted by, beside its merchant.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub(crate) fn hash_keys(
        &self,
        keyring: &dyn VelocityKeyring,
        merchant: MerchantId,
        instrument: &InstrumentFacts,
    ) -> Result<Vec<HashedVelocityKey>, KeyringError> {
        let address = instrument.address.map(|address| address.to_canonical());
        let email = self.email.as_deref().map(FactText::new);
        let values = [
            (VelocityKey::Card, instrument.digits.as_ref().map(|digits| Zeroizing::new(digits.as_bytes().to_vec()))),
            (VelocityKey::Device, kept(self.fingerprint.as_bytes())),
            (VelocityKey::Ip, address.and_then(|address| kept(&client_network(address)))),
            (VelocityKey::Network, address.and_then(|address| kept(&network(address)))),
            (VelocityKey::Email, email.and_then(|email| kept(without_tag(email.as_str()).as_bytes()))),
            (VelocityKey::Profile, self.profile.as_ref().and_then(|profile| kept(profile.as_bytes()))),
            (VelocityKey::Session, self.session.and_then(|session| kept(session.uuid().as_bytes()))),
        ];
        let known = values.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
        known.map(|(key, value)| keyring.hash_velocity_key(merchant, key, &value)).collect()
    }
}

fn kept(value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    (!value.is_empty()).then(|| Zeroizing::new(value.to_vec()))
}

/// An e-mail address without the tag that its owner may choose anew each time: what stands from the first `+` on in front of the `@`.
fn without_tag(email: &str) -> Cow<'_, str> {
    let parts = email.rsplit_once('@').and_then(|(local, domain)| Some((local.split_once('+')?.0, domain)));
    match parts {
        Some((name, domain)) if !name.is_empty() => Cow::Owned(format!("{name}@{domain}")),
        _ => Cow::Borrowed(email),
    }
}

/// The /24 or /48 around an address, which is canonical: a provider gives a customer up to that much of IPv6.
fn network(address: IpAddr) -> Vec<u8> {
    let length = if address.is_ipv4() { 3 } else { 6 };
    client_network(address).into_iter().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_network_and_others_do_not() {
        let network_of = |text: &str| network(text.parse::<IpAddr>().unwrap().to_canonical());
        assert_eq!(network_of("192.0.2.1"), network_of("192.0.2.255"));
        assert_eq!(network_of("192.0.2.1"), network_of("::ffff:192.0.2.7"), "one that carries an IPv4 address is one");
        assert_ne!(network_of("192.0.2.1"), network_of("192.0.3.1"));
        assert_eq!(network_of("2001:db8:1:2::1"), network_of("2001:db8:1:3::1"));
        assert_ne!(network_of("2001:db8:1:2::1"), network_of("2001:db8:2:2::1"));
        let host_of = |text: &str| client_network(text.parse::<IpAddr>().unwrap().to_canonical());
        assert_ne!(host_of("192.0.2.1"), host_of("192.0.2.2"));
        assert_eq!(host_of("2001:db8:1:2::1"), host_of("2001:db8:1:2:ffff::7"), "a host chooses its own last half");
        assert_ne!(host_of("2001:db8:1:2::1"), host_of("2001:db8:1:3::1"));
        assert_ne!(host_of("2001:db8:1:2::1"), network_of("2001:db8:1:2::1"));
    }

    #[test]
    fn a_tag_of_an_email_address_makes_nobody_new() {
        for (email, expected) in [
            ("jo+1@example.com", "jo@example.com"),
            ("jo+a+b@example.com", "jo@example.com"),
            ("jo@example.com", "jo@example.com"),
            ("j.o@example.com", "j.o@example.com"),
            ("jo@exa+mple.com", "jo@exa+mple.com"),
            ("+1@example.com", "+1@example.com"),
            ("jo+1", "jo+1"),
        ] {
            assert_eq!(without_tag(email), expected);
        }
    }
}
