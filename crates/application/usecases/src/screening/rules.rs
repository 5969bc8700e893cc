use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use dropin_access::{Merchant, ScreeningSettings};
use dropin_kernel::MerchantId;
use dropin_ports::{AccessStore, Metric, MetricSample, MetricSource, StoreError};
use dropin_risk::{Rules, RulesFile};
use tokio::sync::Mutex;

/// The rules that payments are screened by: those that are built in, the deployment's over them, and a merchant's over both. Clones share what they know.
///
/// A text is parsed once after each change. What cannot be used never stops a payment: then the rules that are known hold.
#[derive(Clone)]
pub struct ScreeningRules(Arc<Known>);

struct Known {
    store: Arc<dyn AccessStore>,
    of_deployment: RwLock<Arc<Rules>>,
    /// Whether the deployment's file has changed into one that cannot be used.
    is_file_refused: AtomicBool,
    /// Of merchants that have rules of their own: as many as operators wrote.
    of_merchants: RwLock<HashMap<MerchantId, OwnRules>>,
    /// Of a merchant whose rules have changed, one payment reads them again; the others do not wait for it.
    turn: Mutex<()>,
    failed_reads: AtomicU64,
}

/// A merchant's rules.
#[derive(Clone)]
struct OwnRules {
    revision: u64,
    /// What they are laid over.
    of_deployment: Arc<Rules>,
    rules: Arc<Rules>,
    /// Whether its text cannot be used, and the deployment's rules hold.
    refused: bool,
}

impl OwnRules {
    fn is_current(&self, revision: u64, of_deployment: &Arc<Rules>) -> bool {
        revision <= self.revision && Arc::ptr_eq(&self.of_deployment, of_deployment)
    }
}

impl ScreeningRules {
    /// Those of the deployment, and those that merchants have in `store`.
    pub fn new(of_deployment: Rules, store: Arc<dyn AccessStore>) -> Self {
        Self(Arc::new(Known {
            store,
            of_deployment: RwLock::new(Arc::new(of_deployment)),
            is_file_refused: AtomicBool::new(false),
            of_merchants: RwLock::default(),
            turn: Mutex::default(),
            failed_reads: AtomicU64::new(0),
        }))
    }

    /// Those of the deployment.
    pub fn of_deployment(&self) -> Arc<Rules> {
        self.0.of_deployment.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Screens by other rules of the deployment from now on.
    pub fn replace(&self, of_deployment: Rules) {
        *self.0.of_deployment.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(of_deployment);
        self.0.is_file_refused.store(false, Ordering::Relaxed);
    }

    /// Notes that the deployment's file cannot be used any more: the rules that are known hold.
    pub fn refuse_file(&self) {
        self.0.is_file_refused.store(true, Ordering::Relaxed);
    }

    /// Those of a merchant; `None` where its payments are not screened.
    pub async fn of(&self, merchant: &Merchant) -> Option<Arc<Rules>> {
        let ScreeningSettings { on, rules_revision } = merchant.screening;
        if !on {
            return None;
        }
        let of_deployment = self.of_deployment();
        if rules_revision == 0 {
            return Some(of_deployment);
        }
        Some(match self.known(merchant.id) {
            Some(own) if own.is_current(rules_revision, &of_deployment) => own.rules,
            outdated => self.read_again(merchant, of_deployment, outdated).await,
        })
    }

    fn known(&self, merchant: MerchantId) -> Option<OwnRules> {
        self.0.of_merchants.read().unwrap_or_else(PoisonError::into_inner).get(&merchant).cloned()
    }

    async fn read_again(
        &self,
        merchant: &Merchant,
        of_deployment: Arc<Rules>,
        outdated: Option<OwnRules>,
    ) -> Arc<Rules> {
        let turn = match &outdated {
            Some(own) => match self.0.turn.try_lock() {
                Ok(turn) => Some(turn),
                Err(_taken) => return own.rules.clone(),
            },
            None => None,
        };
        if let Some(own) = self.known(merchant.id)
            && own.is_current(merchant.screening.rules_revision, &of_deployment)
        {
            return own.rules;
        }
        let rules = match self.read(merchant.id, &of_deployment).await {
            Ok(own) => {
                let rules = own.rules.clone();
                let mut all = self.0.of_merchants.write().unwrap_or_else(PoisonError::into_inner);
                let newer = all.get(&merchant.id).is_some_and(|known| own.revision < known.revision);
                if !newer {
                    all.insert(merchant.id, own);
                }
                rules
            }
            Err(error) => {
                let failed = self.0.failed_reads.fetch_add(1, Ordering::Relaxed);
                if failed.is_power_of_two() || failed == 0 {
                    let id = merchant.id.to_string();
                    log::warn!(
                        merchant = id.as_str(), error:% = error;
                        "a merchant's rules of screening cannot be read: the rules that are known hold"
                    );
                }
                outdated.map_or(of_deployment, |own| own.rules)
            }
        };
        drop(turn);
        rules
    }

    async fn read(&self, merchant: MerchantId, of_deployment: &Arc<Rules>) -> Result<OwnRules, StoreError> {
        let found = self.0.store.find_screening_rules(merchant).await?;
        let (revision, text) = found.map_or((0, None), |found| (found.revision, found.text));
        let own = text.map(|text| RulesFile::parse(&text).and_then(|file| of_deployment.with(&file)));
        let (rules, refused) = match own {
            None => (of_deployment.clone(), false),
            Some(Ok(rules)) => (Arc::new(rules), false),
            Some(Err(mistakes)) => {
                let (id, count) = (merchant.to_string(), mistakes.iter().count());
                log::error!(
                    merchant = id.as_str(), mistakes = count;
                    "a merchant's rules of screening cannot be used, and the deployment's hold: `dropin screening rules` tells what is wrong"
                );
                (of_deployment.clone(), true)
            }
        };
        Ok(OwnRules { revision, of_deployment: of_deployment.clone(), rules, refused })
    }
}

/// Rules may name people.
impl std::fmt::Debug for ScreeningRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScreeningRules(..)")
    }
}

#[async_trait]
impl MetricSource for ScreeningRules {
    async fn collect_metrics(&self) -> Result<Vec<Metric>, String> {
        let of_merchants = self.0.of_merchants.read().unwrap_or_else(PoisonError::into_inner);
        let merchants = u64::try_from(of_merchants.values().filter(|own| own.refused).count()).unwrap_or(u64::MAX);
        let file = u64::from(self.0.is_file_refused.load(Ordering::Relaxed));
        let sample = |of: &'static str, value| MetricSample { labels: vec![("of", of.into())], value };
        Ok(vec![
            Metric::gauges(
                "dropin_screening_rules_refused",
                "Rules of screening that cannot be used, so that others hold: the deployment's file (0 or 1), and merchants' texts as far as this program met them.",
                vec![sample("deployment", file), sample("merchant", merchants)],
            ),
            Metric::counter(
                "dropin_screening_rules_unread_total",
                "How often a merchant's rules of screening could not be read, and those that were known held.",
                self.0.failed_reads.load(Ordering::Relaxed),
            ),
        ])
    }
}
