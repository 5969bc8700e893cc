//! What a request asks for, with what it names: a rate offer, a billing profile, a contract.

use dropin_contract::{Contract, ContractStateKind};
use dropin_kernel::{BillingProfileId, ParseIdError, RateOfferId, Timestamp, Violation, ViolationCode, Violations};
use dropin_ports::{ContractName, StoreError};
use dropin_validation::BillingProfile;
use dropin_wire::RequestError;
use dropin_wire::session::{DraftContext, RequestedBilling, RequestedRate, SessionDraft, SessionRequest};

use super::Sessions;
use crate::access::Caller;

impl Sessions {
    /// What a request asks for.
    pub(super) async fn draft(
        &self,
        caller: &Caller,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Result<SessionDraft, RequestError>, StoreError> {
        let input = match SessionRequest::read(body) {
            Ok(input) => input,
            Err(error) => return Ok(Err(error)),
        };
        let rate = match &input.rate_offer_id {
            None => RequestedRate::None,
            Some(raw) => {
                let found = match raw.parse::<RateOfferId>() {
                    Ok(id) => self.store.find_rate_offer(caller.merchant.id, id).await?,
                    // What is no id of ours names no offer either.
                    Err(ParseIdError) => None,
                };
                RequestedRate::found(found, now)
            }
        };
        let context = DraftContext { url_policy: self.url_policy, today: now.to_offset_date_time().date() };
        Ok(SessionDraft::parse(&input, context, &rate).map_err(RequestError::from))
    }

    /// The billing profile that was wished for: a new one, or one of the merchant's own.
    pub(super) async fn profile(
        &self,
        caller: &Caller,
        requested: &RequestedBilling,
    ) -> Result<Result<BillingProfile, Violation>, StoreError> {
        let merchant = caller.merchant.id;
        let (found, field) = match requested {
            RequestedBilling::Supplied(details) => {
                let id = BillingProfileId::new(self.ids.ordered());
                return Ok(Ok(BillingProfile { id, details: (**details).clone() }));
            }
            RequestedBilling::Reference(reference) => {
                (self.store.find_profile_by_reference(merchant, reference).await?, "BillingProfileReference")
            }
            RequestedBilling::Id(id) => (self.store.find_profile(merchant, *id).await?, "BillingProfileId"),
        };
        let why = "names no billing profile of an earlier Session; send BillingProfile in its place";
        Ok(found.ok_or_else(|| Violation::new(field, ViolationCode::NotFound, why)))
    }

    /// Whether a shopper can be brought back to the contract that is named, if one is (docs/SPECIFICATION.md#contract-return).
    pub(super) async fn check_contract(
        &self,
        caller: &Caller,
        draft: &SessionDraft,
        profile: &BillingProfile,
    ) -> Result<Result<(), RequestError>, StoreError> {
        let Some(id) = draft.contract_id else { return Ok(Ok(())) };
        let found = self.contracts.find_contract(caller.merchant.id, &ContractName::Id(id)).await?;
        let (code, why) = match &found {
            None => (ViolationCode::NotFound, "names no contract of yours"),
            Some(contract) => match contract.state.kind() {
                ContractStateKind::Opening => (ViolationCode::NotAllowed, "names a contract that is OPENING still"),
                ContractStateKind::Closed => {
                    (ViolationCode::NotAllowed, "names a contract that is CLOSED, which is for ever: open another")
                }
                _ if !contract.kind.allows_merchant_charges() => (
                    ViolationCode::NotAllowed,
                    "names a ONE_CLICK contract: leave it out, and name the billing profile for its saved cards",
                ),
                _ if contract.currency != draft.currency() => {
                    let why = format!("must both name {}, the currency of the contract", contract.currency.code());
                    let mut both = Violations::new();
                    both.push("ContractId", ViolationCode::Conflict, &why);
                    both.push("Currency", ViolationCode::Conflict, why);
                    return Ok(Err(both.into()));
                }
                _ if is_of_another_customer(contract, profile) => {
                    let why = "must be of one customer: the contract has another BillingProfileReference";
                    let mut both = Violations::new();
                    both.push("ContractId", ViolationCode::Conflict, why);
                    both.push(billing_field(&draft.billing), ViolationCode::Conflict, why);
                    return Ok(Err(both.into()));
                }
                ContractStateKind::Active | ContractStateKind::Suspended => return Ok(Ok(())),
            },
        };
        Ok(Err(Violation::new("ContractId", code, why).into()))
    }
}

/// Whether the contract and the billing profile each name a customer of the merchant's, and not the same one.
fn is_of_another_customer(contract: &Contract, profile: &BillingProfile) -> bool {
    let of_contract = contract.billing_profile_reference.as_ref();
    of_contract.zip(profile.details.reference.as_ref()).is_some_and(|(one, other)| one.as_str() != other.as_str())
}

/// The member of the request that names the billing profile.
fn billing_field(billing: &RequestedBilling) -> &'static str {
    match billing {
        RequestedBilling::Supplied(_) => "BillingProfile.BillingProfileReference",
        RequestedBilling::Reference(_) => "BillingProfileReference",
        RequestedBilling::Id(_) => "BillingProfileId",
    }
}
