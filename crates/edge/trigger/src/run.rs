//! Makes one event happen, and waits for it.

use std::sync::Arc;
use std::time::Duration;

use dropin_kernel::{ContractId, EventId, MerchantId, OrderId, PaymentId, SessionId};
use dropin_order::DisputeAnswerKind;
use dropin_ports::{
    AccessStore, Acting, Clock, IdSource, NotificationFilter, NotificationQuery, NotificationStore, ScreeningStore,
    StoreError, StoredResponse,
};
use dropin_risk::{Facts, Rules, VelocityCounts, VelocityKey, VelocitySum, VelocityWindow};
use dropin_session::Session;
use dropin_usecases::access::Caller;
use dropin_usecases::idempotency::{IdempotentOutcome, Reply};
use dropin_usecases::payments::Payments;
use dropin_usecases::screening::alarm_event;
use dropin_usecases::sessions::Sessions;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::client::{CallError, ServiceClient};
use crate::scenario::{FinalStep, Payment, TriggerScenario, Way};
use crate::shopper::{self, Shopper};

/// Longest that an event is waited for; the slowest of them takes some seconds.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two polls for it.
const POLL: Duration = Duration::from_millis(200);
/// How long a Session lives that shall expire.
const EXPIRING_SESSION_LIFETIME: Duration = Duration::from_secs(1);

/// Why an event did not happen, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// A call of the merchant's server or the shopper came to nothing.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something else, as a person reads it.
    #[error("{0}")]
    Other(String),
}

impl TriggerError {
    pub(crate) fn other(why: impl ToString) -> Self {
        Self::Other(why.to_string())
    }
}

impl From<String> for TriggerError {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Everything that makes an event happen: a merchant's way to the running services, and the store that they write to.
pub struct EventTrigger {
    /// The merchant's and the shopper's calls.
    pub service: ServiceClient,
    /// Of the shopper's calls (`{asset_url}`).
    pub asset_url: String,
    /// Of the checkout (`{checkout_url}`).
    pub checkout_url: String,
    /// Of the stash (`{stash_url}`).
    pub stash_url: String,
    /// The API user of the merchant's calls; found by [`EventTrigger::caller`].
    pub caller: Caller,
    /// Where the event is seen to have happened.
    pub notifications: Arc<dyn NotificationStore>,
    /// Where a merchant's alarm is noted.
    pub screening: Arc<dyn ScreeningStore>,
    /// Creates the Session that shall expire, since no request can ask for a life that short.
    pub sessions: Sessions,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// For the events that need the processor or a reviewer; else why it cannot be reached.
    pub processor: Result<SandboxProcessorAccess, String>,
}

/// What an operator of a sandbox may do beside the merchant's server and the shopper. No Debug: the key is secret.
pub struct SandboxProcessorAccess {
    /// Decides about what is held for review.
    pub payments: Payments,
    /// Who decides, for the audit log.
    pub by: Acting,
    /// Who decides, for the Order's history.
    pub reviewer: String,
    /// Where the sandbox processor is.
    pub url: String,
    /// The key that it knows us by.
    pub key: Zeroizing<String>,
}

/// An event that was made to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggeredEvent {
    /// The EventType.
    pub event: &'static str,
    /// Its notification.
    pub notification: EventId,
    /// Of what.
    pub payment: TriggeredPayment,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggeredPayment {
    /// A Session.
    Session {
        /// Its id.
        session: SessionId,
        /// Its Order, where it led to one.
        order: Option<OrderId>,
        /// Its MerchantReference.
        reference: String,
    },
    /// A contract.
    Contract(ContractId),
    /// All of a merchant's payments.
    Merchant(MerchantId),
}

impl EventTrigger {
    /// The API user of this name, where its merchant is one of a sandbox.
    ///
    /// # Errors
    /// The store does not know it, or its payments are real.
    pub async fn caller(store: &dyn AccessStore, username: &str, base: &str) -> Result<Caller, TriggerError> {
        let elsewhere = || {
            format!(
                "the database knows no API user {username}: give the --data folder or DATABASE_URL of the service at {base}"
            )
        };
        let user = store.find_user(username).await?.ok_or_else(elsewhere)?;
        let merchant = store.find_merchant(user.merchant_id).await?.ok_or_else(elsewhere)?;
        if !merchant.sandbox {
            return Err(format!("merchant {} is none of a sandbox: nothing is triggered for it", merchant.id).into());
        }
        Ok(Caller { username: user.username, merchant, permissions: user.permissions })
    }

