//! What processors tell of disputes: new ones by reading on in their lists, what became of them by asking.

use dropin_kernel::{DisputeId, LedgerTransactionId, ProcessorId, Timestamp};
use dropin_order::{Dispute, DisputeState, MoneyRule, NewDispute, Order, StepRefused};
use dropin_ports::{Actor, DisputeChanged, ReportedDispute, StoreError};

use super::draft::{Draft, answer_state};
use super::{DisputeProcessor, Disputes, LOOK_LEASE, LOOK_PAUSES, MAX_CAS_RETRIES, busy};

/// Most pages of a list that are read at once while a dispute on them has to wait.
const MAX_PAGES: u32 = 32;

/// What came of a dispute that a processor tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    /// It is written down, or never can be.
    Done,
    /// Its Order's outcome is open: it is read again.
    Later,
}

impl Disputes {
    /// Reads on in the processors' lists of disputes, at most `limit` of each. Says whether there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read_new(&self, limit: u32) -> Result<bool, StoreError> {
        let (mut more, mut failed) = (false, Ok(()));
        let processors = self.processors.list().await?;
        self.unreadable.retain(processors.iter().map(|processor| &processor.name));
        for processor in &processors {
            // One that fails keeps no other from being read.
            match self.read_list(processor, limit).await {
                Ok(there_is_more) => more |= there_is_more,
                Err(error) => failed = Err(error),
            }
        }
        failed.map(|()| more)
    }

    async fn read_list(&self, processor: &DisputeProcessor, limit: u32) -> Result<bool, StoreError> {
        let position = self.store.find_dispute_position(&processor.name).await?;
        // Those behind one that has to wait are taken up too; the next reading begins before it.
        let (mut after, mut reached, mut waits, mut is_full) = (position.clone(), None, false, true);
        for _page in 0..MAX_PAGES {
            let listed = match processor.api.list_disputes(after.as_deref(), limit).await {
                Ok(listed) => listed,
                Err(error) => {
                    self.unreadable.failed(&processor.name, &error);
                    return Ok(false);
                }
            };
            self.unreadable.read(&processor.name);
            is_full = listed.len() == usize::try_from(limit).unwrap_or(usize::MAX);
            for one in listed {
                if let Some(dispute) = &one.dispute {
                    waits |= self.record_unless_corrupt(processor, dispute).await? == Recorded::Later;
                }
                after = Some(one.position);
                if !waits {
                    reached.clone_from(&after);
                }
            }
            if !waits || !is_full {
                break;
            }
        }
        if let Some(reached) = reached.filter(|reached| position.as_ref() != Some(reached)) {
            self.store.keep_dispute_position(&processor.name, position.as_deref(), &reached).await?;
        }
        Ok(!waits && is_full)
    }

    /// A row that cannot be read is tried again, as a dispute that has to wait is: it keeps no other from being taken up.
    async fn record_unless_corrupt(
        &self,
        processor: &DisputeProcessor,
        reported: &ReportedDispute,
    ) -> Result<Recorded, StoreError> {
        match self.record(processor, reported).await {
            Err(error @ StoreError::Corrupt { .. }) => {
                log::error!(
                    processor = processor.name.as_str(), reference = reported.reference.as_str(), error:% = error;
                    "a dispute cannot be written down; trying again"
                );
                Ok(Recorded::Later)
            }
            recorded => recorded,
        }
    }

    /// Writes a dispute down that the processor tells of, once, or what became of it.
    async fn record(&self, processor: &DisputeProcessor, reported: &ReportedDispute) -> Result<Recorded, StoreError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            if let Some(known) = self.store.find_reported_dispute(&processor.name, &reported.reference).await? {
                self.follow(known, reported).await?;
                return Ok(Recorded::Done);
            }
            let order = match reported.authorization {
                Some(authorization) => self.store.find_disputed_order(&processor.name, authorization).await?,
                None => None,
            };
            let Some(order) = order else {
                self.cannot_be_taken_up(processor, reported, "it is about no payment that is known here");
                return Ok(Recorded::Done);
            };
            let (now, new) = (self.clock.now(), self.new_dispute(processor, reported));
            let ledger = LedgerTransactionId::new(self.ids.ordered());
            let step = match Dispute::open(new, &order, ledger, now) {
                Ok(step) => step,
                Err(StepRefused::State(_open)) if !order.state.is_final() => {
                    log::info!(
                        processor = processor.name.as_str(), reference = reported.reference.as_str(), order:% = order.id;
                        "a dispute waits for the outcome of its Order"
                    );
                    return Ok(Recorded::Later);
                }
                Err(StepRefused::Money(MoneyRule::MixedCurrencies)) => {
                    self.cannot_be_taken_up(processor, reported, "its Order has another currency");
                    return Ok(Recorded::Done);
                }
                Err(other) => {
                    self.cannot_be_taken_up(processor, reported, &other.to_string());
                    return Ok(Recorded::Done);
                }
            };
            let mut draft = Draft::opened(self, &order, step, now);
            draft.follow(reported).map_err(|refused| cannot_follow(&order, &refused.to_string()))?;
            match self.store.change_dispute(draft.finish()).await? {
                DisputeChanged::Done => return Ok(Recorded::Done),
                DisputeChanged::Stale | DisputeChanged::Known => {}
            }
        }
        Err(busy())
    }

    fn new_dispute(&self, processor: &DisputeProcessor, reported: &ReportedDispute) -> NewDispute {
        NewDispute {
            id: DisputeId::new(self.ids.ordered()),
            processor: processor.name.clone(),
            reference: reported.reference.clone(),
            reason: reported.reason,
            amount: reported.amount,
            due_at: reported.due_at,
        }
    }

    fn cannot_be_taken_up(&self, processor: &DisputeProcessor, reported: &ReportedDispute, why: &str) {
        log::error!(
            processor = processor.name.as_str(), reference = reported.reference.as_str();
            "a dispute of {:#} cannot be taken up: {why}; see to it at the processor", reported.amount
        );
    }

    /// Takes a processor's hint that something has happened to this dispute: the settler asks about it at once. One that is not known yet is in the
    /// processor's list, which is read on anyway.
    ///
    /// # Errors
    /// [`StoreError`]; the settler asks in its own time.
    pub async fn look_soon(&self, processor: &ProcessorId, reference: &str) -> Result<(), StoreError> {
        match self.store.find_reported_dispute(processor, reference).await? {
            Some(id) => self.store.look_again(id, self.clock.now()).await,
            None => Ok(()),
        }
    }

    /// Asks processors what became of undecided disputes, at most `limit` of each. Says whether there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn look_again(&self, limit: u32) -> Result<bool, StoreError> {
        let mut more = false;
        for processor in &self.processors.list().await? {
            let now = self.clock.now();
            let due = self.store.claim_undecided_disputes(&processor.name, now, now.plus(LOOK_LEASE), limit).await?;
            more |= due.len() == usize::try_from(limit).unwrap_or(usize::MAX);
            for id in due {
                // It is looked at again when its lease ends; the others do not wait for it.
                match self.look(processor, id).await {
                    Err(error @ StoreError::Corrupt { .. }) => {
                        log::error!(dispute:% = id, error:% = error; "a dispute cannot be followed; trying again");
                    }
                    looked => looked?,
                }
            }
        }
        Ok(more)
    }

    async fn look(&self, processor: &DisputeProcessor, id: DisputeId) -> Result<(), StoreError> {
        let Some(found) = self.store.find_dispute(id).await? else { return Ok(()) };
        match processor.api.read_dispute(&found.dispute.reference).await {
            Ok(reported) => {
                let is_behind =
                    (found.dispute.state, reported.state) == (DisputeState::UnderReview, DisputeState::NeedsResponse);
                if is_behind && reported.due_at.is_none_or(|due| found.dispute.due_at == Some(due)) {
                    log::error!(
                        dispute:% = id, reference = reported.reference.as_str();
                        "a dispute that was answered has to be answered once more, and not until another time: answer it at the processor"
                    );
                }
                self.follow(id, &reported).await?;
            }
            Err(error) => log::warn!(dispute:% = id, error:% = error; "a dispute cannot be read; trying again"),
        }
        self.store.look_again(id, next_look(&found.dispute, self.clock.now())).await
    }

    /// Writes down what became of a dispute.
    async fn follow(&self, id: DisputeId, reported: &ReportedDispute) -> Result<(), StoreError> {
        for round in 0..MAX_CAS_RETRIES {
            self.backoff(round).await;
            let Some(found) = self.store.find_dispute(id).await? else { return Ok(()) };
            let mut draft = Draft::known(self, &found, &Actor::System, self.clock.now());
            draft.follow(reported).map_err(|refused| cannot_follow(&found.order, &refused.to_string()))?;
            if draft.is_empty() {
                return Ok(());
            }
            let ends = answer_state(&found, draft.dispute.state);
            let mut change = draft.finish();
            change.ends = found.open_answer.as_ref().map(|answer| answer.id).zip(ends);
            if self.store.change_dispute(change).await? == DisputeChanged::Done {
                return Ok(());
            }
        }
        Err(busy())
    }
}

/// Soon after it changed, and seldom when it waits for weeks.
fn next_look(dispute: &Dispute, now: Timestamp) -> Timestamp {
    let (shortest, longest) = LOOK_PAUSES;
    now.plus((now.since(dispute.updated_at) / 10).clamp(shortest, longest))
}

/// An Order whose dispute was opened takes every step of it.
fn cannot_follow(order: &Order, why: &str) -> StoreError {
    StoreError::Corrupt {
        table: "dispute",
        what: format!("its Order, which is {}, does not follow it: {why}", order.state),
    }
}
