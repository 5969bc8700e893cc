use std::sync::Arc;

use clap::Args;
use dropin_boot::{
    Context, Failure, Parts, RateSourceArgs, ScreeningArgs, ScreeningRetentionArgs, keep_memory_private,
};
use dropin_payments::{PaymentArgs, disputes, payments};
use dropin_usecases::audit::OpenWork;
use dropin_usecases::audit_log::Sealing;
use dropin_usecases::contracts::CredentialDeletions;
use dropin_usecases::payments::Payments;
use dropin_usecases::screening::ScreeningRetention;

use crate::rate_source::rate_refresher;
use crate::{POLL, SettlerDeps, run};

/// The settings of the settler.
#[derive(Debug, Clone, Args)]
pub struct SettlerArgs {
    /// The payment processor.
    #[command(flatten)]
    pub payments: PaymentArgs,
    /// Where exchange rates come from.
    #[command(flatten)]
    pub rates: RateSourceArgs,
    /// Screening of payments: by what issuers said of those that end here.
    #[command(flatten)]
    pub screening: ScreeningArgs,
    /// How long what screening knows is kept.
    #[command(flatten)]
    pub retention: ScreeningRetentionArgs,
}

/// The service, built from its settings.
///
/// # Errors
/// Which setting is wrong.
pub async fn assemble(context: &Context, settings: SettlerArgs) -> Result<Parts, Failure> {
    keep_memory_private()?;
    let catalogue = settings.payments.methods.known()?;
    let processor = settings.payments.open(context).await?;
    let rates = rate_refresher(context, &settings.rates)?;
    let (credentials, secrets) = (context.credential_keys().await?, context.master_key().await?);
    let deletions = CredentialDeletions {
        store: context.store.clone(),
        vault: credentials.clone(),
        processor: processor.clone(),
        clock: context.clock.clone(),
        ids: context.ids.clone(),
    };
    let payments = payments(context, processor.clone(), catalogue.into(), Some(credentials.clone())).await;
    let screening_rules = settings.screening.open(context).await?;
    let screening = payments.screening.clone().with_rules((*screening_rules).clone());
    let screening_metrics = screening.metrics();
    let payments = Payments { screening, ..payments };
    let authorizations = payments.authorizations.clone();
    let audit_keys = context.audit_keys().await?;
    let sealing = Arc::new(Sealing::new(context.store.clone(), audit_keys.clone(), context.clock.clone()));
    let screening = ScreeningRetention {
        store: context.store.clone(),
        clock: context.clock.clone(),
        facts: settings.retention.screening_retention.0,
    };
    let disputes = disputes(context, processor.clone(), secrets.clone());
    let deps = SettlerDeps {
        payments,
        contracts: context.contracts(),
        deletions,
        disputes: disputes.clone(),
        answers: context.answers(),
        sessions: context.sessions(),
        screening,
        rates: rates.clone(),
        sealing: sealing.clone(),
        accounts: context.store.clone(),
        poll: POLL,
    };
    let open = OpenWork { payments: context.store.clone(), audit: context.store.clone(), clock: context.clock.clone() };
    let parts = Parts::new()
        .with_master_key(secrets.id())
        .ready_with_keys(move || dropin_ports::CredentialVault::check(&*credentials))
        .ready_with_keys(move || audit_keys.check())
        .run("settler", run(deps, context.stop.clone()))
        .register_metrics(Arc::new(open))
        .register_metrics(Arc::new(disputes))
        .register_metrics(sealing)
        .register_metrics(screening_rules)
        .register_metrics(screening_metrics)
        .register_metrics(authorizations)
        .register_metrics(processor);
    Ok(match rates {
        Some(rates) => parts.register_metrics(Arc::new(rates)),
        None => parts,
    })
}
