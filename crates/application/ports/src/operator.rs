use std::fmt;

use async_trait::async_trait;
use dropin_access::SealedSecret;
use dropin_access::operator::{
    MoneyRequest, MoneyRequestState, MoneyTotals, Operator, OperatorRights, OperatorSession,
};
use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OperatorSessionId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};

use crate::access::AccountChanged;
use crate::audit_log::NewAuditEntry;
use crate::store::StoreError;

/// SHA-256 of a token of 256 random bits: of a one-time link or a session. The token itself is kept nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// An operator's password as it is kept: argon2id with its parameters and salt, in the PHC string format.
#[derive(Clone, PartialEq, Eq)]
pub struct PhcHash(pub String);

impl fmt::Debug for PhcHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PhcHash(..)")
    }
}

/// Keyed hash of a recovery code.
#[derive(Clone, PartialEq, Eq)]
pub struct RecoveryCodeHash(pub Vec<u8>);

impl fmt::Debug for RecoveryCodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCodeHash(..)")
    }
}

/// An authenticator that gives time-based codes (RFC 6238).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TotpAuthenticator {
    /// Its secret.
    pub secret: SealedSecret,
    /// The newest time step whose code was used. No code of it or of one before is taken again.
    pub used_step: i64,
}

/// How an operator proves who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorCredentials {
    /// `None` until the invitation is accepted.
    pub password: Option<PhcHash>,
    /// `None` where there is none.
    pub authenticator: Option<TotpAuthenticator>,
    /// Recovery codes that were not used.
    pub recovery_codes_left: u32,
}

/// An operator with what it proves itself by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorAccount {
    /// The operator.
    pub operator: Operator,
    /// Its credentials.
    pub credentials: OperatorCredentials,
}

/// A one-time link to write down. One that the operator had before ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    /// Hash of the token in the link.
    pub token: TokenHash,
    /// Until when it may be opened.
    pub expires_at: Timestamp,
}

/// A one-time link that was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Whose it is; `None` for the first operator of a deployment, who is not known before.
    pub operator: Option<Operator>,
    /// Until when it may be opened.
    pub expires_at: Timestamp,
}

/// What came of writing down the link for the first operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstInvitation {
    /// Written.
    Done,
    /// There are operators.
    OperatorsExist,
}

/// What came of inviting an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorInvited {
    /// Written.
    Done,
    /// An operator has this e-mail address.
    DuplicateEmail,
    /// A merchant of the scope does not exist.
    NoMerchant,
}

/// A session to write down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperatorSession {
    /// The session.
    pub session: OperatorSession,
    /// Hash of its token.
    pub token: TokenHash,
}

/// An invitation to accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptInvitation {
    /// Hash of the link's token.
    pub token: TokenHash,
    /// The operator as it is from now on; new when the link was that of the first operator.
    pub operator: Operator,
    /// Its password.
    pub password: PhcHash,
    /// Its authenticator.
    pub authenticator: Option<TotpAuthenticator>,
    /// Its recovery codes, in place of any of before.
    pub recovery_codes: Vec<RecoveryCodeHash>,
    /// Its first session.
    pub session: NewOperatorSession,
    /// When.
    pub now: Timestamp,
    /// For the audit log.
    pub audit: NewAuditEntry,
}

/// What came of accepting an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationAccepted {
    /// Written.
    Done,
    /// The link was used, replaced or is over: nothing was written.
    Gone,
    /// An operator has this e-mail address: nothing was written.
    DuplicateEmail,
}

/// What came of opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOpened {
    /// Written.
    Done,
    /// The operator was disabled, reset or has another password by now: nothing was written.
    Changed,
}

/// What proves the second time who an operator is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecondFactor {
    /// A code of the authenticator, of this time step.
    Code {
        /// The step.
        step: i64,
    },
    /// A recovery code.
    RecoveryCode(RecoveryCodeHash),
}

