//! `dropin trigger`: makes an event happen in a sandbox. Nothing is made up: a Session is created and paid, or a contract opened, over HTTP as a
//! merchant and a shopper do it, with the published number or the method that leads there, and the running services do the rest. A merchant's alarm alone
//! is noted in the database, as screening notes one.

use std::sync::Arc;

use clap::Args;
use dropin_boot::{Failure, Mode, SystemClock, SystemIds};
use dropin_store::Store;
use dropin_trigger::{
    EventTrigger, SCENARIOS, SandboxProcessorAccess, TriggerScenario, TriggeredEvent, TriggeredPayment,
};
use dropin_usecases::sessions::Sessions;
use dropin_validation::UrlPolicy;
use dropin_wire::event;
use serde_json::{Value, json};

use super::client::{self, ServiceFlags};
use super::processor::{self, ProcessorFlags};
use super::{Cli, Output, acting, order, say, say_lines};
use crate::plan;

#[derive(Debug, Args)]
pub(crate) struct Trigger {
    /// EventType to make happen, such as ORDER_PROCESSED; --list shows all
    #[arg(value_name = "EVENT", required_unless_present = "list", value_parser = event_type)]
    pub(crate) event: Option<&'static str>,
    /// Show every EventType, and what is done for it
    #[arg(long, conflicts_with = "event")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) service: ServiceFlags,
    /// Address of the shopper's calls ({asset_url}) [default: /asset below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_ASSET_URL", value_name = "URL")]
    pub(crate) asset_url: Option<String>,
    /// Address of the checkout ({checkout_url}) [default: /checkout below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_CHECKOUT_URL", value_name = "URL")]
    pub(crate) checkout_url: Option<String>,
    /// Address of the stash ({stash_url}) [default: /stash below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_STASH_URL", value_name = "URL")]
    pub(crate) stash_url: Option<String>,
    #[command(flatten)]
    pub(crate) processor: ProcessorFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

fn event_type(text: &str) -> Result<&'static str, String> {
    let known = || event::types().collect::<Vec<_>>().join(", ");
    event::types().find(|known| *known == text).ok_or_else(|| format!("there is no such event; there are {}", known()))
}

/// Shows every event and what is done for it.
pub(super) fn list(output: Output) -> Result<(), Failure> {
    if output.json {
        let all = SCENARIOS.iter().map(|one| json!({ "EventType": one.event, "Does": one.does }));
        return say(&Value::from_iter(all).to_string());
    }
    say_lines(SCENARIOS.iter().map(|TriggerScenario { event, does, .. }| format!("{event:<24}{does}")), "")
}

/// Makes one event happen and waits for it.
pub(super) async fn run(cli: &Cli, store: &Store, wanted: &Trigger) -> Result<(), Failure> {
    if cli.mode.mode() == Mode::Production {
        return Err("events are triggered in a sandbox only: this is a production deployment, where every payment is somebody's".into());
    }
    let event = wanted.event.ok_or("say which event; --list shows all")?;
    let scenario = TriggerScenario::of(event).ok_or_else(|| format!("nothing here leads to {event}"))?;
    let PartAddresses { asset, checkout, stash } = PartAddresses::find(cli, wanted)?;
    let service = client::open(cli, &wanted.service, &[&asset, &checkout, &stash])?;
    let caller = EventTrigger::caller(store, &service.username, &service.base).await?;
    let (shared, clock, ids) = (Arc::new(store.clone()), Arc::new(SystemClock), Arc::new(SystemIds));
    let trigger = EventTrigger {
        service,
        asset_url: asset,
        checkout_url: checkout,
        stash_url: stash,
        caller,
        notifications: shared.clone(),
        screening: shared.clone(),
        sessions: Sessions {
            store: shared.clone(),
            contracts: shared,
            clock: clock.clone(),
            ids: ids.clone(),
            url_policy: UrlPolicy::Sandbox,
        },
        clock,
        ids,
        processor: processor_access(cli, store, wanted).map_err(|failure| failure.to_string()),
    };
    tell(wanted.output, &trigger.run(scenario).await?)
}

fn processor_access(cli: &Cli, store: &Store, wanted: &Trigger) -> Result<SandboxProcessorAccess, Failure> {
    let flags = processor_flags(cli, wanted);
    Ok(SandboxProcessorAccess {
        payments: order::payments(cli, store, &flags)?,
        by: acting(cli)?,
        reviewer: "trigger".to_owned(),
        url: processor::address(cli, &flags)?,
        key: processor::key(cli, &flags)?.expose().to_owned().into(),
    })
}

