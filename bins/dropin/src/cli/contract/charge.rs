//! `dropin contract charge`: a checkout under a contract (docs/SPECIFICATION.md#contract-checkout).

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use dropin_boot::{Failure, SystemIds};
use dropin_kernel::ContractId;
use dropin_money::{Amount, Currency, Decimal};
use dropin_ports::IdSource;
use dropin_trigger::ServiceClient;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::super::{Cli, Output, client, say};
use super::{CheckoutFlags, advice};

#[derive(Debug, Args)]
pub(crate) struct Charge {
    /// ContractId
    id: ContractId,
    /// How much, in the contract's currency, such as 29.90
    amount: String,
    #[command(flatten)]
    consumer: ConsumerFlags,
    /// ReferenceId: every payment of the merchant has one of its own. The same one again charges nothing twice [default: a new one]
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// What the shopper pays for
    #[arg(long, value_name = "TEXT", default_value = "Charge by contract")]
    description: String,
    /// Reserve the amount only, to be captured later
    #[arg(long)]
    reserve: bool,
    #[command(flatten)]
    checkout: CheckoutFlags,
    #[command(flatten)]
    output: Output,
}

/// The shopper who pays: in a file, or member by member.
#[derive(Debug, Args)]
struct ConsumerFlags {
    /// File with the shopper as JSON, as a checkout takes it in Consumer; in place of --name, --email, --address, --city and --country
    #[arg(long, value_name = "FILE")]
    consumer_file: Option<PathBuf>,
    /// The shopper's name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// The shopper's e-mail address
    #[arg(long, value_name = "TEXT")]
    email: Option<String>,
    /// The shopper's street and house number
    #[arg(long, value_name = "TEXT")]
    address: Option<String>,
    /// The shopper's city
    #[arg(long, value_name = "TEXT")]
    city: Option<String>,
    /// The shopper's country, such as DE
    #[arg(long, value_name = "COUNTRY")]
    country: Option<String>,
}

