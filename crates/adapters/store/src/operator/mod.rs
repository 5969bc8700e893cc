//! Operators of the admin panel, their links and sessions, and the refunds that they ask for.

mod account;
mod account_change;
mod credentials;
mod invitation;
mod money;
mod recovery_codes;
mod rows;
mod session;

use async_trait::async_trait;
use dropin_access::operator::{MoneyRequest, MoneyRequestState, Operator, OperatorSession};
use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OperatorSessionId, OrderId, Timestamp};
use dropin_money::{Amount, Currency};
use dropin_ports::{
    AcceptInvitation, AccountChanged, CredentialsChange, FirstInvitation, Invitation, InvitationAccepted, MoneyBasis,
    MoneyRequested, NewAuditEntry, NewInvitation, NewOperatorSession, OpenMoneyRequests, OperatorAccount,
    OperatorChange, OperatorChanged, OperatorInvited, OperatorStore, PhcHash, SecondFactor, SecondFactorUsed,
    SessionOpened, SessionsToEnd, StoreError, TokenHash,
};
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::Fault;
use dropin_store_runtime::sql::Id;
use dropin_store_runtime::worker_pool::TxOutcome;

use crate::audit_log;
use crate::store::Store;

#[async_trait]
impl OperatorStore for Store {
    async fn invite_first_operator(
        &self,
        new: NewInvitation,
        audit: NewAuditEntry,
    ) -> Result<FirstInvitation, StoreError> {
        self.write(move |connection| {
            let outcome = invitation::invite_first(connection, &new)?;
            audited(connection, outcome, FirstInvitation::Done, &audit)
        })
        .await
    }

    async fn invite_operator(
        &self,
        operator: Operator,
        new: NewInvitation,
        audit: NewAuditEntry,
    ) -> Result<OperatorInvited, StoreError> {
        self.write(move |connection| match invitation::invite(connection, &operator, &new) {
            Err(fault) if account::is_taken(&fault) => Ok(TxOutcome::Rollback(OperatorInvited::DuplicateEmail)),
            outcome => audited(connection, outcome?, OperatorInvited::Done, &audit),
        })
        .await
    }

    async fn find_invitation(&self, token: TokenHash) -> Result<Option<Invitation>, StoreError> {
        self.read(move |connection| invitation::find(connection, token)).await
    }

    async fn accept_invitation(&self, accept: AcceptInvitation) -> Result<InvitationAccepted, StoreError> {
        self.write(move |connection| match invitation::accept(connection, &accept) {
            Err(fault) if account::is_taken(&fault) => Ok(TxOutcome::Rollback(InvitationAccepted::DuplicateEmail)),
            outcome => audited(connection, outcome?, InvitationAccepted::Done, &accept.audit),
        })
        .await
    }

    async fn find_operator_by_email(&self, email: &str) -> Result<Option<OperatorAccount>, StoreError> {
        let key = dropin_access::operator::email_key(email);
        self.read(move |connection| account::find_by_email(connection, &key)).await
    }

    async fn find_operator(&self, id: OperatorId) -> Result<Option<OperatorAccount>, StoreError> {
        self.read(move |connection| account::find(connection, Id(id.uuid()))).await
    }

    async fn list_operators(&self) -> Result<Vec<OperatorAccount>, StoreError> {
        self.read(account::list).await
    }

