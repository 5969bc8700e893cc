//! The scripts that a page with the drop-in runs, and why each is there: what a merchant writes down of them for PCI DSS 6.4.3.

use crate::{Asset, asset};

/// A document in which a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostDocument {
    /// The merchant's page.
    MerchantPage,
    /// The frame with the card form, the only document that ever sees a card.
    CardForm,
    /// The frame that nests the bank's page during 3-D Secure.
    Challenge,
}

impl HostDocument {
    /// Its word in the inventory.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MerchantPage => "MERCHANT_PAGE",
            Self::CardForm => "CARD_FORM",
            Self::Challenge => "CHALLENGE",
        }
    }
}

/// A script of the drop-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script {
    /// Its file.
    pub asset: &'static Asset,
    /// Where it runs.
    pub documents: &'static [HostDocument],
    /// Why it is there.
    pub purpose: &'static str,
}

/// All scripts of the bundle, those first that run first.
///
/// ```
/// let first = dropin_browser::scripts().next().expect("every bundle has scripts");
/// assert_eq!((first.asset.path, first.documents), ("dropin.js", &[dropin_browser::HostDocument::MerchantPage][..]));
/// ```
pub fn scripts() -> impl Iterator<Item = Script> {
    SCRIPTS.iter().filter_map(|(path, documents, purpose)| Some(Script { asset: asset(path)?, documents, purpose }))
}

use HostDocument::{CardForm, Challenge, MerchantPage};

const SCRIPTS: &[(&str, &[HostDocument], &str)] = &[
    ("dropin.js", &[MerchantPage], "Draws the list of payment methods and opens the frame of the card form."),
    ("progress.js", &[MerchantPage], "Draws the methods beside cards, how a payment stands, and its end."),
    ("dialog.js", &[MerchantPage], "Opens the bank's page during 3-D Secure in a dialog."),
    (
        "fallback.js",
        &[MerchantPage],
        "Says in the shopper's language that the form cannot be shown, and finds out why.",
    ),
    (
        "wallet.js",
        &[MerchantPage, CardForm],
        "Shows the wallets' buttons, loads Google's script where Google Pay is offered, and hands the encrypted token to the stash.",
    ),
    ("frame.js", &[CardForm], "Draws the card form, where alone cards are typed."),
    ("payment.js", &[CardForm], "Masks and checks what is typed, sends it to the stash, and follows the payment."),
    ("schemes.js", &[CardForm], "Lets the shopper of a co-badged card choose the scheme to pay by."),
    ("postcode.js", &[CardForm], "Asks for the postcode of the billing address, for the card's issuer to compare."),
    ("saved.js", &[CardForm], "Lists the shopper's saved cards, asks for their codes and removes them."),
    ("challenge.js", &[Challenge], "Nests the bank's page during 3-D Secure and waits for its end."),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_script_of_the_bundle_has_a_purpose() {
        let scripts: BTreeSet<_> =
            crate::assets().iter().map(|asset| asset.path).filter(|path| path.ends_with(".js")).collect();
        let listed: BTreeSet<_> = SCRIPTS.iter().map(|(path, _, _)| *path).collect();
        assert_eq!(listed, scripts);
        assert_eq!(super::scripts().count(), SCRIPTS.len(), "each is listed once");
    }
}
