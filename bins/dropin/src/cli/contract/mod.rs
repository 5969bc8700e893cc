//! `dropin contract …`: a merchant's contracts, over HTTP as its server asks for them (docs/SPECIFICATION.md#contracts). Nothing here opens the
//! database or a stored credential: the running service does.

mod charge;
mod shown;

use clap::{Args, Subcommand};
use dropin_boot::Failure;
use dropin_kernel::ContractId;
use dropin_trigger::ServiceResponse;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client::{self, ServiceFlags};
use super::{Cli, Output, say, say_lines};
use charge::Charge;

#[derive(Debug, Subcommand)]
pub(crate) enum ContractCommand {
    /// Show the contracts of a billing profile
    List {
        /// BillingProfileReference
        #[arg(value_name = "REFERENCE")]
        reference: String,
        #[command(flatten)]
        service: ServiceFlags,
        #[command(flatten)]
        output: Output,
    },
    /// Show a contract with the Orders made under it
    Show {
        /// ContractId
        id: ContractId,
        #[command(flatten)]
        service: ServiceFlags,
        #[command(flatten)]
        output: Output,
    },
    /// Close a contract: it is never charged again, and the processor deletes its card
    Close(Close),
    /// Charge a contract, without the shopper
    Charge(Box<Charge>),
}

#[derive(Debug, Args)]
pub(crate) struct Close {
    /// ContractId
    id: ContractId,
    #[command(flatten)]
    checkout: CheckoutFlags,
    #[command(flatten)]
    output: Output,
}

/// How the checkout is reached.
#[derive(Debug, Args)]
struct CheckoutFlags {
    #[command(flatten)]
    service: ServiceFlags,
    /// Address of the checkout ({checkout_url}) [default: /checkout below --base-url, else that of a service started with the same settings]
    #[arg(long, env = "DROPIN_CHECKOUT_URL", value_name = "URL")]
    checkout_url: Option<String>,
}

impl CheckoutFlags {
    /// The address of one operation.
    fn url(&self, cli: &Cli, operation: &str) -> Result<String, Failure> {
        let address = self.service.checkout(cli, self.checkout_url.as_ref())?;
        Ok(format!("{address}/v2.21{operation}"))
    }
}

/// Runs one command.
pub(super) async fn run(cli: &Cli, command: &ContractCommand) -> Result<(), Failure> {
    match command {
        ContractCommand::List { reference, service, output } => list(cli, reference, service, *output).await,
        ContractCommand::Show { id, service, output } => {
            let service = client::open(cli, service, &[])?;
            let path = format!("/v1/contract/{id}");
            let answer = service.try_call("GET", &path, None).await?;
            answer.json_or(&format!("GET {}{path}", service.base), |refusal| advice(*id, refusal))?;
            if output.json { as_it_is(&answer) } else { say(&shown::in_words(&answer.body)?) }
        }
        ContractCommand::Close(wanted) => close(cli, wanted).await,
        ContractCommand::Charge(wanted) => charge::run(cli, wanted).await,
    }
}

/// The answer to a list, with each contract as it was written.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    contracts: Box<RawValue>,
}

async fn list(cli: &Cli, reference: &str, service: &ServiceFlags, output: Output) -> Result<(), Failure> {
    let service = client::open(cli, service, &[])?;
    let answer = service.search("/v1/contract", &[("BillingProfileReference", reference)]).await?;
    answer.json_or(&format!("GET {}/v1/contract", service.base), permission)?;
    let found: Found = serde_json::from_slice(&answer.body)?;
    if output.json {
        return say(found.contracts.get());
    }
    let none = format!("The billing profile {reference} has no contracts.");
    say_lines(shown::lines(found.contracts.get())?.into_iter(), &none)
}

async fn close(cli: &Cli, wanted: &Close) -> Result<(), Failure> {
    let (id, url) = (wanted.id, wanted.checkout.url(cli, "/closeContract")?);
    let service = client::open(cli, &wanted.checkout.service, &[&url])?;
    let body = json!({ "MerchantId": service.merchant_id, "ContractId": id.to_string() });
    let answer = service.post_to(&url, body.to_string()).await.map_err(|failure| {
        format!(
            "{failure}\nIt is not known whether the contract was closed: `dropin contract show {id}` shows its state."
        )
    })?;
    let closed = answer.json_or(&format!("POST {url}"), |refusal| advice(id, refusal))?;
    if wanted.output.json {
        return as_it_is(&answer);
    }
    let state = closed["State"].as_str().unwrap_or_default();
    say(&format!("The contract {id} is {state}. The processor deletes its card within a minute."))
}