    async fn open_operator_session(
        &self,
        new: NewOperatorSession,
        password: PhcHash,
        rehashed: Option<PhcHash>,
        over: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<SessionOpened, StoreError> {
        self.write(move |connection| {
            let outcome = session::open(connection, &new, &password, rehashed.as_ref(), over)?;
            maybe_audited(connection, outcome, SessionOpened::Done, audit.as_ref())
        })
        .await
    }

    async fn use_second_factor(
        &self,
        old: OperatorSessionId,
        new: NewOperatorSession,
        factor: SecondFactor,
        audit: NewAuditEntry,
    ) -> Result<SecondFactorUsed, StoreError> {
        self.write(move |connection| {
            let outcome = session::use_second_factor(connection, old, &new, &factor)?;
            audited(connection, outcome, SecondFactorUsed::Done, &audit)
        })
        .await
    }

    async fn refuse_second_factor(
        &self,
        session: OperatorSessionId,
        allowed: u32,
        audit: NewAuditEntry,
    ) -> Result<(), StoreError> {
        self.write(move |connection| {
            session::count_wrong_code(connection, session, allowed)?;
            audited(connection, (), (), &audit)
        })
        .await
    }

    async fn refuse_sign_in(&self, audit: NewAuditEntry) -> Result<(), StoreError> {
        self.write(move |connection| audited(connection, (), (), &audit)).await
    }

    async fn find_operator_session(
        &self,
        token: TokenHash,
    ) -> Result<Option<(OperatorSession, OperatorAccount)>, StoreError> {
        self.read(move |connection| session::find(connection, token)).await
    }

    async fn touch_operator_session(&self, id: OperatorSessionId, seen_at: Timestamp) -> Result<(), StoreError> {
        self.write(move |connection| session::touch(connection, id, seen_at).map(TxOutcome::Commit)).await
    }

    async fn list_operator_sessions(&self, operator: OperatorId) -> Result<Vec<OperatorSession>, StoreError> {
        self.read(move |connection| session::list(connection, operator)).await
    }

    async fn end_operator_sessions(
        &self,
        operator: OperatorId,
        sessions: SessionsToEnd,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let outcome = session::end(connection, operator, sessions)?;
            audited(connection, outcome, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn change_operator_credentials(
        &self,
        change: CredentialsChange,
        new: NewOperatorSession,
        audit: NewAuditEntry,
    ) -> Result<SessionOpened, StoreError> {
        self.write(move |connection| {
            let outcome = credentials::change(connection, &change, &new)?;
            audited(connection, outcome, SessionOpened::Done, &audit)
        })
        .await
    }

    async fn change_operator(
        &self,
        id: OperatorId,
        change: OperatorChange,
        audit: NewAuditEntry,
    ) -> Result<OperatorChanged, StoreError> {
        self.write(move |connection| {
            let outcome = account_change::change(connection, Id(id.uuid()), &change)?;
            audited(connection, outcome, OperatorChanged::Done, &audit)
        })
        .await
    }

    async fn list_approval_limits(&self, merchant: MerchantId) -> Result<Vec<Amount>, StoreError> {
        self.read(move |connection| money::list_limits(connection, merchant)).await
    }

    async fn set_approval_limits(
        &self,
        merchant: MerchantId,
        limits: Vec<Amount>,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let outcome = money::set_limits(connection, merchant, &limits)?;
            audited(connection, outcome, AccountChanged::Done, &audit)
        })
        .await
    }

    async fn money_basis(
        &self,
        operator: OperatorId,
        merchant: MerchantId,
        order: OrderId,
        currency: Currency,
        since: Timestamp,
    ) -> Result<MoneyBasis, StoreError> {
        self.read(move |connection| money::basis(connection, operator, merchant, order, currency, since)).await
    }

    async fn insert_money_request(
        &self,
        request: MoneyRequest,
        basis: MoneyBasis,
        since: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<MoneyRequested, StoreError> {
        self.write(move |connection| match money::insert(connection, &request, &basis, since) {
            Err(fault) if money::is_known(&fault) => Ok(TxOutcome::Rollback(MoneyRequested::Exists)),
            outcome => maybe_audited(connection, outcome?, MoneyRequested::Done, audit.as_ref()),
        })
        .await
    }

    async fn find_money_request(&self, id: MoneyRequestId) -> Result<Option<MoneyRequest>, StoreError> {
        self.read(move |connection| money::find(connection, id)).await
    }

    async fn list_open_money_requests(&self, query: OpenMoneyRequests) -> Result<Vec<MoneyRequest>, StoreError> {
        self.read(move |connection| money::list_open(connection, &query)).await
    }

    async fn settle_money_request(
        &self,
        request: MoneyRequest,
        old: MoneyRequestState,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        self.write(move |connection| {
            let outcome = money::settle(connection, &request, old)?;
            audited(connection, outcome, AccountChanged::Done, &audit)
        })
        .await
    }
}

/// Keeps a step that was done, with its entry of the audit log; of any other outcome nothing is kept.
fn audited<T: PartialEq>(
    connection: &mut AnyConnection,
    outcome: T,
    done: T,
    audit: &NewAuditEntry,
) -> Result<TxOutcome<T>, Fault> {
    maybe_audited(connection, outcome, done, Some(audit))
}

fn maybe_audited<T: PartialEq>(
    connection: &mut AnyConnection,
    outcome: T,
    done: T,
    audit: Option<&NewAuditEntry>,
) -> Result<TxOutcome<T>, Fault> {
    if outcome != done {
        return Ok(TxOutcome::Rollback(outcome));
    }
    if let Some(entry) = audit {
        audit_log::append(connection, entry)?;
    }
    Ok(TxOutcome::Commit(outcome))
}
