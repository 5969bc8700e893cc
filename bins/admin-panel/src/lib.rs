#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod amounts;
mod assemble;
mod assets;
mod escape;
mod event_runs;
mod fields;
mod guard;
mod ledger_runs;
mod live;
mod page;
mod refusal;
mod request;
mod routes;
mod sandbox;
mod screens;
mod show;
mod texts;
mod totals;

use std::sync::{Arc, Once};

use actix_web::web;
use dropin_http::Flows;
use dropin_kernel::ProcessorId;
use dropin_ports::{
    AccessStore, ActivityStore, AuditLog, AuditStore, BackOfficeStore, BacklogStore, Clock, IdSource,
    ProcessorAccountStore, RateStore, ScreeningStore, SessionStore, WebhookSender,
};
use dropin_usecases::access::Merchants;
use dropin_usecases::audit::Audit;
use dropin_usecases::contracts::Contracts;
use dropin_usecases::disputes::Disputes;
use dropin_usecases::notifications::Notifications;
use dropin_usecases::operators::Operators;
use dropin_usecases::payments::Payments;
use dropin_usecases::screening::ScreeningRules;
use dropin_usecases::wallet::WalletSetup;
use tokio::sync::watch;

pub use assemble::{AdminPanelArgs, FirstOperator, assemble, assemble_with};
pub use routes::{Access, PanelRoute, ROUTES};
pub use sandbox::{SandboxServices, ServiceAddressArgs};

use event_runs::EventRuns;
use ledger_runs::LedgerRuns;
use live::LivePages;
use totals::DayTotals;

/// What the panel works with.
#[derive(Clone)]
pub struct PanelDeps {
    /// Who signs in.
    pub operators: Operators,
    /// Orders and what is asked of them.
    pub payments: Payments,
    /// Contracts.
    pub contracts: Contracts,
    /// Disputes.
    pub disputes: Disputes,
    /// The names of the deployment's processors, the main one first.
    pub processors: Arc<[ProcessorId]>,
    /// Accounts that merchants have of their own at processors.
    pub processor_accounts: Arc<dyn ProcessorAccountStore>,
    /// Notifications.
    pub notifications: Notifications,
    /// Merchants' accounts.
    pub merchants: Merchants,
    /// The same, to be read.
    pub access: Arc<dyn AccessStore>,
    /// The rules that payments are screened by.
    pub screening_rules: Arc<ScreeningRules>,
    /// What screening made of payments.
    pub screenings: Arc<dyn ScreeningStore>,
    /// Sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Everything about one Order.
    pub audit: Arc<dyn AuditStore>,
    /// Who did what.
    pub audit_log: Arc<dyn AuditLog>,
    /// Searches.
    pub back_office: Arc<dyn BackOfficeStore>,
    /// Whether anything happened.
    pub activity: Arc<dyn ActivityStore>,
    /// What waits for endpoints.
    pub backlog: Arc<dyn BacklogStore>,
    /// Exchange rates.
    pub rates: Arc<dyn RateStore>,
    /// What merchants have for the mobile wallet.
    pub wallets: WalletSetup,
    /// Sends tests to endpoints.
    pub webhooks: Arc<dyn WebhookSender>,
    /// Compares the ledger.
    pub ledger: Audit,
    /// Where money flows run.
    pub flows: Flows,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids.
    pub ids: Arc<dyn IdSource>,
    /// Becomes `true` when the process shall stop.
    pub stop: watch::Receiver<bool>,
    /// Whether no money moves.
    pub sandbox: bool,
    /// Where events of a sandbox are made to happen, if they are.
    pub sandbox_services: Option<SandboxServices>,
    /// Whether browsers reach the panel over TLS.
    pub is_https: bool,
}

/// Mounts the panel.
pub fn configure(deps: PanelDeps) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    let totals = web::Data::new(DayTotals::new(deps.back_office.clone()));
    let comparisons = web::Data::new(LedgerRuns::default());
    let events = web::Data::new(EventRuns::default());
    let live = web::Data::new(LivePages::new(deps.activity.clone(), deps.clock.clone()));
    let warmed = Arc::new(Once::new());
    move |config| {
        warmed.call_once(|| totals.warm(totals::day_of(deps.clock.now()), screens::overview::LONGEST_SPAN_DAYS));
        config.app_data(web::Data::new(deps.clone())).app_data(totals.clone()).app_data(comparisons.clone());
        config.app_data(live.clone()).app_data(events.clone());
        routes::mount(config);
    }
}
