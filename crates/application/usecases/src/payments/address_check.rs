//! The postcode that issuers compare with their own (docs/SPECIFICATION.md#address-check).

use dropin_access::Merchant;
use dropin_kernel::{Violation, ViolationCode};
use dropin_session::Session;
use dropin_validation::{Country, Postcode};

/// The country whose postcode the shopper is asked for when paying by a new card: that of the billing address, where the merchant has addresses checked
/// and the Session has no postcode. `None` where nothing is asked.
pub(super) fn asked_postcode(session: &Session, merchant: &Merchant) -> Option<Country> {
    let address = &session.terms.billing.details.address;
    let is_missing = merchant.methods.address_check && address.postcode.is_none();
    Some(address.country).filter(|country| is_missing && Postcode::example(*country).is_some())
}

/// The postcode to be compared at this attempt: the Session's, else the one that the shopper `typed`, which is kept nowhere. `is_new_card` says that the
/// attempt is by a card whose number was typed.
///
/// # Errors
/// A violation at `BillingAddress` or below it: what was asked for is missing or no postcode of the country, or nothing was asked for.
pub(super) fn postcode_to_check(
    session: &Session,
    merchant: &Merchant,
    typed: Option<&str>,
    is_new_card: bool,
) -> Result<Option<String>, Violation> {
    let asked = asked_postcode(session, merchant).filter(|_| is_new_card);
    match (asked, typed) {
        (Some(country), Some(typed)) => {
            let read = Postcode::parse(country, typed).map_err(|invalid| invalid.at("BillingAddress.Postcode"))?;
            Ok(Some(read.to_string()))
        }
        (Some(_), None) => {
            let why = "is required: the view lists it in AddressFields";
            Err(Violation::new("BillingAddress.Postcode", ViolationCode::Missing, why))
        }
        (None, Some(_)) => {
            let why = "is of no use: it is sent with a new card alone, where the view has AddressFields";
            Err(Violation::new("BillingAddress", ViolationCode::NotAllowed, why))
        }
        (None, None) => {
            let stored = session.terms.billing.details.address.postcode.as_ref();
            let stored = stored.filter(|_| merchant.methods.address_check && is_new_card);
            Ok(stored.map(|postcode| postcode.as_str().to_owned()))
        }
    }
}
