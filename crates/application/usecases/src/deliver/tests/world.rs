//! The world around delivering, played: an outbox, receivers, keys, time and chance.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use async_trait::async_trait;
use dropin_access::{PasswordHash, SealedSecret};
use dropin_kernel::{EndpointId, EventId, MerchantId, PaymentId, Timestamp};
use dropin_notification::{AttemptOutcome, DeliveryFailure};
use dropin_ports::{
    AttemptRecord, AttemptResult, Claimed, Delivery, DeliveryKey, DeliveryResult, Fingerprint, FinishedDeliveries,
    KeyringError, Sent, StoreError, WebhookRequest,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::super::*;

/// What an endpoint does with a notification; its name is the host of its URL.
pub(super) const OK: &str = "ok";
pub(super) const CREATED: &str = "created";
pub(super) const PANIC: &str = "panic";
/// Answers 200 once its gate is opened.
pub(super) const GATED: &str = "gated";
pub(super) const GATED_TOO: &str = "gated-too";
/// Whoever would send to it has died.
pub(super) const SENDER_STOPPED: &str = "senderless";
/// Gives no answer before [`World::back_at`], and 200 from then on.
pub(super) const DEAD: &str = "dead";
/// Answers what [`World::answer`] says.
pub(super) const ANSWERS: &str = "answers";

#[derive(Default)]
pub(super) struct Stream {
    pub(super) endpoint: &'static str,
    pub(super) number: u128,
    pub(super) events: i64,
    pub(super) next: i64,
    pub(super) attempt: u32,
    pub(super) uncounted: u32,
    pub(super) first_try: Option<Timestamp>,
    pub(super) due_at: i64,
    pub(super) leased: bool,
    /// The store passes over its events.
    pub(super) unwanted: bool,
}

impl Stream {
    fn lease(&mut self, id: usize, now: Timestamp, lease_until: Timestamp, world: &World) -> Delivery {
        let lease_expired = std::mem::replace(&mut self.leased, true);
        self.uncounted += u32::from(lease_expired);
        self.attempt += 1;
        self.first_try.get_or_insert(now);
        self.due_at = lease_until.micros();
        Delivery { lease_expired, ..self.delivery(id, world) }
    }

    fn wait(&mut self, at: Timestamp) {
        (self.due_at, self.leased) = (at.micros(), false);
    }

    /// Goes on to the next event, which nobody has tried yet.
    fn advance(&mut self, now: Timestamp) {
        self.next += 1;
        (self.attempt, self.uncounted, self.first_try) = (0, 0, None);
        self.wait(now);
    }

    fn delivery(&self, id: usize, world: &World) -> Delivery {
        Delivery {
            key: DeliveryKey { stream: id as i64, sequence: self.next, attempt: self.attempt },
            merchant_id: MerchantId::new(Uuid::nil()),
            sandbox: !world.of_production,
            endpoint_id: endpoint(self.endpoint),
            url: format!("http://{}/{}", self.endpoint, self.number),
            secrets: vec![
                SealedSecret(vec![1]),
                SealedSecret(if self.endpoint == "locked" { vec![] } else { vec![2] }),
            ],
            old_secret_until: *world.old_secret_until.lock().unwrap(),
            payment_id: PaymentId::new(Uuid::from_u128(self.number)),
            event_id: EventId::new(Uuid::from_u128(self.number * 100 + self.next as u128)),
            event_type: "ORDER_PROCESSED".to_owned(),
            body: b"{}".to_vec(),
            first_try: self.first_try.unwrap_or(Timestamp::from_micros(0)),
            uncounted: self.uncounted,
            happened_at: Timestamp::from_micros(0),
            retry: world.retry.clone(),
            lease_expired: false,
        }
    }
}

/// Something to send to that endpoint.
pub(super) fn stream_of(endpoint: &'static str) -> Delivery {
    Stream { endpoint, ..Stream::default() }.delivery(0, &World::default())
}

fn endpoint(name: &str) -> EndpointId {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    EndpointId::new(Uuid::from_bytes(bytes))
}

/// All of it.
#[derive(Default)]
pub(super) struct World {
    pub(super) streams: Mutex<Vec<Stream>>,
    pub(super) results: Mutex<Vec<(DeliveryKey, DeliveryResult)>>,
    pub(super) skips_full: bool,
    pub(super) store_is_away: AtomicBool,
    /// The store refuses to write down what comes of it.
    pub(super) damaged: Option<i64>,
    pub(super) now: AtomicI64,
    /// When the dead endpoint is there again.
    pub(super) back_at: AtomicI64,
    pub(super) answer: Mutex<Option<AttemptOutcome>>,
    /// The accounts are of a production deployment.
    pub(super) of_production: bool,
    /// Of every endpoint.
    pub(super) retry: Option<Schedule>,
    pub(super) old_secret_until: Mutex<Option<Timestamp>>,
    pub(super) opened: AtomicU32,
    pub(super) signed_by: Mutex<Vec<usize>>,
    /// What was acknowledged by which stream and when, in that order.
    pub(super) acknowledged: Mutex<Vec<(usize, i64, i64)>>,
    pub(super) parked: Mutex<Vec<(usize, i64, i64)>>,
    pub(super) records: Mutex<Vec<AttemptRecord>>,
    pub(super) sent: Mutex<Vec<(String, i64)>>,
    pub(super) in_flight: AtomicU32,
    pub(super) gate: Mutex<Option<Arc<Semaphore>>>,
    /// What comes of tries is written down once it is opened.
    pub(super) finish_gate: Mutex<Option<Arc<Semaphore>>>,
}

impl World {
    pub(super) fn with(streams: impl IntoIterator<Item = (&'static str, u128, i64)>) -> Self {
        let streams = streams
            .into_iter()
            .map(|(endpoint, number, events)| Stream { endpoint, number, events, next: 1, ..Stream::default() })
            .collect();
        Self { streams: Mutex::new(streams), skips_full: true, ..Self::default() }
    }

    pub(super) fn sent_to(&self, url: &str) -> Vec<i64> {
        let sent = self.sent.lock().unwrap();
        sent.iter().filter(|(to, _)| to == url).map(|(_, sequence)| *sequence).collect()
    }

    pub(super) fn results_of(&self, stream: i64) -> Vec<DeliveryResult> {
        let results = self.results.lock().unwrap();
        results.iter().filter(|(key, _)| key.stream == stream).map(|(_, result)| *result).collect()
    }

    /// How many were acknowledged, are to be tried again, and were parked.
    pub(super) fn came_of_it(&self) -> [usize; 3] {
        let results = self.results.lock().unwrap();
        let count = |is: fn(&DeliveryResult) -> bool| results.iter().filter(|(_, result)| is(result)).count();
        [
            count(|one| matches!(one, DeliveryResult::Acknowledged)),
            count(|one| matches!(one, DeliveryResult::Retry { .. })),
            count(|one| matches!(one, DeliveryResult::Parked)),
        ]
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.store_is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("away".to_owned()));
        }
        Ok(())
    }
}

