//! Where merchants are told of changes.

use std::time::Duration;

use dropin_access::{AuditAction, Endpoint, EndpointSettings, SealedSecret, TargetRefused};
use dropin_kernel::{EndpointId, MerchantId, Timestamp, Violation, ViolationCode};
use dropin_notification::{EventFilter, Schedule};
use dropin_ports::{AccountChanged, EndpointChange, KeyringError, NewAuditEntry};
use dropin_validation::{UrlPolicy, WebUrl};
use dropin_wire::audit_log::Document;
use dropin_wire::event;

use super::{AccountError, Merchants, of_endpoint};
use crate::audit_log::endpoint_document;

/// Payments whose waiting notifications are parked in one transaction.
const PARK_BATCH: u32 = 200;

/// A new endpoint's secret, shown this once. No Debug: it is secret.
pub struct EndpointAdded {
    /// Identifier.
    pub endpoint_id: EndpointId,
    /// Where notifications go.
    pub url: String,
    /// Signs notifications (Standard Webhooks): `whsec_` and 32 random bytes in base64.
    pub webhook_secret: String,
}

/// An endpoint's new secret, shown this once. No Debug: it is secret.
pub struct SecretRotated {
    /// Signs notifications from now on.
    pub webhook_secret: String,
    /// Until when the secret of before signs too; `None` when it has ended already.
    pub old_until: Option<Timestamp>,
}

/// What an endpoint is to be like; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointUpdate {
    /// Where it is.
    pub url: Option<String>,
    /// What it is told of; `Some(None)` for everything.
    pub events: Option<Option<EventFilter>>,
    /// When what failed is tried again; `Some(None)` for the deployment's schedule.
    pub retry: Option<Option<Schedule>>,
}

impl Merchants {
    /// Adds an endpoint to a merchant. It is told of what happens from now on.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Url, Events), [`AccountError::NoMerchant`], [`AccountError::Keyring`], [`AccountError::Store`].
    pub async fn add_endpoint(
        &self,
        merchant: MerchantId,
        url: &str,
        settings: EndpointSettings,
    ) -> Result<EndpointAdded, AccountError> {
        let wrong = settings.events.as_ref().and_then(|events| check_events(events).err());
        let url = valid(self.check_webhook_url("Url", url), wrong)?;
        let (endpoint, webhook_secret) = self.new_endpoint(merchant, url.clone())?;
        let endpoint = Endpoint { settings, ..endpoint };
        let endpoint_id = endpoint.id;
        let entry = self.entry(merchant, AuditAction::EndpointAdd, endpoint_id);
        let entry = entry.with_after(endpoint_document(&endpoint).finish());
        match self.store.insert_endpoint(endpoint, entry).await? {
            AccountChanged::Done => Ok(EndpointAdded { endpoint_id, url, webhook_secret }),
            AccountChanged::Missing | AccountChanged::Ended | AccountChanged::Stale => Err(AccountError::NoMerchant),
        }
    }

    /// The merchant's endpoints, oldest first.
    ///
    /// # Errors
    /// [`AccountError::NoMerchant`], [`AccountError::Store`].
    pub async fn endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, AccountError> {
        self.merchant(merchant).await?;
        Ok(self.store.list_endpoints(merchant).await?)
    }

    /// Changes an endpoint, for what waits and what comes: moved, it keeps its secret; told of less, what waits of other events is left out; tried
    /// by another schedule, what fails from now on follows that.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Url, Events), [`AccountError::NoEndpoint`], [`AccountError::Removed`], [`AccountError::Store`]; then a part of it
    /// may be done, and doing it again does the rest.
    pub async fn set_endpoint(&self, id: EndpointId, update: EndpointUpdate) -> Result<(), AccountError> {
        let wrong = update.events.as_ref().and_then(Option::as_ref).and_then(|events| check_events(events).err());
        let url = update.url.as_deref().map(|url| self.check_webhook_url("Url", url)).transpose();
        let changes = [
            valid(url, wrong)?.map(EndpointChange::Url),
            update.events.map(EndpointChange::Events),
            update.retry.map(EndpointChange::Retry),
        ];
        for change in changes.into_iter().flatten() {
            let after = match &change {
                EndpointChange::Url(url) => Document::new().text("Url", url),
                EndpointChange::Events(events) => Document::new().optional("Events", events.as_ref()),
                EndpointChange::Retry(retry) => Document::new().optional("Retry", retry.as_ref()),
                EndpointChange::Secret { .. } | EndpointChange::Removed(_) => Document::new(),
            };
            let entry = self.endpoint_entry(id, AuditAction::EndpointChange, after).await?;
            of_endpoint(self.store.change_endpoint(id, change, entry).await?)?;
        }
        Ok(())
    }

