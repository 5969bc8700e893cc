#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod assemble;
mod rate_source;

use std::sync::Arc;
use std::time::Duration;

use dropin_ports::ProcessorAccountStore;
use dropin_usecases::audit_log::Sealing;
use dropin_usecases::contracts::{Contracts, CredentialDeletions};
use dropin_usecases::disputes::Disputes;
use dropin_usecases::idempotency::IdempotencyService;
use dropin_usecases::payments::Payments;
use dropin_usecases::rates::RateRefresher;
use dropin_usecases::screening::ScreeningRetention;
use dropin_usecases::sessions::Sessions;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use assemble::{SettlerArgs, assemble};

/// Operations or Sessions taken over in one transaction.
const MAX_BATCH_ROWS: u32 = 64;
/// Stored responses deleted in one transaction.
const MAX_PURGE_ROWS: u32 = 1_000;
/// Rows of each kind that screening needs no longer, deleted in one transaction: who counts in one of them waits for it.
const MAX_SCREENING_ROWS: u32 = 200;
/// Entries of the audit log sealed in one transaction.
const MAX_SEALED_ENTRIES: u32 = 256;
/// How long the key of a removed account is kept: longer than any payment takes that chose the account before, to be written down.
const REMOVED_ACCOUNT_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// Operations looked after at the same time.
const MAX_CONCURRENT_OPERATIONS: usize = 256;

/// How often to look for due work: an outcome that became known is written down within this.
pub const POLL: Duration = Duration::from_millis(250);

/// What the settler works with.
#[derive(Clone)]
pub struct SettlerDeps {
    /// Operations at the processor.
    pub payments: Payments,
    /// Contracts whose card ends.
    pub contracts: Contracts,
    /// Stored credentials that nobody may charge any more.
    pub deletions: CredentialDeletions,
    /// Disputes that processors tell of, and answers to them whose outcome is open.
    pub disputes: Disputes,
    /// Sessions that expire.
    pub sessions: Sessions,
    /// Stored responses to requests with an idempotency key.
    pub answers: IdempotencyService,
    /// What screening keeps for its time.
    pub screening: ScreeningRetention,
    /// The feed of exchange rates, if there is one.
    pub rates: Option<RateRefresher>,
    /// Entries of the audit log that wait for their seal.
    pub sealing: Arc<Sealing>,
    /// Accounts that merchants have of their own at processors.
    pub accounts: Arc<dyn ProcessorAccountStore>,
    /// How often to look for due work.
    pub poll: Duration,
}

/// Works until `stop` turns true; what is under way then is finished first.
pub async fn run(deps: SettlerDeps, mut stop: watch::Receiver<bool>) {
    let operations = operations(&deps, stop.clone());
    let sessions = sessions(&deps, stop.clone());
    let orders = orders(&deps, stop.clone());
    let answers = answers(&deps, stop.clone());
    let screening = screening(&deps, stop.clone());
    let rates = rates(&deps, stop.clone());
    let contracts = contracts(&deps, stop.clone());
    let seals = seals(&deps, stop.clone());
    let (disputes, dispute_answers) = (disputes(&deps, stop.clone()), dispute_answers(&deps, stop.clone()));
    log::info!("settler: looking for due work every {} ms", deps.poll.as_millis());
    let accounts = accounts(&deps, stop.clone());
    tokio::join!(
        operations,
        sessions,
        orders,
        answers,
        screening,
        rates,
        contracts,
        seals,
        disputes,
        dispute_answers,
        accounts
    );
    // The loops end with the signal; a closed channel means that whoever started us is gone.
    drop(stop.wait_for(|stopping| *stopping).await);
}

/// Each operation is looked after on its own, so that one whose processor hangs holds up nobody.
async fn operations(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    let mut settling = JoinSet::new();
    while !*stop.borrow() {
        while settling.try_join_next().is_some() {}
        let free =
            u32::try_from(MAX_CONCURRENT_OPERATIONS.saturating_sub(settling.len())).unwrap_or(0).min(MAX_BATCH_ROWS);
        let claims = if free == 0 { Ok(Vec::new()) } else { deps.payments.claim_due(free).await };
        let claims = claims.unwrap_or_else(|error| {
            log::warn!(error:% = error; "settler: cannot claim due operations; trying again");
            Vec::new()
        });
        let full = claims.len() == MAX_BATCH_ROWS as usize;
        for claim in claims {
            let payments = deps.payments.clone();
            settling.spawn(async move {
                if let Err(error) = payments.settle_one(claim).await {
                    let operation = claim.id.to_string();
                    log::warn!(operation = operation.as_str(), error:% = error; "settler: not settled yet; it stays due");
                }
            });
        }
        if !full {
            pause(deps.poll, &mut stop).await;
        }
    }
    // What is under way is finished; a question to the processor has a deadline of its own.
    while settling.join_next().await.is_some() {}
}

