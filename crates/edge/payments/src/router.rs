//! The deployment's processors behind one: each call goes to the one that it names.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use dropin_kernel::{MerchantId, ProcessorId};
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, CredentialApproval, CredentialDeletion, DeleteCredentialRequest, Metric,
    MetricSource, MetricValues, OperationQuery, Processor, ProcessorJournal, ProcessorReply, Readiness, RefundRequest,
    Registration, StatusReply, StoreError, StoredCredential, StoredCredentialList, VoidRequest,
};
use dropin_processor_transport::ProcessorKey;
use dropin_usecases::disputes::{DisputeProcessor, DisputeProcessors};

use crate::accounts::ProcessorAccountClients;
use crate::client::ProcessorClient;

/// Stands between a processor's name and what it gave in place of a card. The main processor's credentials have no name before them: they are those of
/// the time when there was no other.
const NAME_END: char = ':';

/// One processor and its name.
#[derive(Debug, Clone)]
pub struct NamedProcessor {
    /// The name that the deployment gave to it.
    pub id: ProcessorId,
    /// Its client.
    pub client: ProcessorClient,
}

/// The processors of a deployment. What names none of them is the main one's.
#[derive(Debug, Clone)]
pub struct ProcessorRouter {
    main: NamedProcessor,
    others: Vec<NamedProcessor>,
    /// Accounts that merchants have of their own.
    accounts: Option<Arc<ProcessorAccountClients>>,
}

impl ProcessorRouter {
    /// These processors.
    pub const fn new(main: NamedProcessor, others: Vec<NamedProcessor>) -> Self {
        Self { main, others, accounts: None }
    }

    /// The same with the accounts that merchants have of their own there.
    #[must_use]
    pub fn with_accounts(self, accounts: Arc<ProcessorAccountClients>) -> Self {
        Self { accounts: Some(accounts), ..self }
    }

    /// The accounts that merchants have of their own.
    pub(crate) const fn accounts(&self) -> Option<&Arc<ProcessorAccountClients>> {
        self.accounts.as_ref()
    }

    /// The deployment's own, the main one first.
    pub fn all(&self) -> impl Iterator<Item = &NamedProcessor> {
        std::iter::once(&self.main).chain(&self.others)
    }

    /// The journal of the deployment's processor; `None` where that has none, or where there are several: what one of them did is no journal of all
    /// that was asked for.
    pub fn journal(&self) -> Option<Arc<dyn ProcessorJournal>> {
        self.others.is_empty().then(|| self.main.client.journal()).flatten()
    }

    /// The list of stored cards of the deployment's processor; `None` as for [`ProcessorRouter::journal`].
    pub fn credential_list(&self) -> Option<Arc<dyn StoredCredentialList>> {
        self.others.is_empty().then(|| self.main.client.credential_list()).flatten()
    }

    /// The key that the main processor knows us by.
    pub fn key(&self) -> Arc<ProcessorKey> {
        self.main.client.key()
    }

    /// The processor or account of this name.
    ///
    /// # Errors
    /// What to do about it.
    pub async fn named_processor(&self, id: &ProcessorId) -> Result<NamedProcessor, String> {
        Ok(self.find(Some(id), None).await?.into_owned())
    }

