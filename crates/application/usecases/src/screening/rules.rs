use std::sync::Arc;

use dropin_access::Merchant;
use dropin_risk::Rules;

/// The rules that payments are screened by.
#[derive(Debug, Clone)]
pub struct ScreeningRules {
    of_deployment: Arc<Rules>,
}

impl ScreeningRules {
    /// Those of the deployment.
    pub fn new(of_deployment: Rules) -> Self {
        Self { of_deployment: Arc::new(of_deployment) }
    }

    /// Those of a merchant; `None` where its payments are not screened.
    pub fn of(&self, _merchant: &Merchant) -> Option<Arc<Rules>> {
        Some(self.of_deployment.clone())
    }
}
