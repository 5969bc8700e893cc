//! What the drop-in sends to pay, and to pay another way.

use dropin_catalogue::{Catalogue, Class};
use dropin_kernel::{AttemptId, ContractId, Revision, Violation, ViolationCode, Violations};
use dropin_money::Decimal;
use dropin_validation::Text;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::checkout::{ConsentDto, ConsentRequest};
use crate::known::Known;
use crate::member::{Member, Object, Shape};
use crate::request::RequestError;
use crate::schema;
use crate::stash::check_stash_id;
use crate::strict_json::read_object;

/// What the drop-in sends to pay. It names no amount: the total is the one of the version that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitRequest {
    /// The version of the Session on the shopper's screen.
    pub version: Revision,
    /// Made by the browser before sending, so that a repeat is recognised.
    pub attempt: AttemptId,
    /// What it is paid with.
    pub means: SubmitMeans,
    /// Of the browser, and of the one that stashed the card.
    pub fingerprint: String,
    /// What the shopper agreed to; whether the Session asks for it is not known yet.
    pub consent: Option<ConsentRequest>,
    /// The postcode of the card's billing address, as it was typed; whether the Session asks for it, and of which country, is not known yet.
    pub postcode: Option<String>,
}

/// What the shopper pays with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitMeans {
    /// The card, or the wallet's token, that waits under this StashId.
    Stash {
        /// Where it waits.
        stash_id: String,
        /// The method of the catalogue that is named beside it: the scheme to pay by. Whether the card bears its mark is not known yet.
        scheme: Option<String>,
    },
    /// A method of the catalogue without a card, by its id; whether it may be used for this Session is not known yet.
    Method(String),
    /// The stored card of this contract, whose verification code waits under the StashId.
    SavedCard {
        /// The contract; whether it may be paid with here is not known yet.
        contract: ContractId,
        /// Where the code waits.
        stash_id: String,
    },
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = SubmitRequest)]
struct SubmitDto {
    #[schema(value_type = schema::Version)]
    version: Member<Decimal>,
    /// Made by the browser before sending, so that a repeat is recognised.
    #[schema(value_type = schema::Id)]
    attempt_id: Member<String>,
    /// Where the card waits.
    #[schema(value_type = Option<schema::StashId>)]
    stash_id: Member<String>,
    /// In place of StashId for a method without a card. Beside it stands the scheme that the shopper chose of a card that bears more than one; without it
    /// the card is paid by the scheme that its number is of.
    #[schema(value_type = Option<schema::MethodId>)]
    payment_method: Member<String>,
    /// In place of PaymentMethod: the saved card of this contract, whose verification code waits under StashId.
    #[schema(value_type = Option<schema::Id>)]
    contract_id: Member<String>,
    /// The one that the card was stashed with.
    #[schema(value_type = schema::Text)]
    device_fingerprint: Member<String>,
    /// Which text about the contract the shopper read: required of a new card where the view has OpensContract, and the shopper's choice where it has
    /// AllowsContract. Never beside ContractId.
    #[schema(value_type = Option<ConsentDto>)]
    consent: Member<Object<ConsentDto>>,
    /// Of this attempt alone: nothing of it is stored. Exactly where the view has AddressFields and a new card pays.
    #[schema(value_type = Option<BillingAddressDto>)]
    billing_address: Member<Object<BillingAddressDto>>,
}

impl Known for SubmitDto {
    const NESTED: &'static [&'static str] = &["Consent.TextVersion", "Consent.Locale", "BillingAddress.Postcode"];
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = BillingAddress)]
struct BillingAddressDto {
    /// Postal code of the address that the card's statements are sent to.
    #[schema(value_type = schema::Text)]
    postcode: Member<String>,
}

impl Known for BillingAddressDto {}

impl Shape for BillingAddressDto {
    type Input = String;

    fn shape(self, path: &str, all: &mut Violations) -> Option<String> {
        self.postcode.required(path, "Postcode", all)
    }
}

schema::sent_as! { SubmitRequest => SubmitDto; }