    /// Where an operation of the merchant is asked about; `None` where none is named, for what is no merchant's.
    async fn find(
        &self,
        id: Option<&ProcessorId>,
        merchant: Option<MerchantId>,
    ) -> Result<Cow<'_, NamedProcessor>, String> {
        let Some(id) = id else { return Ok(Cow::Borrowed(&self.main)) };
        if let Some(found) = self.all().find(|one| one.id == *id) {
            return Ok(Cow::Borrowed(found));
        }
        let found = match &self.accounts {
            Some(accounts) if id.is_account() => accounts.find(id).await.and_then(|account| {
                let is_its = merchant.is_none_or(|merchant| merchant == account.merchant);
                is_its
                    .then_some(Cow::Owned(account.named))
                    .ok_or_else(|| format!("the account {id} is another merchant's"))
            }),
            None if id.is_account() => Err(format!(
                "the account {id} cannot be asked from here: its key is sealed under the master key, which this machine does not have"
            )),
            _ => {
                Err(format!("the deployment has no processor {id} any more: name it in the file of --processors again"))
            }
        };
        found.inspect_err(|why| log::error!("an operation cannot be asked for: {why}"))
    }

    /// Whether an authorization may begin there.
    async fn takes_payments(&self, id: Option<&ProcessorId>) -> bool {
        match (id, &self.accounts) {
            (Some(id), Some(accounts)) if id.is_account() => {
                accounts.find(id).await.is_ok_and(|account| !account.is_removed)
            }
            _ => true,
        }
    }

    /// The reply with the processor's name before what it gave in place of a card.
    fn with_name(&self, processor: &NamedProcessor, reply: ProcessorReply) -> ProcessorReply {
        let ProcessorReply::Approved { amount, captured, under_review, credential, checks } = reply else {
            return reply;
        };
        let credential = credential.map(|approval| {
            let stored = approval.stored.as_ref().and_then(|given| self.named(processor, given));
            Box::new(CredentialApproval { stored, ..*approval })
        });
        ProcessorReply::Approved { amount, captured, under_review, credential, checks }
    }

    fn named(&self, processor: &NamedProcessor, given: &StoredCredential) -> Option<StoredCredential> {
        if processor.id == self.main.id && !given.expose().contains(NAME_END) {
            return Some(given.clone());
        }
        let named = format!("{}{NAME_END}{}", processor.id, given.expose()).parse();
        // The length of a name and of what processors give is far below the limit.
        named.inspect_err(|_invalid| log::error!("a stored card is lost: the processor's name for it is too long")).ok()
    }

    fn status_with_name(&self, processor: &NamedProcessor, reply: StatusReply) -> StatusReply {
        match reply {
            StatusReply::Known(reply) => StatusReply::Known(self.with_name(processor, reply)),
            StatusReply::Absent | StatusReply::Unreachable { .. } => reply,
        }
    }
}

#[async_trait]
impl Processor for ProcessorRouter {
    async fn readiness(&self, processor: Option<&ProcessorId>) -> Readiness {
        if !self.takes_payments(processor).await {
            return Readiness::Unusable;
        }
        match self.find(processor, None).await {
            Ok(found) => found.client.processor().readiness(None).await,
            Err(_why) => Readiness::Unusable,
        }
    }

    fn holder(&self, credential: StoredCredential) -> (Option<ProcessorId>, StoredCredential) {
        let named = credential.expose().split_once(NAME_END);
        let named = named.and_then(|(name, given)| Some((name.parse::<ProcessorId>().ok()?, given.parse().ok()?)));
        // Of the only processor a colon is part of what it gives, unless its own name or that of an account there stands before it.
        let is_name = |name: &ProcessorId| !self.others.is_empty() || name.processor() == self.main.id;
        match named.filter(|(name, _given)| is_name(name)) {
            Some((name, given)) => (Some(name), given),
            None => (Some(self.main.id.clone()), credential),
        }
    }

    async fn register(&self, request: &AuthorizeRequest) -> Registration {
        let found = match self.find(request.processor.as_ref(), Some(request.merchant_id)).await {
            Ok(found) => found,
            Err(why) => return Registration::NotRegistered { why },
        };
        found.client.processor().register(request).await
    }

    async fn authorize(&self, request: AuthorizeRequest) -> ProcessorReply {
        let Ok(found) = self.find(request.processor.as_ref(), Some(request.merchant_id)).await else {
            return ProcessorReply::NotSent;
        };
        let reply = found.client.processor().authorize(request).await;
        self.with_name(&found, reply)
    }

    async fn capture(&self, request: CaptureRequest) -> ProcessorReply {
        match self.find(request.processor.as_ref(), Some(request.merchant_id)).await {
            Ok(found) => found.client.processor().capture(request).await,
            Err(why) => ProcessorReply::Unknown { why },
        }
    }

    async fn void(&self, request: VoidRequest) -> ProcessorReply {
        match self.find(request.processor.as_ref(), Some(request.merchant_id)).await {
            Ok(found) => found.client.processor().void(request).await,
            Err(why) => ProcessorReply::Unknown { why },
        }
    }

    async fn refund(&self, request: RefundRequest) -> ProcessorReply {
        match self.find(request.processor.as_ref(), Some(request.merchant_id)).await {
            Ok(found) => found.client.processor().refund(request).await,
            Err(why) => ProcessorReply::Unknown { why },
        }
    }

    async fn status(&self, question: OperationQuery) -> StatusReply {
        match self.find(question.processor.as_ref(), Some(question.merchant_id)).await {
            Ok(found) => self.status_with_name(&found, found.client.processor().status(question).await),
            Err(why) => StatusReply::Unreachable { why },
        }
    }

    async fn abandon(&self, question: OperationQuery) -> StatusReply {
        match self.find(question.processor.as_ref(), Some(question.merchant_id)).await {
            Ok(found) => self.status_with_name(&found, found.client.processor().abandon(question).await),
            Err(why) => StatusReply::Unreachable { why },
        }
    }

