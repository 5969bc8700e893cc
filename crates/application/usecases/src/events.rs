//! A merchant reads its events: to catch up after its endpoint was away, or instead of having one.

use std::sync::Arc;

use dropin_ports::{EventLog, EventLogPosition, LoggedEvent, StoreError};
use dropin_wire::event_log::{Cursor, EventsBody, EventsQuery, StoredEvent};

use crate::access::Caller;

/// What merchants ask about events.
#[derive(Clone)]
pub struct Events {
    /// Where they are.
    pub store: Arc<dyn EventLog>,
}

impl Events {
    /// The next of the merchant's own events, as the answer's JSON text.
    ///
    /// # Errors
    /// [`StoreError`]; Corrupt when a stored event is not what was written.
    pub async fn pull(&self, caller: &Caller, query: EventsQuery) -> Result<Vec<u8>, StoreError> {
        let after =
            query.after.map_or(EventLogPosition::START, |Cursor { tick, number }| EventLogPosition { tick, number });
        let page = self.store.read_event_log(caller.merchant.id, after, query.limit).await?;
        let EventLogPosition { tick, number } = page.events.last().map_or(after, |last| last.position);
        let body = EventsBody::new(page.events.iter().map(stored), Cursor { tick, number }, page.more)
            .map_err(|why| StoreError::Corrupt { table: "outbox_event", what: why.to_string() })?;
        Ok(body.bytes())
    }
}

fn stored(event: &LoggedEvent) -> StoredEvent<'_> {
    StoredEvent {
        event_id: event.event_id,
        event_type: &event.event_type,
        payment_id: event.payment_id,
        sequence: event.sequence,
        created_at: event.happened_at,
        body: &event.body,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;
    use dropin_access::{Merchant, MerchantParts, Permissions};
    use dropin_kernel::{EventId, MerchantId, PaymentId, Timestamp};
    use dropin_money::Currency;
    use dropin_ports::EventLogPage;

    use super::*;

    /// One event with this body, behind wherever the merchant is.
    struct StoredEvents(&'static [u8]);

    #[async_trait]
    impl EventLog for StoredEvents {
        async fn read_event_log(
            &self,
            _: MerchantId,
            after: EventLogPosition,
            _: u32,
        ) -> Result<EventLogPage, StoreError> {
            let id = uuid::Uuid::from_u128(7);
            let event = LoggedEvent {
                position: EventLogPosition { tick: after.tick, number: after.number + 1 },
                event_id: EventId::new(id),
                payment_id: PaymentId::new(id),
                sequence: 1,
                event_type: "ORDER_PROCESSED".to_owned(),
                happened_at: Timestamp::from_micros(0),
                body: self.0.to_vec(),
            };
            Ok(EventLogPage { events: vec![event], more: true })
        }
    }

    async fn pull(body: &'static [u8], after: Option<Cursor>) -> Result<String, StoreError> {
        let parts = MerchantParts {
            id: MerchantId::new(uuid::Uuid::from_u128(1)),
            name: "Shop".to_owned(),
            currencies: vec![Currency::Usd],
            origins: vec![],
            session_lifetime: Duration::from_secs(1),
            attempts_allowed: 5,
            saved_cards: Default::default(),
            screening: Default::default(),
            processors: Default::default(),
            methods: Default::default(),
            sandbox: true,
            created_at: Timestamp::from_micros(0),
        };
        let merchant = Merchant::restore(parts).unwrap();
        let caller = Caller { username: "shop-7".to_owned(), merchant, permissions: Permissions::all() };
        let bytes =
            Events { store: Arc::new(StoredEvents(body)) }.pull(&caller, EventsQuery { after, limit: 1 }).await?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[tokio::test]
    async fn the_next_cursor_is_behind_the_last_event() {
        let cursor = Cursor { tick: 5, number: 9 };
        let page = pull(b"{\"Amount\": 29.90}", Some(cursor)).await.unwrap();
        let expected = format!(
            "\"Body\":{{\"Amount\": 29.90}}}}],\"Next\":\"{}\",\"More\":true}}",
            Cursor { number: 10, ..cursor }
        );
        assert!(page.ends_with(&expected), "{page}");
        let first = pull(b"{}", None).await.unwrap();
        assert!(first.contains(&Cursor { tick: 0, number: 1 }.to_string()), "{first}");
    }

    #[tokio::test]
    async fn an_event_that_was_damaged_is_told_and_shown_to_nobody() {
        let found = pull(b"{\"secret", None).await;
        let Err(StoreError::Corrupt { table: "outbox_event", what }) = found else { panic!("{found:?}") };
        assert!(!what.contains("secret"), "{what}");
    }
}
