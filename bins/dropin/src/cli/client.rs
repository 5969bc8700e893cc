//! The running service as a merchant's server and a shopper's browser reach it: over HTTP.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use awc::{Client, ClientRequest, Connector};
use clap::Args;
use demo_shop::Credentials;
use dropin_boot::{Failure, Secret};
use rustls::ClientConfig;
use serde_json::Value;

use super::Cli;
use crate::plan::{self, Addresses, Parts};

/// How a command reaches the running service, and as which merchant.
#[derive(Debug, Args)]
pub(crate) struct ServiceFlags {
    /// File with the merchant's credentials, as `merchant create --json` prints them [default: demo-merchant.json in the data folder]
    #[arg(long, env = "DROPIN_MERCHANT_FILE", value_name = "FILE")]
    pub(crate) merchant_file: Option<PathBuf>,
    /// Address of the Session and Order APIs ({base_url}) [default: that of a service started with the same settings]
    #[arg(long, env = "DROPIN_BASE_URL", value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

impl ServiceFlags {
    /// The address of a part of the service: the given one, else below --base-url as one process has it, else that of a service started with the same
    /// settings.
    pub(super) fn part(
        &self,
        cli: &Cli,
        given: Option<&String>,
        prefix: &str,
        found: impl FnOnce(Addresses) -> String,
    ) -> Result<String, Failure> {
        let below = || self.base_url.as_ref().map(|base| format!("{}{prefix}", base.trim_end_matches('/')));
        match given.cloned().or_else(below) {
            Some(url) => Ok(url.trim_end_matches('/').to_owned()),
            None => Ok(found(addresses(cli)?)),
        }
    }

    /// {checkout_url}.
    pub(super) fn checkout(&self, cli: &Cli, given: Option<&String>) -> Result<String, Failure> {
        let given = given.or(cli.serve.checkout_url.as_ref());
        self.part(cli, given, plan::PREFIXES.checkout, |addresses| addresses.checkout)
    }
}

/// Longer than the service takes to ask a slow processor.
const TIMEOUT: Duration = Duration::from_secs(40);
/// Largest answer that is read: a page of 200 events.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// A merchant's way to the service.
pub(super) struct ServiceClient {
    /// `{base_url}`.
    pub(super) base: String,
    /// As whom.
    pub(super) credentials: Credentials,
    merchant: Client,
    anonymous: Client,
}

/// What the service answered.
pub(super) struct ServiceResponse {
    pub(super) status: u16,
    /// Seconds to wait before asking again, where the service says so.
    pub(super) retry_after: Option<u64>,
    /// Where the answer sends a browser.
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
}

impl ServiceClient {
    /// Finds the service and the merchant's credentials as `flags` or the settings of a service say. `others` are the addresses that are called beside
    /// its own.
    pub(super) fn open(cli: &Cli, flags: &ServiceFlags, others: &[&str]) -> Result<Self, Failure> {
        let file = flags.merchant_file.clone().unwrap_or_else(|| plan::merchant_file(cli));
        let credentials = Credentials::read(&file)?.ok_or_else(|| {
            let file = file.display();
            format!("there are no credentials at {file}: give the service's --data folder, or a file with what `dropin merchant create --json` printed as --merchant-file")
        })?;
        let base = match &flags.base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => addresses(cli)?.base,
        };
        let secure = [base.as_str()].into_iter().chain(others.iter().copied()).find(|url| url.starts_with("https://"));
        let tls = secure.map_or(Ok(None), demo_shop::client_config)?;
        let Credentials { username, password, .. } = &credentials;
        let merchant = client(tls.clone(), Some((username, password)));
        Ok(Self { base, merchant, anonymous: client(tls, None), credentials })
    }

    /// A merchant's call to `path` below {base_url}; any answer.
    ///
    /// # Errors
    /// There was no answer.
    pub(super) async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ServiceResponse, Failure> {
        let url = format!("{}{path}", self.base);
        send(request(&self.merchant, method, &url)?, body.map(Body::Json), &url).await
    }

