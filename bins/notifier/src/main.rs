//! The notifier as a program of its own.

use std::process::ExitCode;
use std::sync::Arc;

use dropin_boot::{Context, DeliveryArgs, Parts, serve};
use dropin_keyring::MasterKey;
use dropin_notification::Schedule;
use dropin_usecases::deliver::{Delivering, Pace};
use dropin_webhook_client::{ClientConfig, WebhookClient};
use notifier::{NotifierDeps, run};

fn main() -> ExitCode {
    serve("notifier", 8085, async |context: &Context, delivery: DeliveryArgs| {
        let client = ClientConfig::new(delivery.webhook.policy(context.mode));
        let send_deadline = client.deadline;
        let delivering = Delivering {
            outbox: Arc::new(context.store.clone()),
            webhooks: Arc::new(WebhookClient::start(client)?),
            secrets: Arc::new(MasterKey::of_deployment(&context.keys, &context.store).await?),
            clock: context.clock.clone(),
            ids: context.ids.clone(),
            schedule: Schedule::standard(),
            pace: Pace { per_endpoint: delivery.endpoint_slots, send_deadline, ..Pace::default() },
            counters: Arc::default(),
        };
        let wakeups = Arc::default();
        let parts = Parts::new().watch(delivering.counters.clone()).watch(Arc::new(context.store.wake(&wakeups)?));
        Ok(parts.run("notifier", run(NotifierDeps { delivering, wakeups }, context.stop.clone())))
    })
}
