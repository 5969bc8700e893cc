//! What processors send by themselves: hints that something has happened to an operation or a dispute.

use std::path::Path;
use std::sync::Arc;

use dropin_boot::{Failure, FurtherProcessor, ProcessorArgs, ProcessorEventArgs, ProcessorKind, read_event_secrets};
use dropin_kernel::{ProcessorId, Timestamp};
use dropin_private_file::watch;
use dropin_processor_stripe::{EventHints, EventRefused, EventSecrets};

use crate::accounts::ProcessorAccountClients;
use crate::router::ProcessorRouter;

/// The secrets that the deployment's processors sign their events with.
#[derive(Debug, Default)]
pub struct ProcessorEvents {
    all: Vec<(ProcessorId, Arc<EventSecrets>)>,
    accounts: Option<Arc<ProcessorAccountClients>>,
}

/// Why an event is not taken notice of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorEventError {
    /// No processor of this name sends events here.
    #[error("no processor of this name sends events here")]
    Unknown,
    /// It is not what it should be.
    #[error(transparent)]
    Refused(#[from] EventRefused),
}

impl ProcessorEvents {
    /// Reads the secrets, and follows their files for as long as this lives.
    ///
    /// # Errors
    /// A file that cannot be used; secrets of a processor that sends no events.
    pub fn open(
        main: &ProcessorArgs,
        events: &ProcessorEventArgs,
        others: &[FurtherProcessor],
    ) -> Result<Self, Failure> {
        let main = (main.id(), main.processor, events.processor_event_secrets_file.as_deref());
        let others =
            others.iter().map(|one| (one.profile.id.clone(), one.args.processor, one.event_secrets_file.as_deref()));
        let mut all = Vec::new();
        for (id, kind, file) in std::iter::once(main).chain(others) {
            let Some(file) = file else { continue };
            if kind != ProcessorKind::Stripe {
                return Err(format!("the processor {id} sends no events: leave the file of their secrets out").into());
            }
            all.push((id.clone(), follow(id, file)?));
        }
        Ok(Self { all, accounts: None })
    }

    /// The same with those of the accounts that merchants have of their own.
    #[must_use]
    pub fn with_accounts(self, processors: &ProcessorRouter) -> Self {
        Self { accounts: processors.accounts().cloned(), ..self }
    }

    /// What an event hints at, once its `signature` is verified, with the processor or account that sends it.
    ///
    /// # Errors
    /// [`ProcessorEventError`].
    pub async fn read(
        &self,
        processor: &str,
        signature: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(ProcessorId, EventHints), ProcessorEventError> {
        let id: ProcessorId = processor.parse().map_err(|_no_name| ProcessorEventError::Unknown)?;
        let own = self.all.iter().find(|(own, _)| *own == id).map(|(_, secrets)| secrets.clone());
        let secrets = match (own, &self.accounts) {
            (None, Some(accounts)) if id.is_account() => accounts.find(&id).await.ok().and_then(|found| found.events),
            (own, _) => own,
        };
        let hints = secrets.ok_or(ProcessorEventError::Unknown)?.read(signature, body, now)?;
        Ok((id, hints))
    }
}

fn follow(id: ProcessorId, file: &Path) -> Result<Arc<EventSecrets>, Failure> {
    let secrets = Arc::new(EventSecrets::new(read_event_secrets(file)?.expose()));
    let path = file.to_path_buf();
    watch("processor-events", vec![path.clone()], &secrets, move |secrets| match read_event_secrets(&path) {
        Ok(text) => {
            secrets.replace(text.expose());
            log::info!(processor = id.as_str(); "read the secrets of a processor's events again");
        }
        Err(error) => log::error!(
            processor = id.as_str();
            "the secrets of a processor's events have changed and cannot be used: {error}; those of before stay in use"
        ),
    })?;
    Ok(secrets)
}