    async fn delete_credential(&self, request: DeleteCredentialRequest) -> CredentialDeletion {
        let (holder, credential) = self.holder(request.credential);
        match self.find(holder.as_ref(), Some(request.merchant_id)).await {
            Ok(found) => {
                let request = DeleteCredentialRequest { credential, ..request };
                found.client.processor().delete_credential(request).await
            }
            Err(why) => CredentialDeletion::Unknown { why },
        }
    }
}

fn dispute_processor(one: &NamedProcessor) -> Option<DisputeProcessor> {
    one.client.disputes().map(|api| DisputeProcessor { name: one.id.clone(), api })
}

#[async_trait]
impl DisputeProcessors for ProcessorRouter {
    async fn list(&self) -> Result<Vec<DisputeProcessor>, StoreError> {
        let accounts = match &self.accounts {
            Some(accounts) => accounts.list().await?,
            None => Vec::new(),
        };
        let accounts = accounts.iter().map(|account| &account.named);
        Ok(self.all().chain(accounts).filter_map(dispute_processor).collect())
    }

    async fn find(&self, name: &ProcessorId) -> Result<Option<DisputeProcessor>, StoreError> {
        // What cannot be used now is asked for again.
        Ok(self.find(Some(name), None).await.ok().as_deref().and_then(dispute_processor))
    }
}

#[async_trait]
impl MetricSource for ProcessorRouter {
    /// Each metric once, with the samples of all processors, which their names tell apart.
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let mut all: Vec<Metric> = Vec::new();
        let accounts = self.accounts.as_ref().map_or_else(Vec::new, |accounts| accounts.used());
        for NamedProcessor { id, client } in self.all().chain(&accounts) {
            for mut metric in client.collect_metrics().await? {
                let labels: Vec<_> = match &mut metric.values {
                    MetricValues::Gauge(samples) | MetricValues::Counter(samples) => {
                        samples.iter_mut().map(|sample| &mut sample.labels).collect()
                    }
                    MetricValues::Histogram(all) => all.iter_mut().map(|one| &mut one.labels).collect(),
                };
                labels.into_iter().for_each(|labels| labels.push(("processor", Cow::Owned(id.to_string()))));
                let Some(known) = all.iter_mut().find(|one| one.name == metric.name) else {
                    all.push(metric);
                    continue;
                };
                match (&mut known.values, metric.values) {
                    (MetricValues::Gauge(known), MetricValues::Gauge(more))
                    | (MetricValues::Counter(known), MetricValues::Counter(more)) => known.extend(more),
                    (MetricValues::Histogram(known), MetricValues::Histogram(more)) => known.extend(more),
                    (MetricValues::Gauge(_) | MetricValues::Counter(_) | MetricValues::Histogram(_), _) => {}
                }
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use dropin_boot::{ProcessorArgs, ProcessorKind, ProcessorLimitArgs, Secret};

    use super::*;

    fn named(id: &str) -> NamedProcessor {
        let args = ProcessorArgs {
            processor: ProcessorKind::Sandbox,
            processor_url: Some("http://127.0.0.1:1".to_owned()),
            processor_key_file: None,
            processors: None,
        };
        let limits = ProcessorLimitArgs {
            processor_payments: 8,
            processor_questions: 8,
            processor_merchant_share: 50,
            processor_failures: 10,
            processor_pause: 4,
        };
        let client = crate::start_client(&args, &limits, &Secret::new("a key".to_owned())).unwrap();
        NamedProcessor { id: id.parse().unwrap(), client }
    }

    /// Also where it looks like the name of a processor, or of an account, with something behind it.
    #[test]
    fn what_a_processor_gives_is_told_from_the_name_before_it() {
        let alone = ProcessorRouter::new(named("sandbox"), Vec::new());
        let two = ProcessorRouter::new(named("sandbox"), vec![named("acquirer")]);
        for (router, holders) in [
            (&alone, &["sandbox", "sandbox.ana"][..]),
            (&two, &["sandbox", "sandbox.ana", "acquirer", "acquirer.ana", "gone"]),
        ] {
            for holder in holders {
                for given in
                    ["crd_1", "tok:abc", ":", "a:", ":b", "sandbox:crd_1", "sandbox.ana:crd_1", "acquirer:cus_1/pm_1"]
                {
                    let given: StoredCredential = given.parse().unwrap();
                    let stored = router.named(&named(holder), &given).unwrap();
                    let found = router.holder(stored);
                    assert_eq!(found.0.as_ref().map(ProcessorId::as_str), Some(*holder), "{}", given.expose());
                    assert_eq!(found.1.expose(), given.expose());
                }
            }
        }
    }
}
