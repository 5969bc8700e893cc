//! The Session and Order API as a program of its own.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use dropin_boot::{AccessArgs, Context, DocsArgs, Mode, OfferArgs, Parts, ProcessorArgs, ProcessorLimitArgs, serve};
use dropin_http::Gate;
use dropin_keyring::MasterKey;
use dropin_processor_http::{BreakerRules, HttpProcessor, ProcessorConfig, Room};
use dropin_usecases::access::Authenticator;
use dropin_usecases::answers::{Answers, KEEP};
use dropin_usecases::events::Events;
use dropin_usecases::payments::{PROCESSOR_DEADLINE, Payments, Timing};
use dropin_usecases::rates::Rates;
use dropin_usecases::sessions::Sessions;
use session_api::{SessionApiDeps, configure, openapi};

#[derive(Args)]
struct Concerns {
    #[command(flatten)]
    processor: ProcessorArgs,
    #[command(flatten)]
    limits: ProcessorLimitArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    docs: DocsArgs,
    #[command(flatten)]
    offers: OfferArgs,
}

fn main() -> ExitCode {
    serve("session-api", 8082, async |context: &Context, concerns: Concerns| {
        let (processor, limits) = (concerns.processor, concerns.limits);
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
        let (secrets, sandbox) =
            (Arc::new(MasterKey::of_deployment(&context.keys, &context.store).await?), context.mode == Mode::Sandbox);
        let authenticator =
            Authenticator::new(store.clone(), secrets, context.clock.clone(), sandbox, concerns.access.limit());
        let deps = SessionApiDeps {
            gate: Gate(Arc::new(authenticator)),
            sessions: Sessions {
                store: store.clone(),
                clock: context.clock.clone(),
                ids: context.ids.clone(),
                url_policy: context.mode.url_policy(),
            },
            events: Events { store: store.clone() },
            rates: Rates::new(
                store.clone(),
                store.clone(),
                context.clock.clone(),
                context.ids.clone(),
                concerns.offers.policy()?,
            ),
            answers: Answers { store: store.clone(), clock: context.clock.clone(), keep: KEEP },
            payments: Payments {
                store,
                processor: processor.clone(),
                clock: context.clock.clone(),
                ids: context.ids.clone(),
                timing: Timing::default(),
            },
            flows: context.flows.clone(),
        };
        let docs = concerns.docs.shown(context.mode);
        Ok(Parts::new().mount(openapi::DOCS.beside(docs, configure(deps))).watch(processor))
    })
}