impl ConsumerFlags {
    /// The Consumer as JSON.
    fn read(&self) -> Result<Box<RawValue>, Failure> {
        let members = [
            ("Name", "--name", &self.name),
            ("Email", "--email", &self.email),
            ("Address", "--address", &self.address),
            ("City", "--city", &self.city),
            ("Country", "--country", &self.country),
        ];
        let missing: Vec<_> = members.iter().filter(|member| member.2.is_none()).map(|member| member.1).collect();
        match &self.consumer_file {
            Some(_) if missing.len() < members.len() => {
                Err("give the shopper once: as --consumer-file, or with --name, --email, --address, --city and --country".into())
            }
            Some(file) => {
                let shown = file.display();
                let text = fs::read_to_string(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
                let is_object = serde_json::from_str(&text).is_ok_and(|consumer: Value| consumer.is_object());
                if !is_object {
                    return Err(format!("{shown} does not hold a JSON object: it needs Name, Email, Address, City and Country").into());
                }
                Ok(RawValue::from_string(text.trim().to_owned())?)
            }
            None if missing.is_empty() => {
                let consumer = members.map(|(member, _flag, value)| (member.to_owned(), Value::from(value.clone())));
                Ok(to_raw_value(&Value::from_iter(consumer))?)
            }
            None => Err(format!(
                "a charge names the shopper who pays: give --name, --email, --address, --city and --country, or --consumer-file; missing: {}",
                missing.join(", ")
            )
            .into()),
        }
    }
}

/// A checkout under a contract.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    merchant_id: &'a str,
    contract_id: String,
    reference_id: &'a str,
    consumer_currency: &'a str,
    capture: bool,
    consumer: &'a RawValue,
    items: [Item<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Item<'a> {
    description: &'a str,
    /// An exact number.
    consumer_price: Box<RawValue>,
    quantity: u32,
}

pub(super) async fn run(cli: &Cli, wanted: &Charge) -> Result<(), Failure> {
    let number = Decimal::parse(&wanted.amount);
    let number = number.map_err(|_no_number| format!("the amount {} is no number such as 29.90", wanted.amount))?;
    let consumer = wanted.consumer.read()?;
    let url = wanted.checkout.url(cli, "")?;
    let service = client::open(cli, &wanted.checkout.service, &[&url])?;
    let amount = Amount::from_decimal(currency(cli, &service, wanted).await?, &number)
        .map_err(|error| format!("the amount {} is refused: {error}", wanted.amount))?;
    let (id, currency) = (wanted.id, amount.currency());
    let reference = reference(wanted)?;
    let request = request(wanted, &service.merchant_id, &reference, &amount, &consumer)?;
    let answer =
        service.post_to(&url, request).await.map_err(|failure| format!("{failure}\n{}", unknown(&reference)))?;
    let status = answer.status;
    let mut paid = answer.json_or(&format!("POST {url}"), |refusal| refused(id, &reference, status, refusal))?;
    if wanted.output.json {
        paid["ContractId"] = id.to_string().into();
        paid["ReferenceId"] = reference.into();
        return say(&paid.to_string());
    }
    let order = paid["OrderId"].as_str().unwrap_or_default();
    say(&format!("{amount} {currency} {}. Order {order}, ReferenceId {reference}.", outcome(id, &paid)))
}

/// The ReferenceId. A new one is said before the charge, so that it is known however the command ends.
fn reference(wanted: &Charge) -> Result<String, Failure> {
    if let Some(given) = &wanted.reference {
        return Ok(given.clone());
    }
    let new = format!("charge-{}", SystemIds.random());
    writeln!(io::stderr(), "Charging with --reference {new}")?;
    Ok(new)
}

/// The contract's currency. The query takes the permission that the charge takes.
async fn currency(cli: &Cli, service: &ServiceClient, wanted: &Charge) -> Result<Currency, Failure> {
    let query = json!({ "MerchantId": service.merchant_id, "ContractId": wanted.id.to_string() });
    let url = wanted.checkout.url(cli, "/query")?;
    let answer = service.post_to(&url, query.to_string()).await?;
    let found = answer.json_or(&format!("POST {url}"), |refusal| advice(wanted.id, refusal))?;
    Ok(found["Contract"]["Currency"].as_str().unwrap_or_default().parse()?)
}

fn request(
    wanted: &Charge,
    merchant: &str,
    reference: &str,
    amount: &Amount,
    consumer: &RawValue,
) -> Result<String, Failure> {
    let price = RawValue::from_string(amount.to_string())?;
    Ok(serde_json::to_string(&Request {
        merchant_id: merchant,
        contract_id: wanted.id.to_string(),
        reference_id: reference,
        consumer_currency: amount.currency().code(),
        capture: !wanted.reserve,
        consumer,
        items: [Item { description: &wanted.description, consumer_price: price, quantity: 1 }],
    })?)
}

/// What became of the amount.
fn outcome(id: ContractId, paid: &Value) -> String {
    let is = |member: &str| paid[member] == true;
    if is("Captured") {
        return "was captured".to_owned();
    }
    match (is("Authorized"), is("UnderReview")) {
        (true, true) => "is reserved, and held for review".to_owned(),
        (true, false) if is("Completed") => "is reserved; capture it later".to_owned(),
        (true, false) => "is reserved, and is being captured".to_owned(),
        (false, _) => format!(
            "has no outcome yet. Charge it no second time: the settler asks the processor, and `dropin contract show {id}` shows what came of it"
        ),
    }
}

/// What to do when nobody knows whether the charge happened.
fn unknown(reference: &str) -> String {
    format!(
        "It is not known whether the contract was charged. Repeat the command with --reference {}: the same reference charges nothing twice.",
        quoted(reference)
    )
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// What to do about a charge that was refused, or that the service does not know the outcome of.
fn refused(id: ContractId, reference: &str, status: u16, refusal: &Value) -> Option<String> {
    let order = refusal["OrderId"].as_str().map(|order| format!(" Order {order}, ReferenceId {reference}."));
    let order = order.unwrap_or_default();
    match refusal["Code"].as_str().unwrap_or_default() {
        "PAYMENT_DECLINED" => Some(format!(
            "The charge failed; nothing was charged.{order} Try again later with another --reference; `dropin contract show {id}` shows whether the \
             contract is still ACTIVE."
        )),
        "SHOPPER_AUTHENTICATION_REQUIRED" => Some(format!(
            "The issuer wants the shopper to authenticate; nothing was charged.{order} Bring the shopper back: create a Session with \
             ContractId {id}, in which the shopper authenticates or takes another card."
        )),
        "DUPLICATE_MERCHANT_REFERENCE_ID" => Some(format!(
            "The reference {reference} was used before: this command charged nothing. `dropin contract show {id}` shows the Orders of the contract \
             with their references. To charge once more, give another --reference."
        )),
        _ if status >= 500 => Some(unknown(reference)),
        _ => advice(id, refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Cli, Command};
    use super::super::ContractCommand;
    use super::*;

    use clap::Parser;

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    const WHO: [&str; 10] =
        ["--name", "Ana", "--email", "a@b.example", "--address", "Street 1", "--city", "Berlin", "--country", "DE"];

    fn parse(more: &[&str]) -> Charge {
        let line = [&["dropin", "contract", "charge", ID, "29.9"], more].concat();
        match Cli::parse_from(line).command {
            Some(Command::Contract(ContractCommand::Charge(charge))) => *charge,
            _ => panic!("{more:?}"),
        }
    }

    fn consumer(more: &[&str]) -> Result<String, String> {
        parse(more).consumer.read().map(|json| json.get().to_owned()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_shopper_is_given_in_one_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("consumer.json");
        let path = file.to_str().expect("a path");
        let given = consumer(&WHO).expect("a shopper");
        assert_eq!(
            given,
            r#"{"Address":"Street 1","City":"Berlin","Country":"DE","Email":"a@b.example","Name":"Ana"}"#
        );
        fs::write(&file, format!("{given}\n")).expect("written");
        assert_eq!(consumer(&["--consumer-file", path]), Ok(given));
        let both = consumer(&["--consumer-file", path, "--city", "Berlin"]).expect_err("both");
        assert!(both.contains("once"), "{both}");
        let none = consumer(&[]).expect_err("nobody");
        assert!(
            none.contains("--consumer-file") && none.ends_with("--name, --email, --address, --city, --country"),
            "{none}"
        );
        let half = consumer(&WHO[..8]).expect_err("no country");
        assert!(half.ends_with("missing: --country"), "{half}");
        fs::write(&file, "[]").expect("written");
        let wrong = consumer(&["--consumer-file", path]).expect_err("a list");
        assert!(wrong.contains("does not hold a JSON object"), "{wrong}");
        let nowhere = consumer(&["--consumer-file", "/nowhere.json"]).expect_err("no file");
        assert!(nowhere.contains("/nowhere.json cannot be read"), "{nowhere}");
    }

    #[test]
    fn the_amount_is_an_exact_number() {
        let wanted = parse(&WHO);
        let amount = "999999999999.99 USD".parse().expect("an amount");
        let consumer = wanted.consumer.read().expect("a shopper");
        let request = request(&wanted, "m", "r", &amount, &consumer).expect("JSON");
        assert!(
            request.contains(r#""Capture":true"#) && request.contains(r#""ConsumerPrice":999999999999.99,"#),
            "{request}"
        );
    }

    #[test]
    fn refusals_say_what_to_do() {
        let id = ID.parse().expect("an id");
        let said = |status, code: &str| {
            let refusal = json!({ "Code": code, "OrderId": "o1" });
            refused(id, "r 1", status, &refusal).unwrap_or_else(|| panic!("{code}"))
        };
        let declined = said(402, "PAYMENT_DECLINED");
        assert!(
            declined.contains("Order o1, ReferenceId r 1") && declined.contains("another --reference"),
            "{declined}"
        );
        assert!(said(402, "SHOPPER_AUTHENTICATION_REQUIRED").contains(&format!("Session with ContractId {ID}")));
        assert!(said(409, "DUPLICATE_MERCHANT_REFERENCE_ID").contains("r 1 was used before"));
        assert!(said(409, "INVALID_CONTRACT_STATE").contains("dropin contract show"));
        assert!(said(503, "OUTCOME_UNKNOWN").contains("--reference 'r 1': the same reference charges nothing twice"));
        assert_eq!(refused(id, "r", 429, &json!({ "Code": "RATE_LIMITED" })), None);
    }

    #[test]
    fn what_became_of_the_amount_is_said() {
        let id = ID.parse().expect("an id");
        let of = |authorized: bool, captured: bool, completed: bool, review: bool| {
            outcome(
                id,
                &json!({ "Authorized": authorized, "Captured": captured, "Completed": completed, "UnderReview": review }),
            )
        };
        assert_eq!(of(true, true, true, false), "was captured");
        assert_eq!(of(true, false, true, false), "is reserved; capture it later");
        assert_eq!(of(true, false, false, false), "is reserved, and is being captured");
        assert_eq!(of(true, false, false, true), "is reserved, and held for review");
        assert!(of(false, false, false, false).contains("no outcome yet"));
    }
}