    /// Removes an endpoint: nothing more is sent there. Nothing is lost without a trace: notifications that still wait for it are parked, and may
    /// be replayed to another endpoint. Returns how many; on one that was removed already, it parks what may have been left.
    ///
    /// # Errors
    /// [`AccountError::NoEndpoint`], [`AccountError::Store`]; when parking failed, what is left is parked when it is due.
    pub async fn remove_endpoint(&self, id: EndpointId) -> Result<u32, AccountError> {
        let now = self.clock.now();
        let after = Document::new().text("RemovedAt", now);
        let entry = self.endpoint_entry(id, AuditAction::EndpointRemove, after).await?;
        match self.store.change_endpoint(id, EndpointChange::Removed(now), entry).await? {
            AccountChanged::Missing => return Err(AccountError::NoEndpoint),
            AccountChanged::Done | AccountChanged::Ended | AccountChanged::Stale => {}
        }
        let mut parked = 0;
        loop {
            let (some, more) = self.outbox.park_removed(id, now, PARK_BATCH).await?;
            parked += some;
            if !more {
                return Ok(parked);
            }
        }
    }

    /// Gives an endpoint a new secret. The one of before signs too for `overlap` more (zero ends it now), so that the
    /// receiver can change over without refusing anything; one that was replaced before that ends here.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Overlap), [`AccountError::NoEndpoint`], [`AccountError::Removed`], [`AccountError::Keyring`],
    /// [`AccountError::Store`].
    pub async fn rotate_secret(&self, id: EndpointId, overlap: Duration) -> Result<SecretRotated, AccountError> {
        let old_until = self.end_of(overlap)?;
        let (new, webhook_secret) = self.webhook_secret(id)?;
        let after = Document::new().optional("OldSecretUntil", old_until);
        let entry = self.endpoint_entry(id, AuditAction::EndpointSecretRotate, after).await?;
        of_endpoint(self.store.change_endpoint(id, EndpointChange::Secret { new, old_until }, entry).await?)?;
        Ok(SecretRotated { webhook_secret, old_until })
    }

    /// The entry of a change of an endpoint.
    async fn endpoint_entry(
        &self,
        id: EndpointId,
        action: AuditAction,
        after: Document,
    ) -> Result<NewAuditEntry, AccountError> {
        let endpoint = self.store.find_endpoint(id).await?.ok_or(AccountError::NoEndpoint)?;
        let entry = self.entry(endpoint.merchant_id, action, id);
        Ok(entry.with_before(endpoint_document(&endpoint).finish()).with_after(after.finish()))
    }

    pub(super) fn new_endpoint(&self, merchant: MerchantId, url: String) -> Result<(Endpoint, String), KeyringError> {
        let id = EndpointId::new(self.ids.ordered());
        let (sealed, shown) = self.webhook_secret(id)?;
        Ok((Endpoint::new(id, merchant, url, sealed), shown))
    }

    fn webhook_secret(&self, id: EndpointId) -> Result<(SealedSecret, String), KeyringError> {
        let secret = self.ids.secret();
        let sealed = self.secrets.seal_secret(&id.to_string(), &secret)?;
        Ok((sealed, format!("whsec_{}", base64(&secret))))
    }

    /// The URL as given, if it is one that notifications may go to as far as it tells (docs/SPECIFICATION.md#event-targets). What a name leads to may change
    /// at any time and is checked with every connection; here, where there may be no network at all, it is not asked.
    pub(super) fn check_webhook_url(&self, field: &str, raw: &str) -> Result<String, Violation> {
        // Its form only: which scheme it must have, the other knows.
        let url = WebUrl::parse(field, raw, UrlPolicy::Sandbox)?;
        let refused = |why: TargetRefused| Violation::new(field, ViolationCode::Invalid, why.advice(&self.targets));
        self.targets.check(url.as_str()).map_err(refused)?;
        Ok(url.as_str().to_owned())
    }
}

/// The value, unless it or something else is wrong.
fn valid<T>(value: Result<T, Violation>, other: Option<Violation>) -> Result<T, AccountError> {
    match (value, other) {
        (Ok(value), None) => Ok(value),
        (Ok(_), Some(wrong)) | (Err(wrong), None) => Err(AccountError::Invalid(vec![wrong])),
        (Err(first), Some(second)) => Err(AccountError::Invalid(vec![first, second])),
    }
}

/// Whether each of its names fits an event that there is: one that fits none is a slip of the pen, and the merchant would never hear of what it
/// means.
fn check_events(filter: &EventFilter) -> Result<(), Violation> {
    let all: Vec<&str> = event::types().collect();
    let Some(unknown) = filter.fits_none_of(&all) else { return Ok(()) };
    let message = format!("names {unknown}, and there is no such event; there are {}", all.join(", "));
    Err(Violation::new("Events", ViolationCode::NotAllowed, message))
}

/// RFC 4648 section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
