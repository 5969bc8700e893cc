//! The notifier as a program of its own.

use std::process::ExitCode;
use std::sync::Arc;

use dropin_boot::{Context, DeliveryArgs, Mode, Parts, serve};
use dropin_keyring::MasterKey;
use dropin_usecases::deliver::{Delivering, QueueWatch};
use dropin_usecases::notifications::Notifications;
use dropin_webhook_client::{ClientConfig, WebhookClient};
use notifier::{NotifierDeps, run};

fn main() -> ExitCode {
    serve("notifier", 8085, async |context: &Context, delivery: DeliveryArgs| {
        let policy = delivery.webhook.policy(context.mode);
        let client = ClientConfig { deadline: delivery.deadline(), ..ClientConfig::new(policy) };
        let delivering = Delivering {
            outbox: Arc::new(context.store.clone()),
            webhooks: Arc::new(WebhookClient::start(client)?),
            secrets: Arc::new(MasterKey::of_deployment(&context.keys, &context.store).await?),
            clock: context.clock.clone(),
            ids: context.ids.clone(),
            sandbox: context.mode == Mode::Sandbox,
            schedule: delivery.retry_schedule.clone(),
            pace: delivery.pace()?,
            counters: Arc::default(),
        };
        let wakeups = Arc::default();
        let (store, counters) = (Arc::new(context.store.clone()), delivering.counters.clone());
        let parts = Parts::new()
            .watch(counters.clone())
            .watch(Arc::new(QueueWatch::new(store, counters, context.clock.clone())))
            .watch(Arc::new(context.store.wake(&wakeups)?));
        let store = Arc::new(context.store.clone());
        let old = Notifications { store, clock: context.clock.clone(), ids: context.ids.clone() };
        let (retention, stop) = (delivery.retention.retention(), context.stop.clone());
        let parts = parts.run("old notifications", async move { old.keep(retention, stop).await });
        Ok(parts.run("notifier", run(NotifierDeps { delivering, wakeups }, context.stop.clone())))
    })
}