    /// A merchant's call whose answer has to be a success with JSON.
    pub(super) async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let reply = self.try_call(method, path, body).await?;
        reply.json(&format!("{method} {}{path}", self.base))
    }

    /// A merchant's search at `path` below {base_url}; any answer.
    pub(super) async fn search(&self, path: &str, query: &[(&str, &str)]) -> Result<ServiceResponse, Failure> {
        let url = format!("{}{path}", self.base);
        send(request(&self.merchant, "GET", &url)?.query(&query)?, None, &url).await
    }

    /// A merchant's call to a whole address, with JSON that is sent as it is written; any answer.
    pub(super) async fn post_to(&self, url: &str, json: String) -> Result<ServiceResponse, Failure> {
        send(request(&self.merchant, "POST", url)?, Some(Body::Written(json)), url).await
    }

    /// What an operator asks the sandbox processor at a whole address, with its key; an answer that has to be a success with JSON.
    pub(super) async fn ask_processor(
        &self,
        method: &str,
        url: &str,
        key: &Secret,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let request = request(&self.anonymous, method, url)?.bearer_auth(key.expose());
        send(request, body.map(Body::Json), url).await?.json(&format!("{method} {url}"))
    }

    /// What a browser does without credentials: any answer, redirects not followed.
    pub(super) async fn browse(
        &self,
        method: &str,
        url: &str,
        body: Option<Body<'_>>,
    ) -> Result<ServiceResponse, Failure> {
        send(request(&self.anonymous, method, url)?, body, url).await
    }
}

/// The addresses of a service that was started with the same settings.
pub(super) fn addresses(cli: &Cli) -> Result<Addresses, Failure> {
    if cli.serve.listen.port() == 0 && cli.serve.base_url.is_none() {
        return Err(
            "only the running service knows its port: its first lines say it; give its address with --base-url".into(),
        );
    }
    Addresses::find(cli, &Parts::chosen(cli)?, cli.serve.listen, None)
}

/// What a request carries.
pub(super) enum Body<'a> {
    Json(&'a Value),
    /// JSON that is sent as it is written, so that its numbers stay exact.
    Written(String),
    Form(&'a [(&'a str, &'a str)]),
}

impl ServiceResponse {
    /// The answer as JSON.
    ///
    /// # Errors
    /// It is a refusal, with its words; or no JSON.
    pub(super) fn json(&self, what: &str) -> Result<Value, Failure> {
        let body = serde_json::from_slice::<Value>(&self.body);
        match (self.status, body) {
            (200..=299, Ok(body)) => Ok(body),
            (status, Ok(refusal)) if refusal["Code"].is_string() => Err(refused(what, status, &refusal).into()),
            (status, _) => Err(format!("{what} answered {status} and no JSON: is that the address of Dropin?").into()),
        }
    }

    /// The same; where it is a refusal, with what `advice` says to do about its Error object.
    pub(super) fn json_or(&self, what: &str, advice: impl FnOnce(&Value) -> Option<String>) -> Result<Value, Failure> {
        self.json(what).map_err(|failure| {
            let refusal = serde_json::from_slice(&self.body).unwrap_or_default();
            match advice(&refusal) {
                Some(advice) => format!("{failure}\n{advice}").into(),
                None => failure,
            }
        })
    }
}

fn refused(what: &str, status: u16, refusal: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().escape_debug().to_string();
    let fields: String = refusal["FieldErrors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|field| format!("; {} {}", text(&field["Field"]), text(&field["Message"])))
        .collect();
    format!("{what} answered {status} {}: {}{fields}", text(&refusal["Code"]), text(&refusal["Message"]))
}

/// A client that follows no redirect.
pub(super) fn client(tls: Option<Arc<ClientConfig>>, login: Option<(&str, &str)>) -> Client {
    let mut builder = Client::builder().timeout(TIMEOUT).disable_redirects();
    if let Some((username, password)) = login {
        builder = builder.basic_auth(username, Some(password));
    }
    match tls {
        Some(tls) => builder.connector(Connector::new().rustls_0_23(tls)).finish(),
        None => builder.finish(),
    }
}

fn request(client: &Client, method: &str, url: &str) -> Result<ClientRequest, Failure> {
    let method = method.parse().map_err(|_no_method| format!("{method} is no HTTP method"))?;
    Ok(client.request(method, url).insert_header((header::ACCEPT, "application/json, text/html")))
}

async fn send(request: ClientRequest, body: Option<Body<'_>>, url: &str) -> Result<ServiceResponse, Failure> {
    let sent = match body {
        Some(Body::Json(body)) => request.send_json(body).await,
        Some(Body::Written(json)) => request.content_type("application/json").send_body(json).await,
        Some(Body::Form(pairs)) => request.send_form(&pairs).await,
        None => request.send().await,
    };
    let no_answer =
        |error: &dyn std::fmt::Display| format!("{url} gave no answer ({error}): see that the service runs");
    let mut answer = sent.map_err(|error| no_answer(&error))?;
    let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (retry_after, location) = (text(header::RETRY_AFTER), text(header::LOCATION));
    let body = answer.body().limit(MAX_RESPONSE_BYTES).await.map_err(|error| no_answer(&error))?.to_vec();
    let retry_after = retry_after.and_then(|seconds| seconds.parse().ok());
    Ok(ServiceResponse { status: answer.status().as_u16(), retry_after, location, body })
}
