//! The program around the processor: flags, listener, access lines, stopping.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, HttpResponse, HttpServer, web};
use dropin_private_file::PrivacyError;

use crate::{Config, Hosting, OpenStoreError, SandboxProcessor, Waits, WalletAuthority, WalletError, http};

/// How long running calls may take to finish after a stop signal, in seconds.
const STOP_SECONDS: u64 = 5;
/// Where the key may stand when there is no key file; no flag, because flags can be read by every user of the machine.
const KEY_VARIABLE: &str = "SANDBOX_PROCESSOR_KEY";

/// A payment processor that moves no money: for tests, demonstrations and development.
#[derive(Debug, clap::Parser)]
#[command(
    name = "sandbox-processor",
    version,
    after_help = "The bearer key comes from --key-file or from the environment variable SANDBOX_PROCESSOR_KEY."
)]
pub struct Arguments {
    /// Address to listen on; loopback only
    #[arg(long, env = "SANDBOX_PROCESSOR_LISTEN", default_value = "127.0.0.1:8086")]
    pub listen: SocketAddr,
    /// SQLite file of the processor's own books
    #[arg(long, env = "SANDBOX_PROCESSOR_DATABASE", default_value = "./dropin-data/processor.db")]
    pub database: PathBuf,
    /// File with the bearer key that callers must present
    #[arg(long, env = "SANDBOX_PROCESSOR_KEY_FILE")]
    pub key_file: Option<PathBuf>,
    /// How long pending captures and refunds take, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_CAPTURE_DELAY_MS", default_value_t = 3_000)]
    pub capture_delay_ms: u64,
    /// How long callers are left without an answer where a test number asks for it, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_SILENCE_MS", default_value_t = 60_000)]
    pub silence_ms: u64,
    /// Address of this processor in a shopper's browser, the prefix included [default: as the caller reached it]
    #[arg(long, env = "SANDBOX_PROCESSOR_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// How long a 3-D Secure challenge waits for the shopper, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_CHALLENGE_MS", default_value_t = 900_000)]
    pub challenge_ms: u64,
    /// How long the other pages wait for the shopper, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_PAGE_MS", default_value_t = 172_800_000)]
    pub page_ms: u64,
    /// How long before its end a pay-later page stops taking payments, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_PAY_MARGIN_MS", default_value_t = 3_600_000)]
    pub pay_margin_ms: u64,
    /// How long a pay-later review takes, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_REVIEW_MS", default_value_t = 3_000)]
    pub review_ms: u64,
    /// How a pay-later review ends by itself
    #[arg(long, env = "SANDBOX_PROCESSOR_REVIEW_DECISION", default_value = "approve", value_parser = ["approve", "decline"])]
    pub review_decision: String,
    /// Address on which to play the mobile wallet's provider too, over TLS with client certificates; loopback only [default: none]
    #[arg(long, env = "SANDBOX_PROCESSOR_WALLET_LISTEN")]
    pub wallet_listen: Option<SocketAddr>,
    /// Folder of the wallet provider's certificates [default: wallet beside the SQLite file]
    #[arg(long, env = "SANDBOX_PROCESSOR_WALLET_FOLDER")]
    pub wallet_folder: Option<PathBuf>,
    /// How long the money of a bank transfer is waited for, in milliseconds
    #[arg(long, env = "SANDBOX_PROCESSOR_TRANSFER_MS", default_value_t = 1_209_600_000)]
    pub transfer_ms: u64,
}

impl Arguments {
    fn wallet(&self) -> Result<Option<WalletAuthority>, RunError> {
        if self.wallet_listen.is_none() {
            return Ok(None);
        }
        let beside = || self.database.parent().unwrap_or(Path::new(".")).join("wallet");
        Ok(Some(WalletAuthority::open(&self.wallet_folder.clone().unwrap_or_else(beside))?))
    }

    fn hosting(&self, wallet: Option<WalletAuthority>) -> Hosting {
        let waits = Waits {
            challenge: Duration::from_millis(self.challenge_ms),
            page: Duration::from_millis(self.page_ms),
            pay_margin: Duration::from_millis(self.pay_margin_ms),
            review: Duration::from_millis(self.review_ms),
            review_approves: self.review_decision == "approve",
            transfer: Duration::from_millis(self.transfer_ms),
        };
        Hosting { public_url: self.public_url.clone(), waits, wallet }
    }
}