/// The answer to the letter: its numbers stay as they were written.
fn as_it_is(answer: &ServiceResponse) -> Result<(), Failure> {
    say(&String::from_utf8_lossy(&answer.body))
}

/// What to do about a refusal of any of the commands that name a contract.
fn advice(id: ContractId, refusal: &Value) -> Option<String> {
    match refusal["Code"].as_str()? {
        "INVALID_CONTRACT_STATE" => Some(format!("`dropin contract show {id}` shows the contract's state.")),
        "CONTRACT_NOT_FOUND" => Some(NOT_FOUND.to_owned()),
        "INVALID_REQUEST" if is_unknown(refusal) => Some(NOT_FOUND.to_owned()),
        _ => permission(refusal),
    }
}

const NOT_FOUND: &str = "The merchant of these credentials has no such contract: give the credentials of the contract's merchant as --merchant-file; \
    `dropin contract list REFERENCE` shows the contracts of a billing profile.";

/// Whether the body named a contract that the merchant does not have.
fn is_unknown(refusal: &Value) -> bool {
    let errors = refusal["FieldErrors"].as_array().into_iter().flatten();
    errors.into_iter().any(|error| error["Field"] == "ContractId" && error["Code"] == "NOT_FOUND")
}

/// What to do where the API user may not do this.
fn permission(refusal: &Value) -> Option<String> {
    let may_not = refusal["Code"] == "NOT_AUTHORIZED";
    may_not.then(|| {
        "To list and show contracts takes the permission contract:read, to close them contract:write, to charge them checkout: make an API user \
         with `dropin merchant user add`."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Command;
    use super::*;

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn parse(line: &str) -> Result<(Cli, ContractCommand), clap::Error> {
        let mut cli = Cli::try_parse_from(["dropin", "contract"].into_iter().chain(line.split_ascii_whitespace()))?;
        match cli.command.take() {
            Some(Command::Contract(command)) => Ok((cli, command)),
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn the_checkout_follows_the_base_url_unless_given() {
        let found = |flags: &str| {
            let Ok((cli, ContractCommand::Close(wanted))) = parse(&format!("close {ID} {flags}")) else { panic!() };
            wanted.checkout.url(&cli, "/closeContract").expect("an address")
        };
        assert_eq!(found(""), "http://127.0.0.1:8080/checkout/v2.21/closeContract");
        assert_eq!(found("--base-url http://a.example/"), "http://a.example/checkout/v2.21/closeContract");
        let given = "--base-url http://a.example --checkout-url http://b.example/";
        assert_eq!(found(given), "http://b.example/v2.21/closeContract");
    }

    #[test]
    fn a_contract_is_named_by_its_id() {
        assert!(matches!(parse("list customer-7 --json"), Ok((_, ContractCommand::List { .. }))));
        for wrong in ["list", "show", "show customer-7", "close 7", "charge 7 29.90"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let id = ID.parse().expect("an id");
        let closed = advice(id, &json!({"Code": "INVALID_CONTRACT_STATE"})).expect("advice");
        assert!(closed.contains(&format!("dropin contract show {ID}")), "{closed}");
        let unknown = json!({"Code": "INVALID_REQUEST", "FieldErrors": [{"Field": "ContractId", "Code": "NOT_FOUND"}]});
        assert_eq!(advice(id, &unknown).as_deref(), Some(NOT_FOUND));
        assert_eq!(advice(id, &json!({"Code": "CONTRACT_NOT_FOUND"})).as_deref(), Some(NOT_FOUND));
        let may_not = advice(id, &json!({"Code": "NOT_AUTHORIZED"})).expect("advice");
        assert!(may_not.contains("contract:write"), "{may_not}");
        assert_eq!(advice(id, &Value::Null), None);
    }
}
