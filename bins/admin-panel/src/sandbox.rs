//! Where the services of a sandbox are: by them the panel makes events happen, as a merchant's server and a shopper.

use std::sync::Arc;

use clap::Args;
use dropin_boot::{ConfigError, Mode, ProcessorArgs, ProcessorKind, public_url};
use dropin_kernel::MerchantId;
use dropin_ports::Acting;
use dropin_processor_transport::tls_client_config;
use dropin_trigger::{
    EventTrigger, MerchantLogin, SandboxProcessorAccess, ServiceClient, TriggerScenario, TriggeredEvent,
};
use dropin_usecases::access::Merchants;
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use zeroize::Zeroizing;

use crate::PanelDeps;

/// Addresses of the services, for a sandbox's panel to make events happen by them.
#[derive(Debug, Clone, Default, Args)]
pub struct ServiceAddressArgs {
    /// Address of the Session and Order APIs ({base_url}), by which a sandbox's panel makes events happen; without it, and in production, it has no page
    /// for that
    #[arg(long, env = "DROPIN_BASE_URL", value_name = "URL")]
    pub base_url: Option<String>,
    /// Address of the shopper's calls ({asset_url}) for the same [default: /asset below --base-url]
    #[arg(long, env = "DROPIN_ASSET_URL", value_name = "URL")]
    pub asset_url: Option<String>,
    /// Address of the checkout ({checkout_url}) for the same [default: /checkout below --base-url]
    #[arg(long, env = "DROPIN_CHECKOUT_URL", value_name = "URL")]
    pub checkout_url: Option<String>,
    /// Address of the stash ({stash_url}) for the same [default: /stash below --base-url]
    #[arg(long, env = "DROPIN_STASH_URL", value_name = "URL")]
    pub stash_url: Option<String>,
}

/// The services of a sandbox, and its processor.
#[derive(Clone)]
pub struct SandboxServices {
    /// `{base_url}`.
    pub base: String,
    /// `{asset_url}`.
    pub asset: String,
    /// `{checkout_url}`.
    pub checkout: String,
    /// `{stash_url}`.
    pub stash: String,
    /// Where the sandbox processor is.
    pub processor: String,
    /// The key that it knows us by, now.
    pub processor_key: Arc<dyn Fn() -> Zeroizing<String> + Send + Sync>,
}

impl SandboxServices {
    /// As they are configured; `None` in production, with another processor than the sandbox's, and without an address of the APIs.
    ///
    /// # Errors
    /// Which address cannot be used.
    pub(crate) fn find(
        settings: &ServiceAddressArgs,
        mode: Mode,
        processor: &ProcessorArgs,
        processor_key: Arc<dyn Fn() -> Zeroizing<String> + Send + Sync>,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(base) = &settings.base_url else { return Ok(None) };
        if mode == Mode::Production || processor.processor != ProcessorKind::Sandbox {
            return Ok(None);
        }
        let base = public_url("base_url", base, mode)?;
        let below = |name, given: &Option<String>, prefix: &str| match given {
            Some(url) => public_url(name, url, mode),
            None => Ok(format!("{base}{prefix}")),
        };
        Ok(Some(Self {
            asset: below("asset_url", &settings.asset_url, "/asset")?,
            checkout: below("checkout_url", &settings.checkout_url, "/checkout")?,
            stash: below("stash_url", &settings.stash_url, "/stash")?,
            base,
            processor: processor.url().to_owned(),
            processor_key,
        }))
    }

    /// Makes an event happen for a merchant, in the name of `merchants.by`, who also decides about what is held for review.
    ///
    /// # Errors
    /// Why it did not happen, for people.
    pub(crate) async fn make_happen(
        &self,
        deps: &PanelDeps,
        merchants: &Merchants,
        reviewer: String,
        merchant: MerchantId,
        scenario: &'static TriggerScenario,
    ) -> Result<TriggeredEvent, String> {
        let permissions = TriggerScenario::PERMISSIONS.iter().copied().collect();
        let user = merchants.trigger_user(merchant, scenario.event, permissions, &*deps.audit_log).await;
        let user = user.map_err(|error| error.to_string())?;
        let login = MerchantLogin {
            merchant_id: merchant.to_string(),
            username: user.username,
            password: user.password.into(),
        };
        let trigger = self.trigger(deps, &login, merchants.by.clone(), reviewer).await?;
        trigger.run(scenario).await.map_err(|error| error.to_string())
    }

    async fn trigger(
        &self,
        deps: &PanelDeps,
        login: &MerchantLogin,
        by: Acting,
        reviewer: String,
    ) -> Result<EventTrigger, String> {
        let Self { base, asset, checkout, stash, processor, .. } = self;
        let is_secure = [base, asset, checkout, stash].iter().any(|url| url.starts_with("https://"));
        let caller = EventTrigger::caller(&*deps.access, &login.username, base).await;
        Ok(EventTrigger {
            service: ServiceClient::new(base, login, is_secure.then(tls_client_config)),
            asset_url: asset.clone(),
            checkout_url: checkout.clone(),
            stash_url: stash.clone(),
            caller: caller.map_err(|error| error.to_string())?,
            notifications: deps.notifications.store.clone(),
            screening: deps.screenings.clone(),
            sessions: Sessions {
                store: deps.sessions.clone(),
                contracts: deps.contracts.store.clone(),
                clock: deps.clock.clone(),
                ids: deps.ids.clone(),
                url_policy: UrlPolicy::Sandbox,
            },
            clock: deps.clock.clone(),
            ids: deps.ids.clone(),
            processor: Ok(SandboxProcessorAccess {
                payments: deps.payments.clone(),
                by,
                reviewer,
                url: processor.clone(),
                key: (self.processor_key)(),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(mode: Mode, kind: ProcessorKind, settings: &ServiceAddressArgs) -> Option<[String; 4]> {
        let processor =
            ProcessorArgs { processor: kind, processor_url: None, processor_key_file: None, processors: None };
        let key = Arc::new(|| Zeroizing::new("key".to_owned()));
        let found = SandboxServices::find(settings, mode, &processor, key).expect("addresses");
        found.map(|found| [found.base, found.asset, found.checkout, found.stash])
    }

    #[test]
    fn events_are_made_to_happen_in_a_sandbox_alone() {
        let base = Some("http://127.0.0.1:8080/".to_owned());
        let here = ServiceAddressArgs { base_url: base, ..ServiceAddressArgs::default() };
        let below = ["", "/asset", "/checkout", "/stash"].map(|prefix| format!("http://127.0.0.1:8080{prefix}"));
        assert_eq!(find(Mode::Sandbox, ProcessorKind::Sandbox, &here), Some(below));
        assert_eq!(find(Mode::Production, ProcessorKind::Sandbox, &here), None);
        assert_eq!(find(Mode::Sandbox, ProcessorKind::Stripe, &here), None);
        assert_eq!(find(Mode::Sandbox, ProcessorKind::Sandbox, &ServiceAddressArgs::default()), None);
        let apart = ServiceAddressArgs { stash_url: Some("https://stash.example/".to_owned()), ..here };
        let found = find(Mode::Sandbox, ProcessorKind::Sandbox, &apart).expect("a sandbox");
        assert_eq!(found[3], "https://stash.example");
    }
}
