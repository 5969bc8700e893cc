//! One-time links.

use dropin_access::AuditAction;
use dropin_access::operator::INVITATION_LIFETIME;
use dropin_kernel::Timestamp;
use dropin_ports::{Acting, AuditSubject, FirstInvitation, NewInvitation, StoreError};

use super::{Operators, invitation_hash, tokens};

/// A one-time link, shown this once. No Debug: it is secret.
pub struct InvitationLink {
    /// What the panel's address of acceptance is given: `/accept?token=…`.
    pub token: String,
    /// Until when it may be opened.
    pub expires_at: Timestamp,
}

impl Operators {
    /// The link for the first operator of a deployment, who becomes its owner; `None` when there is an operator already. One of before ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn invite_first(&self) -> Result<Option<InvitationLink>, StoreError> {
        let (link, invitation) = self.new_link();
        let audit = self.entry(Acting::system(), AuditAction::OperatorInvite, AuditSubject::deployment());
        Ok(match self.store.invite_first_operator(invitation, audit).await? {
            FirstInvitation::Done => Some(link),
            FirstInvitation::OperatorsExist => None,
        })
    }

    pub(super) fn new_link(&self) -> (InvitationLink, NewInvitation) {
        let token = tokens::new_token(&*self.ids);
        let expires_at = self.clock.now().plus(INVITATION_LIFETIME);
        let invitation = NewInvitation { token: invitation_hash(&token), expires_at };
        (InvitationLink { token, expires_at }, invitation)
    }
}
