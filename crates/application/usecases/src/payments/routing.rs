//! Which of the deployment's processors a payment is asked of (docs/SPECIFICATION.md#processor-routing).

use std::sync::Arc;

use dropin_access::{ProcessorProfile, RoutedPayment};
use dropin_kernel::{ProcessorId, Violation, ViolationCode};
use dropin_ports::{Processor, Readiness};

use super::Payments;
use crate::catalogue::Purchase;

/// The processors of a deployment, the main one first; empty where there is no other, nor a word on what it takes.
pub type ProcessorProfiles = Arc<[ProcessorProfile]>;

/// Those that may be asked for a payment, the preferred one first; one at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidates(Vec<Option<ProcessorId>>);

impl Candidates {
    /// The one that keeps a card; `None` is the main one.
    pub(super) fn only(processor: Option<ProcessorId>) -> Self {
        Self(vec![processor])
    }
}

/// Every processor that may be asked would refuse each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoProcessor;

impl Payments {
    /// The processors that may be asked for `purchase` by the method of this id.
    ///
    /// # Errors
    /// None of those that the merchant's rules name takes it.
    pub(super) fn candidates(&self, purchase: &Purchase<'_>, method: &str) -> Result<Candidates, Violation> {
        if self.processors.is_empty() {
            return Ok(Candidates::only(None));
        }
        let (currency, country) = (purchase.total.currency(), purchase.country);
        let payment = RoutedPayment { method, currency, country };
        let named = purchase.merchant.processors.candidates(&self.processors, &payment);
        let named: Vec<_> = named.map(|id| Some(id.clone())).collect();
        if named.is_empty() {
            let why = format!("no payment processor of this merchant takes it in {}: use another", currency.code());
            return Err(Violation::new("PaymentMethod", ViolationCode::NotAllowed, why));
        }
        Ok(Candidates(named))
    }
}

/// The first that takes authorizations now. Where none does, the first that answers nobody: its call is held back, and nothing is sent. Nothing was
/// committed for any of them yet, so nothing can have been reserved.
pub(super) async fn choose(
    processors: &dyn Processor,
    candidates: &Candidates,
) -> Result<Option<ProcessorId>, NoProcessor> {
    let mut held_back = None;
    for processor in &candidates.0 {
        match processors.readiness(processor.as_ref()).await {
            Readiness::Ready => return Ok(processor.clone()),
            Readiness::HeldBack => held_back = held_back.or(Some(processor)),
            Readiness::Unusable => {
                let name = processor.as_ref().map_or("main", ProcessorId::as_str);
                log::error!(
                    processor = name;
                    "a payment processor cannot be asked: it does not accept the key that it knows us by, so put one that is not revoked into its key \
                     file; or it is configured no longer"
                );
            }
        }
    }
    held_back.cloned().ok_or(NoProcessor)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use dropin_ports::{
        AuthorizeRequest, CaptureRequest, CredentialDeletion, DeleteCredentialRequest, OperationQuery, ProcessorReply,
        RefundRequest, StatusReply, VoidRequest,
    };

    use super::*;

    /// Processors that are as ready as their names say, and are asked for nothing else.
    struct Named;

    #[async_trait]
    impl Processor for Named {
        async fn readiness(&self, processor: Option<&ProcessorId>) -> Readiness {
            match processor.map_or("ready", ProcessorId::as_str) {
                "held-back" | "held-back-too" => Readiness::HeldBack,
                "unusable" => Readiness::Unusable,
                _ => Readiness::Ready,
            }
        }

        async fn authorize(&self, _: AuthorizeRequest) -> ProcessorReply {
            unreachable!()
        }

        async fn capture(&self, _: CaptureRequest) -> ProcessorReply {
            unreachable!()
        }

        async fn void(&self, _: VoidRequest) -> ProcessorReply {
            unreachable!()
        }

        async fn refund(&self, _: RefundRequest) -> ProcessorReply {
            unreachable!()
        }

        async fn status(&self, _: OperationQuery) -> StatusReply {
            unreachable!()
        }

        async fn abandon(&self, _: OperationQuery) -> StatusReply {
            unreachable!()
        }

        async fn delete_credential(&self, _: DeleteCredentialRequest) -> CredentialDeletion {
            unreachable!()
        }
    }

    #[tokio::test]
    async fn the_next_is_asked_where_the_first_cannot_be() {
        for (named, chosen) in [
            (&["ready", "other"][..], Ok("ready")),
            (&["held-back", "other"], Ok("other")),
            (&["unusable", "held-back", "other", "ready"], Ok("other")),
            (&["unusable", "held-back", "held-back-too"], Ok("held-back")),
            (&["unusable"], Err(NoProcessor)),
        ] {
            let candidates = Candidates(named.iter().map(|name| name.parse().ok()).collect());
            let found = choose(&Named, &candidates).await;
            assert_eq!(found, chosen.map(|name| name.parse().ok()), "{named:?}");
        }
        assert_eq!(choose(&Named, &Candidates::only(None)).await, Ok(None));
    }
}