impl SubmitRequest {
    /// Reads the body of the submit call.
    ///
    /// # Errors
    /// Malformed JSON; else every wrong type and missing member; else every wrong meaning.
    pub fn parse(body: &[u8], catalogue: &Catalogue) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: SubmitDto = read_object(body, &mut all)?;
        let version = dto.version.required("", "Version", &mut all);
        let attempt = dto.attempt_id.required("", "AttemptId", &mut all);
        if dto.contract_id.is_there() && !dto.stash_id.is_there() {
            all.push(
                "StashId",
                ViolationCode::Missing,
                "is required beside ContractId: the verification code waits there",
            );
        } else if !dto.stash_id.is_there() && !dto.payment_method.is_there() {
            all.push("StashId", ViolationCode::Missing, "is required, or PaymentMethod in its place");
        }
        let stash_id = dto.stash_id.optional("", "StashId", &mut all);
        let method = dto.payment_method.optional("", "PaymentMethod", &mut all);
        let contract = dto.contract_id.optional("", "ContractId", &mut all);
        let fingerprint = dto.device_fingerprint.required("", "DeviceFingerprint", &mut all);
        let consent = dto.consent.optional("", "Consent", &mut all);
        let consent = consent.and_then(|consent| consent.shape("Consent", &mut all));
        let address = dto.billing_address.optional("", "BillingAddress", &mut all);
        let postcode = address.and_then(|address| address.shape("BillingAddress", &mut all));
        let shape = version.zip(attempt).zip(fingerprint);
        let ((version, attempt), fingerprint) = all.into_result(shape)?;
        let mut all = Violations::new();
        let invalid = |field, why| Violation::new(field, ViolationCode::Invalid, why);
        let version = version.to_whole_u32().map(|number| Revision::new(number.into()));
        let version = all.check(version.ok_or_else(|| invalid("Version", "must be the Version that the view gave")));
        let attempt = all.check(attempt.parse().map_err(|_invalid| invalid("AttemptId", "must be a UUID")));
        let means = match contract {
            Some(contract) => saved_card(&contract, stash_id, method, &mut all),
            None => means(stash_id, method, catalogue, &mut all),
        };
        let fingerprint = all.check(Text::parse("DeviceFingerprint", &fingerprint));
        let consent = consent.and_then(|consent| consent.parse(&mut all));
        let postcode = postcode.and_then(|text| all.check(Text::parse("BillingAddress.Postcode", &text)));
        let whole = match (version, attempt, means, fingerprint) {
            (Some(version), Some(attempt), Some(means), Some(fingerprint)) => {
                let postcode = postcode.map(Text::into_string);
                Some(Self { version, attempt, means, fingerprint: fingerprint.into_string(), consent, postcode })
            }
            _ => None,
        };
        Ok(all.into_result(whole)?)
    }
}

/// What the drop-in sends when the shopper wants to pay another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayAnotherWayRequest {
    /// The attempt whose page shall be closed.
    pub attempt: AttemptId,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(as = PayAnotherWayRequest)]
struct PayAnotherWayDto {
    /// The attempt whose page shall be closed.
    #[schema(value_type = schema::Id)]
    attempt_id: Member<String>,
}

impl Known for PayAnotherWayDto {}

schema::sent_as! { PayAnotherWayRequest => PayAnotherWayDto; }

impl PayAnotherWayRequest {
    /// Reads the body of the call.
    ///
    /// # Errors
    /// Malformed JSON; a missing or wrong AttemptId.
    pub fn parse(body: &[u8]) -> Result<Self, RequestError> {
        let mut all = Violations::new();
        let dto: PayAnotherWayDto = read_object(body, &mut all)?;
        let attempt = dto.attempt_id.required("", "AttemptId", &mut all);
        let attempt = all.into_result(attempt)?.parse();
        let attempt =
            attempt.map_err(|_invalid| Violation::new("AttemptId", ViolationCode::Invalid, "must be a UUID"))?;
        Ok(Self { attempt })
    }
}

/// A stored card, with the stash of its code; no method beside it.
fn saved_card(
    contract: &str,
    stash_id: Option<String>,
    method: Option<String>,
    all: &mut Violations,
) -> Option<SubmitMeans> {
    if method.is_some() {
        for name in ["ContractId", "PaymentMethod"] {
            all.push(name, ViolationCode::Conflict, "a saved card has its method: send one of them");
        }
    }
    let invalid = |_no_uuid| Violation::new("ContractId", ViolationCode::Invalid, "must be one that the view lists");
    let contract = all.check(contract.parse().map_err(invalid));
    let stash_id = stash_id.filter(|id| all.check(check_stash_id(id)).is_some());
    contract.zip(stash_id).map(|(contract, stash_id)| SubmitMeans::SavedCard { contract, stash_id })
}

/// A card by its stash, or a method without a card by its id; never both.
fn means(
    stash_id: Option<String>,
    method: Option<String>,
    catalogue: &Catalogue,
    all: &mut Violations,
) -> Option<SubmitMeans> {
    if let Some(id) = &stash_id {
        all.check(check_stash_id(id));
    }
    let class = method.as_deref().and_then(|id| match catalogue.method(id) {
        Some(method) => Some(method.class()),
        None => {
            all.push("PaymentMethod", ViolationCode::NotAllowed, "must be one of the methods that the view lists");
            None
        }
    });
    match (stash_id, method) {
        (Some(_), Some(_)) if class.is_some_and(|class| class != Class::Card) => {
            for name in ["StashId", "PaymentMethod"] {
                all.push(name, ViolationCode::Conflict, "a method without a card takes no StashId: send one of them");
            }
            None
        }
        (Some(stash_id), scheme) => Some(SubmitMeans::Stash { stash_id, scheme }),
        (None, _) if class == Some(Class::Card) => {
            all.push("StashId", ViolationCode::Missing, "is required for a card");
            None
        }
        (None, method) => method.map(SubmitMeans::Method),
    }
}