/// Why the program does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The listener would be reachable from other machines.
    #[error("{0} is not a loopback address; the sandbox listens on 127.0.0.1 or [::1] only")]
    NotLoopback(SocketAddr),
    /// There is no bearer key.
    #[error("no bearer key; set {KEY_VARIABLE} or name a file with --key-file")]
    NoKey,
    /// The key file cannot be read, or other users may open it.
    #[error("the key file: {0}")]
    KeyFile(#[from] PrivacyError),
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenStoreError),
    /// The wallet's provider cannot be played.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The address is taken, or the server broke.
    #[error("cannot serve on {listen}: {source}")]
    Serve {
        /// The configured address.
        listen: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Serves until SIGTERM or ctrl-c, then lets running calls finish.
///
/// # Errors
/// [`RunError`], each with what to do about it.
pub async fn run(arguments: Arguments) -> Result<(), RunError> {
    let listen = arguments.listen;
    for listen in [Some(listen), arguments.wallet_listen].into_iter().flatten() {
        if !listen.ip().is_loopback() {
            return Err(RunError::NotLoopback(listen));
        }
    }
    let (wallet, wallet_listen) = (arguments.wallet()?, arguments.wallet_listen);
    let hosting = arguments.hosting(wallet.clone());
    let config = Config {
        key: read_key(arguments.key_file)?,
        database: arguments.database,
        capture_delay: Duration::from_millis(arguments.capture_delay_ms),
        silence: Duration::from_millis(arguments.silence_ms),
    };
    let processor = SandboxProcessor::open_with(config, hosting)?;
    if let Some((wallet, listen)) = wallet.zip(wallet_listen) {
        let listener = TcpListener::bind(listen).map_err(|source| RunError::Serve { listen, source })?;
        actix_web::rt::spawn(wallet.serve(listener)?);
        log::info!(
            "playing the wallet's provider on https://{listen}; its root is in {}",
            wallet.root_file().display()
        );
    }
    let failed = |source| RunError::Serve { listen, source };
    let listener = TcpListener::bind(listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let server = HttpServer::new(move || {
        App::new()
            .wrap(from_fn(access_line))
            .route("/healthz", web::get().to(|| async { HttpResponse::Ok().body("ok\n") }))
            .configure(processor.configure())
            .default_service(web::to(http::no_route))
    })
    .workers(2)
    .shutdown_timeout(STOP_SECONDS)
    .disable_signals()
    .listen(listener)
    .map_err(failed)?
    .run();
    let handle = server.handle();
    actix_web::rt::spawn(async move {
        stop_signal().await;
        log::info!("stopping; running calls have {STOP_SECONDS} s");
        handle.stop(true).await;
    });
    log::info!("listening on http://{address}");
    server.await.map_err(failed)
}

fn read_key(file: Option<PathBuf>) -> Result<String, RunError> {
    match file {
        Some(path) => Ok(dropin_private_file::read(&path)?.trim().to_owned()),
        None => std::env::var(KEY_VARIABLE).map_err(|_unset| RunError::NoKey),
    }
}

/// Waits for ctrl-c, or for SIGTERM where there is such a thing.
async fn stop_signal() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupted => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    if interrupted.await.is_err() {
        // No signals here: the program stops when it is ended.
        std::future::pending::<()>().await;
    }
}

/// What a settler asks for every two seconds.
pub const POLLED_PATHS: &[&str] = &["/v1/disputes"];

/// One line of the access log, written when it is dropped: also when the caller went away before the answer. What is polled is told from level debug on,
/// unless it goes wrong.
struct AccessLine {
    started: Instant,
    method: Method,
    route: String,
    status: Option<u16>,
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let milliseconds = self.started.elapsed().as_millis();
        match self.status {
            Some(status) => {
                let is_polled =
                    self.method == Method::GET && POLLED_PATHS.contains(&self.route.as_str()) && status < 400;
                let level = if is_polled { log::Level::Debug } else { log::Level::Info };
                log::log!(level, "{} {} {status} {milliseconds}ms", self.method, self.route);
            }
            None => log::info!("{} {} closed-by-caller {milliseconds}ms", self.method, self.route),
        }
    }
}

/// Logs the route's pattern, never the address as it was written: somebody may have written a card number there.
async fn access_line(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let mut line = AccessLine {
        started: Instant::now(),
        method: request.method().clone(),
        route: request.request().match_pattern().unwrap_or_else(|| "(no route)".to_owned()),
        status: None,
    };
    let answer = next.call(request).await;
    line.status = Some(match &answer {
        Ok(answer) => answer.status().as_u16(),
        Err(error) => error.as_response_error().status_code().as_u16(),
    });
    answer
}
