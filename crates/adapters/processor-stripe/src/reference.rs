use dropin_order::ProcessorReference;

use crate::names::is_id;

/// What an intent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntentKind {
    /// To charge.
    Payment,
    /// To verify a card and charge nothing.
    Setup,
}

impl IntentKind {
    /// Where such intents are created.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Payment => "/v1/payment_intents",
            Self::Setup => "/v1/setup_intents",
        }
    }

    /// What an answer has to show in full, so that it says all of an outcome.
    pub(crate) const fn expanded(self) -> &'static str {
        match self {
            Self::Payment => "latest_charge",
            Self::Setup => "payment_method",
        }
    }
}

/// An intent that was named to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IntentReference {
    pub(crate) kind: IntentKind,
    id: String,
}

impl IntentReference {
    /// The intent of this name; `None` when it is no name of Stripe's, and so must not stand in a path.
    pub(crate) fn of(reference: &ProcessorReference) -> Option<Self> {
        let id = reference.as_str();
        let kind = [("pi_", IntentKind::Payment), ("seti_", IntentKind::Setup)];
        let (_, kind) = kind.into_iter().find(|(prefix, _)| id.starts_with(prefix))?;
        is_id(id).then(|| Self { kind, id: id.to_owned() })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Where it is read.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}?expand[0]={}", self.kind.path(), self.id, self.kind.expanded())
    }

    /// Where something is done with it.
    pub(crate) fn act(&self, what: &str) -> String {
        format!("{}/{}/{what}", self.kind.path(), self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_stripes_stand_in_a_path() {
        let of = |text: &str| IntentReference::of(&text.parse().unwrap());
        assert_eq!(of("pi_3Pg_a").unwrap().act("cancel"), "/v1/payment_intents/pi_3Pg_a/cancel");
        assert_eq!(of("seti_1").unwrap().path(), "/v1/setup_intents/seti_1?expand[0]=payment_method");
        for wrong in ["ch_1", "pi_1/../../refunds", "pi_1?a=b", "PI_1"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