    /// Does what leads to the event, and waits until it has happened.
    ///
    /// # Errors
    /// [`TriggerError`]; what was done until then stays done.
    pub async fn run(&self, scenario: &'static TriggerScenario) -> Result<TriggeredEvent, TriggerError> {
        let event = scenario.event;
        match &scenario.way {
            Way::Session(payment) => {
                let session = self.execute(event, payment).await?;
                let notification = self.wait_for(event, session.into()).await?;
                let shown = self.session(session).await?;
                let order = shown["Order"]["OrderId"].as_str().and_then(|order| order.parse().ok());
                let reference = shown["MerchantReference"].as_str().unwrap_or_default().to_owned();
                let payment = TriggeredPayment::Session { session, order, reference };
                Ok(TriggeredEvent { event, notification, payment })
            }
            Way::Contract(step) => {
                let contract = self.execute_contract(event, *step).await?;
                let notification = self.wait_for(event, contract.into()).await?;
                Ok(TriggeredEvent { event, notification, payment: TriggeredPayment::Contract(contract) })
            }
            Way::Alarm => {
                let merchant = self.raise_alarm().await?;
                let notification = self.wait_for(event, PaymentId::new(merchant.uuid())).await?;
                Ok(TriggeredEvent { event, notification, payment: TriggeredPayment::Merchant(merchant) })
            }
        }
    }

    /// Does what leads to the event; the Session that it is about.
    async fn execute(&self, event: &str, payment: &Payment) -> Result<SessionId, TriggerError> {
        let Payment { auto_capture, pays, final_step } = *payment;
        let request = self.session_request(event, auto_capture);
        if final_step == FinalStep::Expire {
            return self.create_short_lived(&request).await;
        }
        let created = self.service.call("POST", "/v1/session", Some(&request)).await?;
        let session: SessionId =
            created["SessionId"].as_str().unwrap_or_default().parse().map_err(TriggerError::other)?;
        let address = format!("{}/v1/shopper/session/{session}", self.asset_url);
        let shopper = Shopper { service: &self.service, ids: &*self.ids, now: self.clock.now(), address };
        match final_step {
            FinalStep::DeclineUntilOver => shopper.fail(pays).await?,
            _ => shopper.pay(pays).await?,
        }
        self.end(final_step, session).await?;
        Ok(session)
    }

    /// What comes after the shopper.
    async fn end(&self, final_step: FinalStep, session: SessionId) -> Result<(), TriggerError> {
        match final_step {
            FinalStep::None | FinalStep::Expire | FinalStep::DeclineUntilOver => Ok(()),
            FinalStep::LenderReviews => {
                let page = self.session(session).await?["RedirectUrl"].as_str().map(str::to_owned);
                let page = page.ok_or_else(|| format!("Session {session} leads to no page of the lender's"))?;
                shopper::press(&self.service, &page, "review").await
            }
            FinalStep::Cancel => self.of_order(session, "cancel", json!({})).await.map(drop),
            FinalStep::Refund => {
                // A capture may take a moment.
                self.wait_for("ORDER_PROCESSED", session.into()).await?;
                self.of_order(session, "refund", json!({ "RefundReference": "trigger" })).await.map(drop)
            }
            FinalStep::AnswerDispute(kind) => {
                self.wait_for("DISPUTE_OPENED", session.into()).await?;
                let order = self.order_of(session).await?;
                let disputes = format!("/v1/order/{order}/dispute");
                let opened = self.service.call("GET", &disputes, None).await?;
                let id = opened["Disputes"][0]["DisputeId"]
                    .as_str()
                    .ok_or_else(|| format!("the Order {order} has no dispute"))?;
                match kind {
                    DisputeAnswerKind::Accept => {
                        self.service.call("POST", &format!("{disputes}/{id}/accept"), None).await?
                    }
                    DisputeAnswerKind::Evidence => {
                        let path = format!("{disputes}/{id}/evidence");
                        self.service.post_field(&path, "Text", "Handed in for a trial.").await?
                    }
                };
                Ok(())
            }
            FinalStep::Review { approve } => {
                let order: OrderId = self.order_of(session).await?.parse().map_err(TriggerError::other)?;
                let SandboxProcessorAccess { payments, by, reviewer, .. } = self.processor()?;
                payments.review(order, approve, reviewer, by).await.map_err(TriggerError::other)?;
                Ok(())
            }
        }
    }

    pub(crate) fn processor(&self) -> Result<&SandboxProcessorAccess, TriggerError> {
        self.processor.as_ref().map_err(TriggerError::other)
    }

