//! Asking for an authorization (docs/SPECIFICATION.md#processor-reference).

use std::time::Instant;

use dropin_card::Scheme;
use dropin_catalogue::Catalogue;
use dropin_contract::Initiator;
use dropin_order::ProcessorReference;
use dropin_ports::{Applied, AuthorizeRequest, PaymentMethodData, ProcessorReply, Registration};
use dropin_risk::{Decision, ScaExemption};

use super::{AuthorizationFlow, Prepared};

impl AuthorizationFlow<'_> {
    /// Asks for the authorization, once; where the processor names such things itself, after what it calls this one was committed.
    pub(super) async fn ask(
        &self,
        prepared: &mut Prepared,
        method_data: PaymentMethodData,
        decision: Decision,
        exemption: Option<ScaExemption>,
    ) -> ProcessorReply {
        let is_card = !matches!(method_data, PaymentMethodData::Method(_));
        let exemption = exemption_of(&method_data, exemption);
        let mut request = self.request(prepared, method_data, decision, exemption);
        let begun = Instant::now();
        match self.register(&request).await {
            Ok(None) => {}
            Ok(Some(reference)) => {
                let operation = prepared.payment.operation.clone().known_as(reference);
                request.reference = operation.reference.clone();
                prepared.payment.operation = operation;
            }
            Err(refusal) => return refusal,
        }
        let answer = self.payments.processor.authorize(request).await;
        if is_card && matches!(answer, ProcessorReply::Declined { .. } | ProcessorReply::Approved { .. }) {
            self.payments.screening.answered_after(begun.elapsed());
        }
        answer
    }

    /// Has the processor write the authorization down, and commits what it calls it, where it names such things: nothing is asked for that could not be
    /// found again. The answer, when the processor must not be asked for the money.
    async fn register(&self, request: &AuthorizeRequest) -> Result<Option<ProcessorReference>, ProcessorReply> {
        let not_asked = |why: &str| {
            let operation = request.key.to_string();
            log::warn!(operation = operation.as_str(), why; "an authorization is not asked for: nothing was reserved");
            ProcessorReply::NotSent
        };
        let reference = match self.payments.processor.register(request).await {
            Registration::Unneeded => return Ok(None),
            Registration::Registered(reference) => reference,
            Registration::Declined { reason, retryable } => {
                return Err(ProcessorReply::Declined { reason, retryable, credential: None });
            }
            Registration::NotRegistered { why } => return Err(not_asked(&why)),
        };
        // The call for the money has the whole lease before it.
        let due_at = self.payments.clock.now().plus(self.payments.timing.lease);
        match self.payments.store.keep_reference(request.key, &reference, due_at).await {
            Ok(Applied::Done) => Ok(Some(reference)),
            Ok(Applied::Stale) => Err(not_asked("the settler has taken it over")),
            // It may be kept or not: nobody else asks for the money, so there is none in either case.
            Err(error) => Err(not_asked(&error.to_string())),
        }
    }

    fn request(
        &self,
        prepared: &Prepared,
        method_data: PaymentMethodData,
        decision: Decision,
        exemption: Option<ScaExemption>,
    ) -> AuthorizeRequest {
        let (operation, order) = (&prepared.payment.operation, &prepared.payment.order);
        let scheme = chosen_scheme(&self.payments.catalogue, &method_data, &order.payment_method);
        AuthorizeRequest {
            key: operation.id,
            processor: operation.processor.clone(),
            merchant_id: order.merchant_id,
            reference: None,
            order_id: order.id,
            merchant_reference: order.merchant_reference.clone(),
            payment_method: order.payment_method.clone(),
            amount: operation.amount,
            method_data,
            scheme,
            store: prepared.payment.contract.as_ref().filter(|_| !prepared.payment.is_charge).map(|one| one.kind),
            payment_reference: order.transfer_reference.clone(),
            return_url: Some(format!("{}/v1/return/{}", self.return_base.trim_end_matches('/'), order.id)),
            country: Some(prepared.country.clone()),
            postcode: prepared.postcode.clone(),
            challenge: decision.asks_authentication(),
            exemption,
        }
    }
}

/// Why nobody need authenticate: what screening asks for, or that the merchant begins the payment, which is not screened.
fn exemption_of(method_data: &PaymentMethodData, screened: Option<ScaExemption>) -> Option<ScaExemption> {
    match method_data {
        PaymentMethodData::StoredCredential(stored) if stored.mark().initiator() == Initiator::Merchant => {
            Some(ScaExemption::MerchantInitiated)
        }
        _ => screened,
    }
}

/// The scheme of the Order's method, where the card bears another one too and both can be paid by here (docs/SPECIFICATION.md#co-badged-cards). Where nobody can
/// have chosen, the processor goes by its own rule.
fn chosen_scheme(catalogue: &Catalogue, method_data: &PaymentMethodData, method: &str) -> Option<Scheme> {
    let PaymentMethodData::Card(card) = method_data else { return None };
    let schemes = card.schemes();
    let is_choice = 1 < schemes.len() && schemes.iter().all(|scheme| catalogue.has(scheme.as_str()));
    method.parse().ok().filter(|_| is_choice)
}

#[cfg(test)]
mod tests {
    use dropin_card::Card;
    use dropin_catalogue::Adjustments;
    use dropin_contract::{PaymentMark, StoredCredentialUse};
    use dropin_ports::StoredCredentialPayment;

    use super::*;

    #[test]
    fn only_a_card_of_two_schemes_is_paid_by_one_that_is_named() {
        let card = |number: &str| PaymentMethodData::Card(Card::new("Ana", number, "123", "2031", "12"));
        for (data, method, expected) in [
            (card("4000002500001001"), "CB", Some(Scheme::CartesBancaires)),
            (card("4000002500001001"), "VISA", Some(Scheme::Visa)),
            (card("4242424242424242"), "VISA", None),
            (PaymentMethodData::Method("PAYPAL".to_owned()), "PAYPAL", None),
        ] {
            assert_eq!(chosen_scheme(&Catalogue::of_sandbox(), &data, method), expected, "{method}");
            let without = Catalogue::new(|method| method.id() != "CB", &Adjustments::default());
            assert_eq!(chosen_scheme(&without, &data, method), None, "{method}: there is no choice");
        }
    }

    #[test]
    fn what_the_merchant_begins_is_outside_the_scope_of_the_law() {
        let low = Some(ScaExemption::LowValue);
        for (credential_use, expected) in [
            (StoredCredentialUse::Recurring, Some(ScaExemption::MerchantInitiated)),
            (StoredCredentialUse::Unscheduled, Some(ScaExemption::MerchantInitiated)),
            (StoredCredentialUse::OneClick, low),
            (StoredCredentialUse::First, low),
        ] {
            let mark = PaymentMark { credential_use, ..PaymentMark::FIRST };
            let stored = StoredCredentialPayment::new("card-7".parse().unwrap(), mark);
            let data = PaymentMethodData::StoredCredential(Box::new(stored));
            assert_eq!(exemption_of(&data, low), expected, "{credential_use}");
        }
        let data = PaymentMethodData::Method("PAYPAL".to_owned());
        assert_eq!(exemption_of(&data, None), None);
    }
}