/// What came of a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondFactorUsed {
    /// Written: the session of before is gone, the new one is there, and the factor is used up.
    Done,
    /// The session of before is gone: nothing was written.
    SessionGone,
    /// The code or one after it was used before, or there is no such recovery code: nothing was written.
    NotUsable,
}

/// A change to what an operator proves itself by. All its sessions end but the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialsChange {
    /// A new password.
    Password {
        /// What it replaces; another one by now is not replaced.
        old: PhcHash,
        /// What it is from now on.
        new: PhcHash,
    },
    /// A new authenticator with new recovery codes.
    Authenticator {
        /// The authenticator.
        authenticator: TotpAuthenticator,
        /// Codes in place of all that there were.
        recovery_codes: Vec<RecoveryCodeHash>,
    },
}

/// Which sessions of an operator are to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionsToEnd {
    /// This one.
    One(OperatorSessionId),
    /// All but this one.
    AllBut(OperatorSessionId),
}

/// A change to an operator by another one, or by who runs the deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorChange {
    /// It may do exactly this from now on.
    Rights(OperatorRights),
    /// Its sessions end, and it cannot sign in.
    Disabled,
    /// It can sign in as it could before it was disabled, or accept its invitation.
    Enabled,
    /// Password, authenticator, recovery codes and sessions are gone; a new link sets new ones. Also for a link that was lost.
    Reset {
        /// The link.
        invitation: NewInvitation,
        /// Whether it may be done to the last owner, who then has only the link.
        even_the_last_owner: bool,
    },
}

/// What came of changing an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorChanged {
    /// Written.
    Done,
    /// There is no such operator.
    Missing,
    /// Its state does not allow it: enabling one that is not disabled, resetting one that is.
    WrongState,
    /// No active owner of the deployment would be left: nothing was written.
    LastOwner,
    /// A merchant of the scope does not exist.
    NoMerchant,
}

/// What decides whether money may be moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyBasis {
    /// What was asked for before.
    pub totals: MoneyTotals,
    /// Above which the merchant wants two operators; `None` where it never does.
    pub merchant_limit: Option<Amount>,
}

/// Which open requests to move money are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMoneyRequests {
    /// Of these merchants; of all when `None`.
    pub merchants: Option<Vec<MerchantId>>,
    /// About this Order; about any when `None`.
    pub order: Option<OrderId>,
    /// Asked for after this.
    pub since: Timestamp,
    /// Most of them.
    pub limit: u32,
}

/// What came of writing down a request to move money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyRequested {
    /// Written.
    Done,
    /// The totals or the limit are others by now: load and decide again.
    Stale,
    /// The merchant has no such Order in that currency.
    NoOrder,
    /// A request with this id exists: nothing was written.
    Exists,
}

/// The operators of a deployment, their sessions and their requests to move money.
#[async_trait]
pub trait OperatorStore: Send + Sync {
    /// Writes down the link for the first operator, in place of one of before.
    async fn invite_first_operator(
        &self,
        invitation: NewInvitation,
        audit: NewAuditEntry,
    ) -> Result<FirstInvitation, StoreError>;

    /// Writes down an operator who is invited, with its link.
    async fn invite_operator(
        &self,
        operator: Operator,
        invitation: NewInvitation,
        audit: NewAuditEntry,
    ) -> Result<OperatorInvited, StoreError>;

    /// The invitation of a link that was not used, also one that is over.
    async fn find_invitation(&self, token: TokenHash) -> Result<Option<Invitation>, StoreError>;

    /// Uses up a link. Of many who accept one, one does.
    async fn accept_invitation(&self, accept: AcceptInvitation) -> Result<InvitationAccepted, StoreError>;

    /// The operator with this e-mail address, in whatever case: one read whether there is one or not.
    async fn find_operator_by_email(&self, email: &str) -> Result<Option<OperatorAccount>, StoreError>;

    /// One operator.
    async fn find_operator(&self, id: OperatorId) -> Result<Option<OperatorAccount>, StoreError>;

    /// Every operator, disabled ones too, oldest first.
    async fn list_operators(&self) -> Result<Vec<OperatorAccount>, StoreError>;