/// Expired Sessions are a matter of hours; looking every few seconds is plenty.
async fn sessions(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.sessions.expire_due(MAX_BATCH_ROWS).await {
            Ok(expired) => expired == MAX_BATCH_ROWS,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot expire Sessions; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 20, &mut stop).await;
        }
    }
}

/// Orders whose page, transfer or capture window is over are voided. Their guards compare the time themselves, so this only writes down what is
/// already true.
async fn orders(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        if let Err(error) = deps.payments.expire_orders(MAX_BATCH_ROWS).await {
            log::warn!(error:% = error; "settler: cannot end every Order whose time is over; trying again");
        }
        pause(deps.poll * 4, &mut stop).await;
    }
}

/// Cards end with a month; a credential that nobody may charge is deleted within seconds.
async fn contracts(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let cards = deps.contracts.expire_cards(MAX_BATCH_ROWS).await;
        let deleted = deps.deletions.run_due(MAX_BATCH_ROWS).await;
        let more = match (cards, deleted) {
            (Ok(cards), Ok(deleted)) => cards == MAX_BATCH_ROWS || deleted == MAX_BATCH_ROWS,
            (Err(error), _) | (_, Err(error)) => {
                log::warn!(error:% = error; "settler: cannot look after every contract; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 4, &mut stop).await;
        }
    }
}

/// New disputes, and what became of undecided ones. A processor that hangs keeps this loop alone, until its question's deadline.
async fn disputes(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match (deps.disputes.read_new(MAX_BATCH_ROWS).await, deps.disputes.look_again(MAX_BATCH_ROWS).await)
        {
            (Ok(new), Ok(undecided)) => new || undecided,
            (Err(error), _) | (_, Err(error)) => {
                log::warn!(error:% = error; "settler: cannot follow every dispute; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 8, &mut stop).await;
        }
    }
}

/// Answers to disputes that no program could give, or of which nobody knows whether the processor has them.
async fn dispute_answers(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.disputes.give_due(MAX_BATCH_ROWS).await {
            Ok(given) => given == MAX_BATCH_ROWS,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot give every answer to a dispute; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 4, &mut stop).await;
        }
    }
}

/// Counts are over a day after they were made, and are small: looking once a minute is plenty.
async fn screening(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.screening.purge(MAX_SCREENING_ROWS).await {
            Ok(purged) => MAX_SCREENING_ROWS <= purged,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot delete what screening needs no longer; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 240, &mut stop).await;
        }
    }
}

/// Seals what was appended to the audit log, within a second.
async fn seals(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.sealing.run_due(MAX_SEALED_ENTRIES).await {
            Ok(sealed) => sealed == MAX_SEALED_ENTRIES,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot seal the audit log; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll, &mut stop).await;
        }
    }
}

/// Deletes the keys of accounts that were removed an hour ago, once nothing needs them.
async fn accounts(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let removed_before = deps.payments.clock.now().minus(REMOVED_ACCOUNT_LIFETIME);
        match deps.accounts.purge_processor_accounts(removed_before).await {
            Ok(0) => {}
            Ok(purged) => log::info!("settler: deleted the keys of {purged} accounts that merchants had at processors"),
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot delete the keys of removed accounts; trying again")
            }
        }
        pause(deps.poll * 240, &mut stop).await;
    }
}

/// Deletes stored responses whose key has expired.
async fn answers(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        let more = match deps.answers.purge(MAX_PURGE_ROWS).await {
            Ok(purged) => purged == MAX_PURGE_ROWS,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot delete old answers; trying again");
                false
            }
        };
        if !more {
            pause(deps.poll * 20, &mut stop).await;
        }
    }
}

/// A refresh that is cancelled at the end loses nothing: the next one reads the same.
async fn rates(deps: &SettlerDeps, mut stop: watch::Receiver<bool>) {
    let Some(refresher) = &deps.rates else { return };
    while !*stop.borrow() {
        let mut stopping = stop.clone();
        let refreshed = tokio::select! {
            refreshed = refresher.refresh() => refreshed,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let until_next = match refreshed {
            Ok(()) => refresher.every,
            Err(error) => {
                log::warn!(error:% = error; "settler: cannot keep exchange rates; trying again");
                deps.poll * 20
            }
        };
        pause(until_next, &mut stop).await;
    }
}

async fn pause(for_: Duration, stop: &mut watch::Receiver<bool>) {
    // Either ends the pause; which one is seen at the top of the loop.
    drop(tokio::time::timeout(for_, stop.wait_for(|stopping| *stopping)).await);
}