fn tell(output: Output, happened: &TriggeredEvent) -> Result<(), Failure> {
    let TriggeredEvent { event, notification, payment } = happened;
    if !output.json {
        return say(&match payment {
            TriggeredPayment::Contract(contract) => {
                format!("{event} happened: notification {notification}, contract {contract}.")
            }
            TriggeredPayment::Merchant(merchant) => {
                format!("{event} happened: notification {notification}, merchant {merchant}.")
            }
            TriggeredPayment::Session { session, order, reference } => {
                let order = order.map(|order| format!(", Order {order}")).unwrap_or_default();
                format!(
                    "{event} happened: notification {notification}, Session {session}{order}, MerchantReference \"{reference}\"."
                )
            }
        });
    }
    let mut told = json!({ "EventType": event, "EventId": notification.to_string() });
    match payment {
        TriggeredPayment::Contract(contract) => told["ContractId"] = contract.to_string().into(),
        TriggeredPayment::Merchant(merchant) => told["MerchantId"] = merchant.to_string().into(),
        TriggeredPayment::Session { session, order, reference } => {
            told["SessionId"] = session.to_string().into();
            told["MerchantReference"] = reference.as_str().into();
            if let Some(order) = order {
                told["OrderId"] = order.to_string().into();
            }
        }
    }
    say(&told.to_string())
}

/// Where the parts of the service are that a merchant's pages and server ask beside the APIs.
#[derive(Debug, PartialEq, Eq)]
struct PartAddresses {
    /// Of the shopper's calls.
    asset: String,
    checkout: String,
    stash: String,
}

impl PartAddresses {
    fn find(cli: &Cli, wanted: &Trigger) -> Result<Self, Failure> {
        let (serve, service, prefixes) = (&cli.serve, &wanted.service, plan::PREFIXES);
        let asset = wanted.asset_url.as_ref().or(serve.asset_url.as_ref());
        let stash = wanted.stash_url.as_ref().or(serve.stash_url.as_ref());
        Ok(Self {
            asset: service.part(cli, asset, prefixes.asset, |addresses| addresses.public.asset)?,
            checkout: service.checkout(cli, wanted.checkout_url.as_ref())?,
            stash: service.part(cli, stash, prefixes.stash, |addresses| addresses.public.stash)?,
        })
    }
}

/// The processor of the service that --base-url names: the sandbox's, unless another is given.
fn processor_flags(cli: &Cli, wanted: &Trigger) -> ProcessorFlags {
    let ProcessorFlags { processor, processor_url, processor_key_file } = &wanted.processor;
    let given = processor_url.as_ref().or(cli.serve.processor_url.as_ref()).cloned();
    let below_base = |base: &String| format!("{}{}", base.trim_end_matches('/'), plan::SANDBOX);
    ProcessorFlags {
        processor: *processor,
        processor_url: given.or_else(|| wanted.service.base_url.as_ref().map(below_base)),
        processor_key_file: processor_key_file.clone(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use dropin_trigger::TriggerCard;

    use super::super::{Cli, Command};
    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let cli = Cli::try_parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()))?;
        Ok(cli.command.expect("a command"))
    }

    #[test]
    fn every_address_follows_the_base_url_unless_given() {
        let found = |line: &str| {
            let cli = Cli::parse_from(["dropin"].into_iter().chain(line.split_ascii_whitespace()));
            let Some(Command::Trigger(wanted)) = &cli.command else { panic!("{line}") };
            let PartAddresses { asset, checkout, stash } = PartAddresses::find(&cli, wanted).expect("addresses");
            [asset, checkout, stash, processor_flags(&cli, wanted).processor_url.unwrap_or_default()].join(" ")
        };
        let here = "http://127.0.0.1:8080";
        assert_eq!(found("trigger ORDER_PROCESSED"), format!("{here}/asset {here}/checkout {here}/stash "));
        let (line, there) = ("trigger ORDER_PROCESSED --base-url http://127.0.0.1:8090/", "http://127.0.0.1:8090");
        assert_eq!(found(line), format!("{there}/asset {there}/checkout {there}/stash {there}/sandbox"));
        let given = format!(
            "{line} --asset-url http://a/ --checkout-url http://c/ --stash-url http://s --processor-url http://p"
        );
        assert_eq!(found(&given), "http://a http://c http://s http://p");
    }

    #[test]
    fn an_event_is_named_or_all_are_listed() {
        let Ok(Command::Trigger(trigger)) = parse("trigger REFUND_FAILED --merchant-file m.json --json") else {
            panic!()
        };
        assert_eq!((trigger.event, trigger.list, trigger.output.json), (Some("REFUND_FAILED"), false, true));
        assert!(matches!(parse("trigger --list"), Ok(Command::Trigger(Trigger { list: true, event: None, .. }))));
        for wrong in ["trigger", "trigger ORDER_PAID", "trigger ORDER_PROCESSED --list"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let message = parse("trigger ORDER_PAID").expect_err("no such event").to_string();
        assert!(message.contains("SESSION_COMPLETED") && message.contains("REFUND_FAILED"), "{message}");
    }
    /// What a card is wanted for is what the sandbox's table says that it does.
    #[test]
    fn the_cards_that_pay_are_published() {
        let does = |card: TriggerCard| {
            let published = sandbox_processor::TEST_CARDS.iter().find(|published| published.number == card.number());
            published.expect("a published number").does
        };
        let told = TriggerCard::ALL.map(does);
        let words = ["Pays", "Is declined", "held for a review", "capture is refused", "refund", "disputed"];
        for (does, word) in told.iter().zip(words) {
            assert!(does.contains(word), "{does}: {word}");
        }
    }
}
