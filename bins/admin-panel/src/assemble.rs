use std::sync::Arc;

use clap::Args;
use dropin_boot::{Context, Failure, Mode, Parts, ScreeningArgs, WalletArgs, WebhookArgs};
use dropin_payments::{PaymentArgs, disputes, payments};
use dropin_ports::{Acting, OperatorStore, StoreError};
use dropin_usecases::access::Merchants;
use dropin_usecases::audit::Audit;
use dropin_usecases::notifications::Notifications;
use dropin_usecases::operators::{Operators, PasswordCost, SecondFactorPolicy};
use dropin_usecases::wallet::WalletSetup;
use dropin_wallet_client::{WalletClient, WalletClientConfig};
use dropin_webhook_client::{WebhookClient, WebhookClientConfig};

use crate::{PanelDeps, SandboxServices, ServiceAddressArgs, configure};

/// The settings of the admin panel.
#[derive(Debug, Clone, Args)]
pub struct AdminPanelArgs {
    /// The payment processor.
    #[command(flatten)]
    pub payments: PaymentArgs,
    /// Where endpoints of merchants may be.
    #[command(flatten)]
    pub webhook: WebhookArgs,
    /// Screening of payments.
    #[command(flatten)]
    pub screening: ScreeningArgs,
    /// Where the services of a sandbox are.
    #[command(flatten)]
    pub services: ServiceAddressArgs,
}

/// Finds out whether anybody can sign in.
pub struct FirstOperator(Operators);

impl FirstOperator {
    /// The path of a one-time link for the first operator; `None` once there is one. The link of before ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn invite(&self) -> Result<Option<String>, StoreError> {
        let link = self.0.invite_first().await?;
        Ok(link.map(|link| format!("/accept?token={}", link.token)))
    }
}

/// The panel, built from its settings, as a program of its own. Its log tells when nobody can sign in, and how that changes; a link would be a secret
/// in it.
///
/// # Errors
/// Which setting is wrong, or why a key cannot be opened.
pub async fn assemble(context: &Context, settings: AdminPanelArgs) -> Result<Parts, Failure> {
    let (parts, _) = assemble_with(context, settings).await?;
    match context.store.list_operators().await {
        Ok(operators) if operators.is_empty() => log::warn!(
            "nobody can sign in yet: run `dropin operator invite --name NAME --email ADDRESS --role owner --panel-url URL` with this panel's address"
        ),
        Ok(_) => {}
        Err(error) => log::warn!("whether anybody can sign in cannot be found out yet: {error}"),
    }
    Ok(parts)
}

/// The same, and who invites the first operator.
///
/// # Errors
/// As [`assemble`].
pub async fn assemble_with(context: &Context, settings: AdminPanelArgs) -> Result<(Parts, FirstOperator), Failure> {
    let store = context.store.clone();
    let (clock, ids) = (context.clock.clone(), context.ids.clone());
    let catalogue = settings.payments.methods.known()?;
    let processor = settings.payments.open(context).await?;
    let screening_rules = settings.screening.open(context).await?;
    let secrets = context.master_key().await?;
    let policy = if context.is_sandbox() { SecondFactorPolicy::Optional } else { SecondFactorPolicy::Required };
    let operators =
        Operators::new(store.clone(), secrets.clone(), clock.clone(), ids.clone(), policy, PasswordCost::OWASP);
    let processor_key = {
        let key = processor.key();
        Arc::new(move || key.text())
    };
    let (services, of_processor) = (&settings.services, &settings.payments.processor);
    let sandbox_services = SandboxServices::find(services, context.mode, of_processor, processor_key)?;
    let wallet = match context.mode {
        Mode::Sandbox => WalletClientConfig::sandbox(WalletArgs::default().root(&context.data)),
        Mode::Production => WalletClientConfig::production(),
    };
    let wallets = WalletSetup {
        store: store.clone(),
        secrets: secrets.clone(),
        provider: Arc::new(WalletClient::start(wallet)?),
        clock: clock.clone(),
        ids: ids.clone(),
        by: Acting::system(),
        sandbox: context.is_sandbox(),
    };
    let merchants = Merchants {
        store: store.clone(),
        outbox: store.clone(),
        secrets: secrets.clone(),
        clock: clock.clone(),
        ids: ids.clone(),
        targets: settings.webhook.policy(context.mode),
        by: Acting::system(),
    };
    let payments = payments(context, processor.clone(), catalogue.into(), None).await;
    let authorizations = payments.authorizations.clone();
    let deps = PanelDeps {
        operators: operators.clone(),
        payments,
        contracts: context.contracts(),
        disputes: disputes(context, processor.clone(), secrets.clone()),
        processors: processor.all().map(|one| one.id.clone()).collect(),
        processor_accounts: store.clone(),
        notifications: Notifications { store: store.clone(), clock: clock.clone(), ids: ids.clone() },
        merchants,
        access: store.clone(),
        screening_rules: screening_rules.clone(),
        screenings: store.clone(),
        sessions: store.clone(),
        audit: store.clone(),
        audit_log: store.clone(),
        back_office: store.clone(),
        activity: store.clone(),
        backlog: store.clone(),
        rates: store,
        wallets,
        webhooks: Arc::new(WebhookClient::start(WebhookClientConfig::new(settings.webhook.policy(context.mode)))?),
        ledger: Audit {
            store: context.store.clone(),
            journal: processor.journal(),
            credentials: processor.credential_list(),
            clock: context.clock.clone(),
        },
        flows: context.flows.clone(),
        clock,
        ids,
        stop: context.stop.clone(),
        sandbox: context.is_sandbox(),
        sandbox_services,
        is_https: context.is_https,
    };
    let parts = Parts::new().with_master_key(secrets.id()).mount("", configure(deps)).register_metrics(processor);
    let parts = parts.register_metrics(screening_rules).register_metrics(authorizations);
    Ok((parts, FirstOperator(operators)))
}
