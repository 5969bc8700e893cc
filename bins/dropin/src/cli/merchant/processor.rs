//! `dropin merchant processor …`: which processors a merchant's payments go to.

use dropin_access::{Merchant, ProcessorRouting};
use dropin_boot::Failure;
use dropin_kernel::MerchantId;
use dropin_ports::MerchantSettings;
use dropin_store::Store;
use dropin_usecases::access::MerchantAccount;
use serde_json::{Value, json};

use super::args::ProcessorCommand;
use super::{Cli, Output, credentials, explain, open, say};
use crate::plan;

/// Runs one command.
pub(super) async fn run(cli: &Cli, store: &Store, command: &ProcessorCommand) -> Result<(), Failure> {
    match command {
        ProcessorCommand::Show { id, output } => {
            let account = MerchantAccount::load(store, *id).await.map_err(explain)?;
            show(&account.merchant, *output)
        }
        ProcessorCommand::Set { id, rules, output } => {
            let routing = ProcessorRouting::new(rules.clone()).map_err(|error| error.to_string())?;
            check_names(cli, store, *id, &routing).await?;
            show(&set(cli, store, *id, routing).await?, *output)
        }
        ProcessorCommand::Clear { id, output } => {
            show(&set(cli, store, *id, ProcessorRouting::default()).await?, *output)
        }
    }
}

async fn set(cli: &Cli, store: &Store, id: MerchantId, routing: ProcessorRouting) -> Result<Merchant, Failure> {
    let change = MerchantSettings { processors: Some(routing), ..MerchantSettings::default() };
    open(cli, store, false).await?.set(id, change).await.map_err(explain)
}

/// Refuses a rule that names no processor of the deployment and no account of the merchant's: its payments would go to none.
async fn check_names(cli: &Cli, store: &Store, id: MerchantId, routing: &ProcessorRouting) -> Result<(), Failure> {
    let main = plan::processor_args(cli);
    let others = main.others()?;
    let own = credentials::names(store, id).await?;
    let others = others.into_iter().map(|other| other.profile.id);
    let known: Vec<_> = std::iter::once(main.id()).chain(others).chain(own).collect();
    let named = routing.rules().iter().flat_map(|rule| &rule.processors);
    for id in named {
        if !known.contains(id) {
            let names = known.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "--rule names {id}, and the processors of this deployment and accounts of this merchant are {names}: correct it, or name the services' file of further processors by --processors \
                 (DROPIN_PROCESSORS)"
            )
            .into());
        }
    }
    Ok(())
}

fn show(merchant: &Merchant, output: Output) -> Result<(), Failure> {
    let rules = merchant.processors.rules();
    if output.json {
        let rules = Value::from_iter(rules.iter().map(ToString::to_string));
        return say(&json!({ "MerchantId": merchant.id.to_string(), "Rules": rules }).to_string());
    }
    match rules {
        [] => say("It has no rule: its payments go to the main processor."),
        rules => say(&rules.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}
