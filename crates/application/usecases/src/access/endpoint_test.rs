//! A test of an endpoint: one request as a notification is, that is none (docs/SPECIFICATION.md#endpoint-test).

use dropin_access::{AuditAction, Endpoint};
use dropin_kernel::{EndpointId, EventId, Timestamp};
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::{AuditLog, KeyringError, Sent, WebhookRequest, WebhookSender};
use dropin_wire::event;

use super::{AccountError, Merchants};

impl Merchants {
    /// Sends one signed request to an endpoint, after the audit log has it. It stands in no queue and is kept nowhere else, so that nothing of a payment
    /// waits for it and nothing is tried again.
    ///
    /// # Errors
    /// [`AccountError::NoEndpoint`], [`AccountError::Keyring`], [`AccountError::Store`]: nothing was sent.
    pub async fn send_test(
        &self,
        id: EndpointId,
        log: &dyn AuditLog,
        webhooks: &dyn WebhookSender,
    ) -> Result<Sent, AccountError> {
        let endpoint = self.store.find_endpoint(id).await?.ok_or(AccountError::NoEndpoint)?;
        // One that was removed is in no list of the merchant's.
        let merchant = self.merchant(endpoint.merchant_id).await?;
        if !self.store.list_endpoints(merchant.id).await?.iter().any(|one| one.id == id) {
            return Err(AccountError::NoEndpoint);
        }
        let now = self.clock.now();
        let secrets = self.secrets_of(&endpoint, now)?;
        log.append_audit_entry(self.entry(merchant.id, AuditAction::EndpointTest, id)).await?;
        if merchant.sandbox != self.targets.is_sandbox() {
            let why =
                DeliveryFailure::Own("the account is of the other kind, sandbox or production, than the deployment");
            return Ok(AttemptOutcome::Failed { why }.into());
        }
        let request = WebhookRequest {
            url: endpoint.url,
            event_id: EventId::new(self.ids.ordered()),
            sequence: 1,
            body: event::endpoint_test(),
            secrets,
            at: now,
        };
        Ok(webhooks.send(request).await)
    }

    /// What signs now, as notifications are signed.
    fn secrets_of(&self, endpoint: &Endpoint, now: Timestamp) -> Result<Vec<Vec<u8>>, KeyringError> {
        let owner = endpoint.id.to_string();
        let old = endpoint.previous.as_ref().and_then(|old| old.at(now));
        [&endpoint.secret].into_iter().chain(old).map(|sealed| self.secrets.open_secret(&owner, sealed)).collect()
    }
}
