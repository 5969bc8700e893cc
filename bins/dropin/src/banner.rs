//! What a person reads after the start.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use demo_shop::Credentials;
use dropin_boot::{Failure, Mode, is_json, json_text};

use crate::cli::{Cli, Target};
use crate::plan::{Addresses, Parts, merchant_file};
use crate::serve::AdminAddress;

/// Prints addresses, credentials and one command to try.
pub(crate) fn print(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    demo: Option<&Credentials>,
    admin: Option<&AdminAddress>,
) -> Result<(), Failure> {
    let text = match is_json() {
        true => compose_json(cli, parts, addresses, demo, admin) + "\n",
        false => compose(cli, parts, addresses, demo, admin)?,
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

const SANDBOX: &str = "Dropin runs as a sandbox: no money moves, and only published test cards work.";
const PRODUCTION: &str = "Dropin runs.";

/// What runs where: a name for people, one for programs, and the address.
fn address_rows(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    demo: Option<&Credentials>,
    admin: Option<&AdminAddress>,
) -> Vec<[String; 3]> {
    let Addresses { base, checkout, public, processor } = addresses;
    let row = |is_there: bool, name: &str, value: &str| {
        is_there.then(|| [name.to_owned(), name.to_lowercase().replace([' ', '-'], "_"), value.to_owned()])
    };
    let shop = demo.and_then(|demo| demo.shop_url.as_deref());
    let rows = [
        row(shop.is_some(), "Demo shop", shop.unwrap_or_default()),
        row(admin.is_some(), "Admin panel", admin.map_or("", |admin| admin.url.as_str())),
        row(parts.has(Target::SessionApi), "Session API", base),
        row(parts.has(Target::CheckoutApi), "Checkout", checkout),
        row(parts.has(Target::CheckoutApi), "Drop-in script", &format!("{}/v1/dropin.js", public.asset)),
        row(parts.has(Target::StashApi), "Stash", &public.stash),
        row(parts.need_processor(), "Processor", processor),
        row(true, "Data", &cli.store.data.display().to_string()),
    ];
    rows.into_iter().flatten().collect()
}

fn headline(cli: &Cli) -> &'static str {
    match cli.mode.mode() {
        Mode::Sandbox => SANDBOX,
        Mode::Production => PRODUCTION,
    }
}

/// One line for what collects logs. Other than on a terminal the password is not in it: the file that holds it is.
fn compose_json(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    demo: Option<&Credentials>,
    admin: Option<&AdminAddress>,
) -> String {
    let address_rows =
        address_rows(cli, parts, addresses, demo, admin).into_iter().map(|[_, name, value]| (name, value));
    let mut members: serde_json::Map<_, _> = address_rows.map(|(name, value)| (name, value.into())).collect();
    if let Some(demo) = demo {
        members.insert("merchant_id".to_owned(), demo.merchant_id.clone().into());
        members.insert("credentials_file".to_owned(), merchant_file(cli).display().to_string().into());
    }
    json_text("INFO", headline(cli), members)
}

fn compose(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    demo: Option<&Credentials>,
    admin: Option<&AdminAddress>,
) -> Result<String, Failure> {
    let mut text = format!("{}\n\n", headline(cli));
    let mut row = |name: &str, value: &str| writeln!(text, "  {name:<16}{value}");
    for [name, _, value] in address_rows(cli, parts, addresses, demo, admin) {
        row(&name, &value)?;
    }
    if let Some(demo) = demo {
        row("MerchantId", &demo.merchant_id)?;
        row("User name", &demo.username)?;
        row("Password", &demo.password)?;
        row("", &format!("(kept in {})", merchant_file(cli).display()))?;
        if parts.has(Target::SessionApi) {
            writeln!(text, "\nCreate a Session:\n\n{}", curl(&addresses.base, demo))?;
        }
        if let Some(shop) = &demo.shop_url {
            writeln!(
                text,
                "\nOr open {shop}, pick something and pay with test card 4242 (four times), any future date and any code."
            )?;
        }
    } else if parts.has(Target::SessionApi) {
        writeln!(text, "\nMerchants are created with `dropin merchant create --name NAME`.")?;
    }
    if let Some(link) = admin.and_then(|admin| admin.first_operator.as_deref()) {
        writeln!(text, "\nBecome the first operator of the admin panel, by a link that works once:\n\n  {link}")?;
    }
    writeln!(text, "\nCtrl-c stops.")?;
    Ok(text)
}

/// One command that works as often as it is pasted: every run has a MerchantReference of its own.
fn curl(base: &str, demo: &Credentials) -> String {
    let Credentials { username, password, .. } = demo;
    let shop = demo.shop_url.as_deref().unwrap_or("https://shop.example");
    format!(
        r#"curl -sS -u '{username}:{password}' -H 'Content-Type: application/json' {base}/v1/session -d '{{
  "MerchantReference": "try-'"$(date +%s)-$$"'", "AutoCapture": true, "Currency": "EUR",
  "CompleteUrl": "{shop}/", "CancelUrl": "{shop}/",
  "Items": [{{"Name": "Postcard", "Amount": 2.50, "Quantity": 1}}],
  "BillingProfile": {{"Name": "Ada Lovelace", "Email": "ada@example.com",
    "Address": {{"Street": "Unter den Linden 1", "City": "Berlin", "Country": "DE"}}}}
}}'"#
    )
}
