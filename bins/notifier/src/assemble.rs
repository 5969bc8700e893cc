use std::sync::Arc;

use dropin_boot::{Context, DeliveryArgs, Failure, Parts};
use dropin_usecases::deliver::{Delivering, QueueMetrics};
use dropin_usecases::notifications::Notifications;
use dropin_webhook_client::{WebhookClient, WebhookClientConfig};

use crate::{NotifierDeps, run};

/// The service, built from its settings.
///
/// # Errors
/// Which setting is wrong, or why the master key cannot be opened.
pub async fn assemble(context: &Context, settings: DeliveryArgs) -> Result<Parts, Failure> {
    let (store, clock, ids) = (context.store.clone(), context.clock.clone(), context.ids.clone());
    let policy = settings.webhook.policy(context.mode);
    let client = WebhookClientConfig { deadline: settings.deadline(), ..WebhookClientConfig::new(policy) };
    let secrets = context.master_key().await?;
    let delivering = Delivering {
        outbox: store.clone(),
        webhooks: Arc::new(WebhookClient::start(client)?),
        secrets: secrets.clone(),
        clock: clock.clone(),
        ids: ids.clone(),
        sandbox: context.is_sandbox(),
        schedule: settings.retry_schedule.clone(),
        settings: settings.settings()?,
        counters: Arc::default(),
    };
    let (counters, wakeups) = (delivering.counters.clone(), Arc::default());
    let parts = Parts::new()
        .with_master_key(secrets.id())
        .register_metrics(counters.clone())
        .register_metrics(Arc::new(QueueMetrics::new(store.clone(), counters, clock.clone())))
        .register_metrics(Arc::new(store.wake(&wakeups)?));
    let (old, retention) = (Notifications { store, clock, ids }, settings.retention.retention());
    let stop = context.stop.clone();
    let parts = parts.run("deletion of old notifications", async move { old.keep(retention, stop).await });
    Ok(parts.run("notifier", run(NotifierDeps { delivering, wakeups }, context.stop.clone())))
}
