//! Operators: the people who sign in to the admin panel, how they come in, and who manages them.

mod accept;
mod acts;
mod credentials;
mod invite;
mod manage;
mod money;
mod passwords;
mod refunds;
mod sessions;
mod sign_in;
mod throttle;
mod tokens;
mod totp;

use std::net::IpAddr;
use std::sync::Arc;

use dropin_access::operator::{
    ActionRefused, Operator, OperatorSession, PanelAction, PasswordRefused, SessionStage, check_password,
};
use dropin_kernel::{MerchantId, OperatorId, OperatorSessionId, Violation, ViolationCode, Violations};
use dropin_ports::{Clock, IdSource, NewOperatorSession, OperatorStore, Secrets};
use dropin_validation::{Email, Text};

pub use accept::{AcceptError, AcceptanceForm, Accepted, Enrolment, InvitationView};
pub use credentials::{CredentialsReplaced, ReplaceCredentialsError};
pub use invite::InvitationLink;
pub use manage::{ManageError, ManagedBy, NewOperator, OperatorInvitation};
pub use money::{MoneyError, NewRefundRequest};
pub use passwords::{HashingBusy, PasswordCost};
pub use refunds::{OperatorRefundError, OperatorRefunds, RefundProgress};
pub use sessions::{CurrentOperator, SessionError};
pub use sign_in::{SignInError, SignedIn};

use passwords::PasswordHashing;
use throttle::Throttle;

/// Most characters that are kept of what a browser calls itself.
const MAX_USER_AGENT_CHARS: usize = 200;

/// Whether operators need an authenticator beside the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondFactorPolicy {
    /// Nobody signs in without one: production.
    Required,
    /// An operator may do without: sandboxes.
    Optional,
}

/// Where a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelClient {
    /// Its address.
    pub address: IpAddr,
    /// What the browser calls itself; empty when it says nothing.
    pub user_agent: String,
}

/// Operators of one deployment. Share one in a process: it counts guesses.
#[derive(Clone)]
pub struct Operators {
    store: Arc<dyn OperatorStore>,
    secrets: Arc<dyn Secrets>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    policy: SecondFactorPolicy,
    hashing: Arc<PasswordHashing>,
    throttle: Arc<Throttle>,
}

impl Operators {
    /// Over a store, for a deployment that wants second factors or not.
    pub fn new(
        store: Arc<dyn OperatorStore>,
        secrets: Arc<dyn Secrets>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        policy: SecondFactorPolicy,
        cost: PasswordCost,
    ) -> Self {
        let (hashing, throttle) = (Arc::new(PasswordHashing::new(cost)), Arc::new(Throttle::new()));
        Self { store, secrets, clock, ids, policy, hashing, throttle }
    }

    /// Whether operators need an authenticator beside the password.
    pub const fn policy(&self) -> SecondFactorPolicy {
        self.policy
    }

    /// A new session with its token, which is to be stored nowhere but in the browser.
    fn new_session(
        &self,
        operator: OperatorId,
        stage: SessionStage,
        client: &PanelClient,
    ) -> (String, NewOperatorSession) {
        let (token, now) = (tokens::new_token(&*self.ids), self.clock.now());
        let session = OperatorSession {
            id: OperatorSessionId::new(self.ids.random()),
            operator,
            stage,
            created_at: now,
            seen_at: now,
            client: client.address.to_string(),
            user_agent: client.user_agent.chars().filter(|one| !one.is_control()).take(MAX_USER_AGENT_CHARS).collect(),
        };
        let hash = session_hash(&token);
        (token, NewOperatorSession { session, token: hash })
    }
}

impl CurrentOperator {
    /// Whether it may do `action` about `merchant`'s things; `None` for what is about no single merchant.
    ///
    /// # Errors
    /// [`ActionRefused`].
    pub fn require(&self, action: PanelAction, merchant: Option<MerchantId>) -> Result<(), ActionRefused> {
        self.operator.require(action, merchant)
    }
}

fn session_hash(token: &str) -> dropin_ports::TokenHash {
    tokens::token_hash("session of an operator", token)
}

fn invitation_hash(token: &str) -> dropin_ports::TokenHash {
    tokens::token_hash("invitation of an operator", token)
}

/// Whose secret an authenticator's is, for sealing.
pub(crate) fn authenticator_owner(operator: OperatorId) -> String {
    format!("authenticator of operator {operator}")
}

fn check_name(wrong: &mut Violations, name: &str) -> Option<Text> {
    wrong.check(Text::parse("Name", name))
}

fn check_email(wrong: &mut Violations, email: &str) -> Option<Email> {
    wrong.check(Email::parse("Email", email))
}

fn check_new_password(wrong: &mut Violations, password: &str, name: &str, email: &str) {
    if let Err(refused) = check_password(password, name, email) {
        wrong.add(password_violation("Password", refused));
    }
}

fn password_violation(field: &str, refused: PasswordRefused) -> Violation {
    let code = match refused {
        PasswordRefused::TooShort | PasswordRefused::TooLong => ViolationCode::OutOfRange,
        PasswordRefused::Common | PasswordRefused::Personal => ViolationCode::NotAllowed,
    };
    Violation::new(field, code, refused.to_string())
}

fn list_violations(wrong: &[Violation]) -> String {
    wrong.iter().map(|one| format!("{} {}", one.field, one.message)).collect::<Vec<_>>().join("; ")
}

/// Keeps what an operator is for who only has to know it.
fn is_active(operator: &Operator) -> bool {
    operator.state == dropin_access::operator::OperatorState::Active
}
