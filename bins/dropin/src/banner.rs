//! What a person reads after the start.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use dropin_boot::{Failure, Mode};

use crate::cli::{Cli, Target};
use crate::demo::Credentials;
use crate::plan::{Addresses, Parts, merchant_file};

/// Prints addresses, credentials and one command to try.
pub(crate) fn print(
    cli: &Cli,
    parts: &Parts,
    addresses: &Addresses,
    demo: Option<&Credentials>,
) -> Result<(), Failure> {
    let text = compose(cli, parts, addresses, demo)?;
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn compose(cli: &Cli, parts: &Parts, addresses: &Addresses, demo: Option<&Credentials>) -> Result<String, Failure> {
    let mut text = String::new();
    match cli.mode.mode {
        Mode::Sandbox => {
            writeln!(text, "Dropin runs as a sandbox: no money moves, and only published test cards work.\n")?
        }
        Mode::Production => writeln!(text, "Dropin runs.\n")?,
    }
    let Addresses { base, checkout, public, processor } = addresses;
    let mut row = |name: &str, value: &str| writeln!(text, "  {name:<16}{value}");
    if let Some(shop) = demo.and_then(|demo| demo.shop_url.as_ref()) {
        row("Demo shop", shop)?;
    }
    if parts.has(Target::SessionApi) {
        row("Session API", base)?;
    }
    if parts.has(Target::CheckoutApi) {
        row("Checkout", checkout)?;
        row("Drop-in script", &format!("{}/v1/dropin.js", public.asset))?;
    }
    if parts.has(Target::StashApi) {
        row("Stash", &public.stash)?;
    }
    if parts.need_processor() {
        row("Processor", processor)?;
    }
    row("Data", &cli.store.data.display().to_string())?;
    if let Some(demo) = demo {
        row("MerchantId", &demo.merchant_id)?;
        row("User name", &demo.username)?;
        row("Password", &demo.password)?;
        row("", &format!("(kept in {})", merchant_file(cli).display()))?;
        if parts.has(Target::SessionApi) {
            writeln!(text, "\nCreate a Session:\n\n{}", curl(base, demo))?;
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
