//! The settler as a program of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use dropin_boot::{Context, Parts, ProcessorArgs, ProcessorLimitArgs, RateFeedArgs, serve};
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::audit::OpenWork;
use dropin_usecases::payments::{PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::sessions::Sessions;
use settler::{POLL, SettlerDeps, rates_watch, run};

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    processor: ProcessorArgs,
    #[command(flatten)]
    limits: ProcessorLimitArgs,
    #[command(flatten)]
    rates: RateFeedArgs,
}

fn main() -> ExitCode {
    serve("settler", 8087, async |context: &Context, Concerns { processor, limits, rates }: Concerns| {
        let store = Arc::new(context.store.clone());
        let key = processor.key()?.expose().to_owned();
        let config = ProcessorConfig::new(&processor.processor_url, key, PROCESSOR_DEADLINE)?
            .with_room(Room {
                payments: limits.processor_payments,
                questions: limits.processor_questions,
                share: limits.processor_merchant_share,
            })
            .with_breaker(BreakerRules::of(limits.processor_failures, limits.pause()));
        let processor = Arc::new(HttpProcessor::start(config)?);
        let (payments, audit) = (store.clone(), store.clone());
        let open = OpenWork { payments, audit, clock: context.clock.clone() };
        let deps = SettlerDeps {
            payments: Payments {
                store: store.clone(),
                processor: processor.clone(),
                clock: context.clock.clone(),
                ids: context.ids.clone(),
                timing: Timing::default(),
            },
            answers: Answers { store: store.clone(), clock: context.clock.clone(), keep: KEEP },
            sessions: Sessions {
                store,
                clock: context.clock.clone(),
                ids: context.ids.clone(),
                url_policy: context.mode.url_policy(),
            },
            rates: rates_watch(context, &rates)?,
            poll: POLL,
        };
        let rates = deps.rates.clone();
        let settler = run(deps, context.stop.clone());
        let parts = Parts::new().run("settler", settler).watch(Arc::new(open)).watch(processor);
        Ok(match rates {
            Some(rates) => parts.watch(Arc::new(rates)),
            None => parts,
        })
    })
}
