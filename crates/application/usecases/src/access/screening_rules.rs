//! The rules of screening that a merchant has of its own.

use dropin_access::AuditAction;
use dropin_kernel::MerchantId;
use dropin_ports::{MerchantScreeningRules, ScreeningRulesChanged, StoreError};
use dropin_risk::{Mistakes, Rules, RulesFile, RulesFingerprint};
use dropin_wire::audit_log::Document;
use sha2::{Digest, Sha256};

use super::Merchants;
use crate::audit_log::hex;

/// What came of changing a merchant's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreeningRulesSet {
    /// How often they have been changed by now.
    pub revision: u64,
    /// The rules that its payments are screened by: its own over those of the deployment.
    pub fingerprint: RulesFingerprint,
}

/// How a merchant's payments are to be screened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantScreening {
    /// Its own rules; `None` for none.
    pub text: Option<String>,
    /// Whether they are screened, where that changes.
    pub on: Option<bool>,
}

/// Why a merchant's rules were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScreeningRulesError {
    /// No merchant has that id.
    #[error("there is no merchant with this id")]
    NoMerchant,
    /// What is wrong with the text, or does not fit to the rules of the deployment.
    #[error("{0}")]
    Mistakes(#[from] Mistakes),
    /// Somebody else changed them meanwhile.
    #[error(
        "somebody else has changed these rules since they were read: look at what is there now, and make the change once more"
    )]
    Changed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Merchants {
    /// The merchant's own rules.
    ///
    /// # Errors
    /// [`ScreeningRulesError::NoMerchant`], [`ScreeningRulesError::Store`].
    pub async fn screening_rules(&self, id: MerchantId) -> Result<MerchantScreeningRules, ScreeningRulesError> {
        self.store.find_screening_rules(id).await?.ok_or(ScreeningRulesError::NoMerchant)
    }

    /// Sets a merchant's own rules, or takes them away, in place of those of revision `decided_on`; running services follow within two seconds.
    /// `of_deployment` are those that they are laid over.
    ///
    /// # Errors
    /// [`ScreeningRulesError`].
    pub async fn set_screening_rules(
        &self,
        id: MerchantId,
        decided_on: u64,
        text: Option<String>,
        of_deployment: &Rules,
    ) -> Result<ScreeningRulesSet, ScreeningRulesError> {
        self.set_screening(id, decided_on, MerchantScreening { text, on: None }, of_deployment).await
    }

    /// The same, and switches screening on or off, in one step: both are in force, or neither. A text that stays as it is is not looked at, so that one
    /// that cannot be used any more keeps nobody from switching.
    ///
    /// # Errors
    /// [`ScreeningRulesError`].
    pub async fn set_screening(
        &self,
        id: MerchantId,
        decided_on: u64,
        wanted: MerchantScreening,
        of_deployment: &Rules,
    ) -> Result<ScreeningRulesSet, ScreeningRulesError> {
        let before = self.screening_rules(id).await?;
        if before.revision != decided_on {
            return Err(ScreeningRulesError::Changed);
        }
        let stays = is_same(before.text.as_deref(), wanted.text.as_deref());
        let text = if stays { before.text.clone() } else { wanted.text };
        let rules = text.as_deref().map(|text| of_deployment.with(&RulesFile::parse(text)?)).transpose();
        let fingerprint = match rules {
            Ok(rules) => rules.as_ref().unwrap_or(of_deployment).fingerprint(),
            // The deployment's hold, as they did before.
            Err(_) if stays => of_deployment.fingerprint(),
            Err(mistakes) => return Err(mistakes.into()),
        };
        if stays && wanted.on.is_none() {
            return Ok(ScreeningRulesSet { revision: decided_on, fingerprint });
        }
        let entry = self.entry(id, AuditAction::MerchantChange, id);
        let entry = entry.with_before(rules_document(before.text.as_deref(), wanted.on.map(|on| !on)));
        let entry = entry.with_after(rules_document(text.as_deref(), wanted.on));
        match self.store.set_screening_rules(id, decided_on, text, wanted.on, entry).await? {
            ScreeningRulesChanged::Done => Ok(ScreeningRulesSet { revision: decided_on + 1, fingerprint }),
            ScreeningRulesChanged::Missing => Err(ScreeningRulesError::NoMerchant),
            ScreeningRulesChanged::Stale => Err(ScreeningRulesError::Changed),
        }
    }
}

/// Whether both have the same lines, however those end: a form ends them in its own way.
fn is_same(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.lines().eq(other.lines()),
        (one, other) => one == other,
    }
}

/// Tells one text from another, and whether screening is on where that changes. The text itself stays out of the audit log, which is for ever: its lists
/// name people.
fn rules_document(text: Option<&str>, on: Option<bool>) -> String {
    let of_text = text.map(|text| {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Document::new().text("Sha256", hex(&Sha256::digest(text.as_bytes()))).number("Bytes", length)
    });
    let document = match on {
        Some(on) => Document::new().flag("Screening", on),
        None => Document::new(),
    };
    match of_text {
        Some(of_text) => document.object("ScreeningRules", of_text).finish(),
        None => document.optional("ScreeningRules", None::<&str>).finish(),
    }
}