    /// Opens a session of an active operator whose password still is `password`, and writes `rehashed` in its place where that is given. The operator's
    /// sessions that began at `over` or before go. One that is signed in has an entry for the audit log.
    async fn open_operator_session(
        &self,
        session: NewOperatorSession,
        password: PhcHash,
        rehashed: Option<PhcHash>,
        over: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<SessionOpened, StoreError>;

    /// Replaces a session that waits for its second factor by one that is signed in, and uses the factor up. Of many who use one factor, one does.
    async fn use_second_factor(
        &self,
        old: OperatorSessionId,
        new: NewOperatorSession,
        factor: SecondFactor,
        audit: NewAuditEntry,
    ) -> Result<SecondFactorUsed, StoreError>;

    /// Counts a wrong second factor of a session, which ends with the `allowed`th.
    async fn refuse_second_factor(
        &self,
        session: OperatorSessionId,
        allowed: u32,
        audit: NewAuditEntry,
    ) -> Result<(), StoreError>;

    /// Writes down that somebody was not let in.
    async fn refuse_sign_in(&self, audit: NewAuditEntry) -> Result<(), StoreError>;

    /// The session of a token, with its operator; also one that is over.
    async fn find_operator_session(
        &self,
        token: TokenHash,
    ) -> Result<Option<(OperatorSession, OperatorAccount)>, StoreError>;

    /// Writes down that a request of the session came.
    async fn touch_operator_session(&self, session: OperatorSessionId, seen_at: Timestamp) -> Result<(), StoreError>;

    /// The operator's sessions, newest first.
    async fn list_operator_sessions(&self, operator: OperatorId) -> Result<Vec<OperatorSession>, StoreError>;

    /// Ends sessions of an operator; [`AccountChanged::Missing`] when there was none of these.
    async fn end_operator_sessions(
        &self,
        operator: OperatorId,
        sessions: SessionsToEnd,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// Changes what an active operator proves itself by; all its sessions end, and this one begins.
    async fn change_operator_credentials(
        &self,
        change: CredentialsChange,
        session: NewOperatorSession,
        audit: NewAuditEntry,
    ) -> Result<SessionOpened, StoreError>;

    /// Changes an operator. Of two who would leave no owner, one is refused.
    async fn change_operator(
        &self,
        id: OperatorId,
        change: OperatorChange,
        audit: NewAuditEntry,
    ) -> Result<OperatorChanged, StoreError>;

    /// Above which amount a refund of the merchant needs two operators, in each currency that has such a limit.
    async fn list_approval_limits(&self, merchant: MerchantId) -> Result<Vec<Amount>, StoreError>;

    /// Sets these limits in place of all.
    async fn set_approval_limits(
        &self,
        merchant: MerchantId,
        limits: Vec<Amount>,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// What decides whether `operator` may refund this Order now. Requests count that were made after `since`, and wait or were granted.
    async fn money_basis(
        &self,
        operator: OperatorId,
        merchant: MerchantId,
        order: OrderId,
        currency: Currency,
        since: Timestamp,
    ) -> Result<MoneyBasis, StoreError>;

    /// Writes a request down, if what it was decided on still is so. One that waits for a second operator has an entry for the audit log; of one that
    /// does not, the refund has it.
    async fn insert_money_request(
        &self,
        request: MoneyRequest,
        basis: MoneyBasis,
        since: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<MoneyRequested, StoreError>;

    /// One request.
    async fn find_money_request(&self, id: MoneyRequestId) -> Result<Option<MoneyRequest>, StoreError>;

    /// The requests that are open, oldest first: those that wait for a second operator, and those that were granted and have no refund with their id as
    /// its reference.
    async fn list_open_money_requests(&self, query: OpenMoneyRequests) -> Result<Vec<MoneyRequest>, StoreError>;

    /// Writes what came of a request that is in the state `old`. [`AccountChanged::Ended`] when it is in another by now.
    async fn settle_money_request(
        &self,
        request: MoneyRequest,
        old: MoneyRequestState,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;
}