    async fn session(&self, session: SessionId) -> Result<Value, TriggerError> {
        Ok(self.service.call("GET", &format!("/v1/session/{session}"), None).await?)
    }

    async fn order_of(&self, session: SessionId) -> Result<String, TriggerError> {
        let shown = self.session(session).await?;
        let order = shown["Order"]["OrderId"].as_str();
        order
            .map(str::to_owned)
            .ok_or_else(|| format!("Session {session} is {} and has no Order", shown["State"]).into())
    }

    async fn of_order(&self, session: SessionId, what: &str, body: Value) -> Result<Value, TriggerError> {
        let order = self.order_of(session).await?;
        let body = Some(&body).filter(|body| **body != json!({}));
        Ok(self.service.call("POST", &format!("/v1/order/{order}/{what}"), body).await?)
    }

    /// Notes an alarm of the merchant's, as screening does.
    async fn raise_alarm(&self) -> Result<MerchantId, TriggerError> {
        let counts = VelocityCounts { tries: 20, declines: 20, ..VelocityCounts::default() };
        let mut facts = Facts::default();
        facts.velocity.set(VelocityKey::Merchant, VelocityWindow::TenMinutes, VelocitySum { counts, cards: 20 });
        let (merchant, screening) = (self.caller.merchant.id, Rules::built_in().screen(facts));
        let event = alarm_event(&*self.ids, merchant, &screening, self.clock.now());
        match self.screening.note_alarm(event).await? {
            true => Ok(merchant),
            false => Err(TriggerError::other(format_args!(
                "an alarm of merchant {merchant} lasts already: try again 10 minutes after it was seen last"
            ))),
        }
    }

    /// Creates a Session by the service's own use case, for this merchant but with a short life; the settler ends it like any other.
    async fn create_short_lived(&self, request: &Value) -> Result<SessionId, TriggerError> {
        let mut caller = self.caller.clone();
        caller.merchant = caller
            .merchant
            .edited(|parts| parts.session_lifetime = EXPIRING_SESSION_LIFETIME)
            .map_err(TriggerError::other)?;
        let render =
            |session: &Session| StoredResponse { status: 201, etag: None, body: session.id.to_string().into() };
        let body = request.to_string().into_bytes();
        let created = self.sessions.create(&caller, &body, Reply { render, key_use: None }).await;
        match created.map_err(TriggerError::other)? {
            IdempotentOutcome::Stored(answer)
            | IdempotentOutcome::Unstored(answer)
            | IdempotentOutcome::Concluded(answer) => {
                String::from_utf8_lossy(&answer.body).parse().map_err(TriggerError::other)
            }
            IdempotentOutcome::KeyTaken => {
                Err(TriggerError::other("a request without a key has none that could be taken"))
            }
        }
    }

    /// Waits until the event is written down; its notification.
    pub(crate) async fn wait_for(&self, event: &str, payment: PaymentId) -> Result<EventId, TriggerError> {
        let query = NotificationQuery {
            filter: NotificationFilter {
                types: Some(event.parse().map_err(TriggerError::other)?),
                payment: Some(payment),
                ..NotificationFilter::default()
            },
            after: None,
            oldest_first: true,
            limit: 1,
        };
        let found = async {
            loop {
                if let Some(found) = self.notifications.list_notifications(query.clone()).await?.notifications.first() {
                    return Ok::<_, TriggerError>(found.event_id);
                }
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(EVENT_TIMEOUT, found).await {
            Ok(found) => found,
            Err(_too_long) => Err(format!(
                "{event} did not happen within {} s after everything for it was done: see that settler and processor run, and look at {payment}",
                EVENT_TIMEOUT.as_secs()
            )
            .into()),
        }
    }

    fn session_request(&self, event: &str, auto_capture: bool) -> Value {
        let address = json!({ "Street": "Example Street 1", "City": "Berlin", "Country": "DE", "Postcode": "10115" });
        json!({
            "MerchantReference": self.reference(event), "AutoCapture": auto_capture, "Currency": "EUR",
            "CompleteUrl": "http://localhost/paid", "CancelUrl": "http://localhost/checkout",
            "Items": [{ "Name": event, "Amount": 29.90, "Quantity": 1 }],
            "BillingProfile": { "Name": "Robin Example", "Email": "robin@example.com", "Address": address },
        })
    }

    /// A reference that no other payment of the merchant has.
    pub(crate) fn reference(&self, event: &str) -> String {
        let unique = self.ids.random().simple().to_string();
        format!("trigger {event} {}", &unique[..16])
    }
}
