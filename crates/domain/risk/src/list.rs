use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dropin_access::address::Network;
use dropin_kernel::coded_enum;
use dropin_validation::Country;

use crate::email;
use crate::facts::{FactText, Facts};

coded_enum! {
    /// What a list of the rules holds.
    ///
    /// ```
    /// use dropin_risk::ListKind;
    ///
    /// assert_eq!("NETWORKS".parse(), Ok(ListKind::Networks));
    /// ```
    #[non_exhaustive]
    pub enum ListKind: "kind of list" {
        /// E-mail addresses.
        Emails = "EMAILS",
        /// What stands behind the `@` of e-mail addresses.
        EmailDomains = "EMAIL_DOMAINS",
        /// Fingerprints of browsers.
        Devices = "DEVICES",
        /// Merchants' names for shoppers, BillingProfileReference.
        Profiles = "PROFILES",
        /// IP addresses and ranges of them.
        Networks = "NETWORKS",
        /// Countries of cards.
        CardCountries = "CARD_COUNTRIES",
        /// Countries of billing addresses.
        BillingCountries = "BILLING_COUNTRIES",
        /// Countries of IP addresses.
        IpCountries = "IP_COUNTRIES",
    }
}

impl ListKind {
    /// Whether its entries are countries. A country is no reason to trust anybody: an allow list has none.
    ///
    /// ```
    /// # use dropin_risk::ListKind;
    /// assert!(ListKind::IpCountries.is_of_countries() && !ListKind::Networks.is_of_countries());
    /// ```
    pub const fn is_of_countries(self) -> bool {
        matches!(self, Self::CardCountries | Self::BillingCountries | Self::IpCountries)
    }
}

/// An allow list or a block list: entries by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SubjectList {
    texts: BTreeMap<ListKind, BTreeSet<FactText>>,
    countries: BTreeMap<ListKind, BTreeSet<Country>>,
    /// By their texts.
    networks: BTreeMap<String, Network>,
}

impl SubjectList {
    /// Adds `entry`; what it has to be instead, where it is none of `kind`.
    pub(crate) fn add(&mut self, kind: ListKind, entry: &str) -> Result<(), String> {
        if kind.is_of_countries() {
            let country = entry.parse::<Country>().map_err(|refused| refused.to_string())?;
            self.countries.entry(kind).or_default().insert(country);
        } else if kind == ListKind::Networks {
            let network = entry.parse::<Network>().map_err(|refused| refused.to_string())?;
            self.networks.insert(network.to_string(), network);
        } else {
            let text = FactText::new(entry);
            if text.as_str().is_empty() {
                return Err("must not be empty".to_owned());
            }
            self.texts.entry(kind).or_default().insert(text);
        }
        Ok(())
    }

    /// The kinds by which a block list holds a payment: also one whose IP address carries an address of a network inside.
    pub(crate) fn blocking(&self, facts: &Facts) -> Vec<ListKind> {
        ListKind::ALL.into_iter().filter(|kind| self.holds(*kind, facts, Network::holds)).collect()
    }

    /// The kinds by which an allow list holds a payment.
    pub(crate) fn allowing(&self, facts: &Facts) -> Vec<ListKind> {
        ListKind::ALL.into_iter().filter(|kind| self.holds(*kind, facts, Network::is_of)).collect()
    }

    fn holds(&self, kind: ListKind, facts: &Facts, within: fn(&Network, IpAddr) -> bool) -> bool {
        let has_text = |text: &Option<FactText>| {
            text.as_ref().is_some_and(|text| self.texts.get(&kind).is_some_and(|entries| entries.contains(text)))
        };
        let has_country = |country: Option<Country>| {
            country.is_some_and(|one| self.countries.get(&kind).is_some_and(|entries| entries.contains(&one)))
        };
        match kind {
            ListKind::Emails => has_text(&facts.email),
            ListKind::EmailDomains => {
                let domain = facts.email.as_ref().map(FactText::as_str).and_then(email::domain);
                has_text(&domain.map(FactText::new))
            }
            ListKind::Devices => has_text(&facts.device),
            ListKind::Profiles => has_text(&facts.profile),
            ListKind::Networks => facts.ip.is_some_and(|ip| self.networks.values().any(|network| within(network, ip))),
            ListKind::CardCountries => has_country(facts.country_of_card()),
            ListKind::BillingCountries => has_country(facts.billing_country),
            ListKind::IpCountries => has_country(facts.ip_country),
        }
    }

    /// Every entry as text, by kind.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (ListKind, Vec<String>)> {
        let texts =
            self.texts.iter().map(|(kind, all)| (*kind, all.iter().map(|one| one.as_str().to_owned()).collect()));
        let countries = self.countries.iter().map(|(kind, all)| (*kind, all.iter().map(ToString::to_string).collect()));
        let networks =
            (!self.networks.is_empty()).then(|| (ListKind::Networks, self.networks.keys().cloned().collect()));
        texts.chain(networks).chain(countries)
    }
}