#[async_trait]
impl OutboxStore for World {
    async fn claim_deliveries(
        &self,
        full: &[EndpointId],
        now: Timestamp,
        lease_until: Timestamp,
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Claimed, StoreError> {
        self.check()?;
        let mut streams = self.streams.lock().unwrap();
        // As the databases do it: those first whose oldest is due longest, and an equal share for each.
        let mut ready: Vec<(&str, i64)> = Vec::new();
        for one in streams.iter().filter(|one| one.next <= one.events && one.due_at <= now.micros()) {
            match ready.iter_mut().find(|(name, _)| *name == one.endpoint) {
                Some((_, due_at)) => *due_at = one.due_at.min(*due_at),
                None => ready.push((one.endpoint, one.due_at)),
            }
        }
        ready.retain(|(name, _)| !self.skips_full || !full.contains(&endpoint(name)));
        ready.sort_by_key(|(_, due_at)| *due_at);
        ready.truncate(limit as usize);
        let share = per_endpoint.min((limit / (ready.len() as u32).max(1)).max(1));
        let mut claimed = Claimed::default();
        for (name, _) in ready {
            let due = |one: &Stream| one.endpoint == name && one.next <= one.events && one.due_at <= now.micros();
            let mut leased = 0;
            for (id, stream) in streams.iter_mut().enumerate().filter(|(_, one)| due(one)).take(share as usize) {
                leased += 1;
                if stream.unwanted {
                    stream.advance(now);
                } else {
                    claimed.deliveries.push(stream.lease(id, now, lease_until, self));
                }
            }
            if share <= leased {
                claimed.more.push(endpoint(name));
            }
        }
        Ok(claimed)
    }

    async fn claim_probe(
        &self,
        of: EndpointId,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        self.check()?;
        let mut streams = self.streams.lock().unwrap();
        let is_due =
            |one: &Stream| endpoint(one.endpoint) == of && one.next <= one.events && one.due_at <= now.micros();
        let due = streams.iter_mut().enumerate().filter(|(_, one)| is_due(one)).min_by_key(|(_, one)| one.due_at);
        Ok(due.map(|(id, stream)| stream.lease(id, now, lease_until, self)))
    }

    async fn park_overdue(
        &self,
        of: EndpointId,
        give_up_before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u32, StoreError> {
        self.check()?;
        let mut parked = 0;
        for (id, stream) in self.streams.lock().unwrap().iter_mut().enumerate() {
            let due = stream.next <= stream.events && stream.due_at <= now.micros() && !stream.leased;
            let overdue = stream.first_try.unwrap_or(Timestamp::from_micros(0)) < give_up_before;
            if endpoint(stream.endpoint) == of && due && overdue && parked < limit {
                self.parked.lock().unwrap().push((id, stream.next, now.micros()));
                stream.advance(now);
                parked += 1;
            }
        }
        Ok(parked)
    }

    async fn finish_deliveries(
        &self,
        results: Vec<AttemptResult>,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<FinishedDeliveries, StoreError> {
        self.check()?;
        let gate = self.finish_gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.acquire().await.expect("open").forget();
        }
        if results.iter().any(|one| Some(one.key.stream) == self.damaged) {
            return Err(StoreError::Refused("damaged".to_owned()));
        }
        let mut finished = FinishedDeliveries::default();
        for AttemptResult { key, result, record } in results {
            self.records.lock().unwrap().extend(record);
            let mut streams = self.streams.lock().unwrap();
            let id = key.stream as usize;
            let stream = &mut streams[id];
            if (stream.next, stream.attempt) != (key.sequence, key.attempt) {
                finished.fenced += 1;
                continue;
            }
            self.results.lock().unwrap().push((key, result));
            match result {
                DeliveryResult::Retry { at } => {
                    stream.wait(at);
                    continue;
                }
                DeliveryResult::Held { at } => {
                    stream.uncounted += 1;
                    stream.wait(at);
                    continue;
                }
                DeliveryResult::Acknowledged => {
                    self.acknowledged.lock().unwrap().push((id, stream.next, now.micros()));
                }
                DeliveryResult::Parked => self.parked.lock().unwrap().push((id, stream.next, now.micros())),
            }
            stream.advance(now);
            if stream.next <= stream.events && now < lease_until {
                finished.next.push(stream.lease(id, now, lease_until, self));
            }
        }
        Ok(finished)
    }

    async fn park_removed(&self, _: EndpointId, _: Timestamp, _: u32) -> Result<(u32, bool), StoreError> {
        Ok((0, false))
    }
}

#[async_trait]
impl WebhookSender for World {
    async fn send(&self, request: WebhookRequest) -> Sent {
        self.sent.lock().unwrap().push((request.url.clone(), request.sequence));
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        self.signed_by.lock().unwrap().push(request.secrets.len());
        let host = request.url.split('/').nth(2).unwrap_or_default();
        let status = match host {
            DEAD if Clock::now(self).micros() < self.back_at.load(Ordering::SeqCst) => {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                return AttemptOutcome::Failed { why: DeliveryFailure::Refused }.into();
            }
            ANSWERS => {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                return self.answer.lock().unwrap().clone().expect("an answer").into();
            }
            PANIC => panic!("a defect in the sender"),
            SENDER_STOPPED => {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                return AttemptOutcome::Failed { why: DeliveryFailure::Stopped }.into();
            }
            CREATED => 201,
            GATED | GATED_TOO => {
                let gate = self.gate.lock().unwrap().clone().expect("a gate");
                gate.acquire().await.expect("open").forget();
                200
            }
            _ => 200,
        };
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        AttemptOutcome::Answered { status, retry_after: None }.into()
    }
}

impl Secrets for World {
    fn hash_password(&self, _: &str) -> PasswordHash {
        PasswordHash(Vec::new())
    }

    fn verify_password(&self, _: &str, _: Option<&PasswordHash>) -> bool {
        false
    }

    fn fingerprint(&self, _: &[&[u8]]) -> Fingerprint {
        Fingerprint([0; 32])
    }

    fn seal_secret(&self, _: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        Ok(SealedSecret(secret.to_vec()))
    }

    fn open_secret(&self, _: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        if sealed.0.is_empty() { Err(KeyringError::CannotOpen) } else { Ok(sealed.0.clone()) }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.load(Ordering::SeqCst))
    }
}

impl IdSource for World {
    fn random(&self) -> Uuid {
        Uuid::nil()
    }

    fn ordered(&self) -> Uuid {
        Uuid::nil()
    }

    fn secret(&self) -> [u8; 32] {
        [0; 32]
    }
}
