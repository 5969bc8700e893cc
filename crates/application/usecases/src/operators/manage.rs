//! Operators who manage others, and who runs the deployment by command.

use dropin_access::AuditAction;
use dropin_access::operator::{ActionRefused, Operator, OperatorRights, OperatorState, PanelAction};
use dropin_kernel::{OperatorId, Violation, ViolationCode, Violations};
use dropin_ports::{
    Acting, NewAuditEntry, OperatorAccount, OperatorChange, OperatorChanged, OperatorInvited, StoreError,
};
use dropin_wire::audit_log::Document;

use super::invite::InvitationLink;
use super::sessions::CurrentOperator;
use super::{Operators, acts, check_email, check_name, list_violations};

/// Who manages operators.
#[derive(Debug, Clone, Copy)]
pub enum ManagedBy<'a> {
    /// Another operator, in the panel.
    Operator(&'a CurrentOperator),
    /// Who runs the deployment, by a command. It may leave no owner who can sign in, so that one who is locked out gets in again.
    CommandLine(&'a Acting),
}

/// An operator to invite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOperator {
    /// Name.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// What it may do.
    pub rights: OperatorRights,
}

/// An operator with its one-time link, shown this once. No Debug: it is secret.
pub struct OperatorInvitation {
    /// The operator.
    pub operator: Operator,
    /// The link.
    pub link: InvitationLink,
}

/// Why something about an operator was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageError {
    /// What was given makes no sense; every field that is wrong.
    #[error("{}", list_violations(.0))]
    Invalid(Vec<Violation>),
    /// Who asks may not.
    #[error(transparent)]
    NotAllowed(#[from] ActionRefused),
    /// No operator has that id or address.
    #[error("there is no such operator")]
    NoOperator,
    /// Its state does not allow it.
    #[error(
        "the operator's state does not allow it: only a disabled one is enabled, and a disabled one is enabled before it gets a new link"
    )]
    WrongState,
    /// No active owner of the deployment would be left.
    #[error("this is the last owner of the whole deployment: make another operator an owner first")]
    LastOwner,
    /// An operator has this e-mail address.
    #[error("an operator with this e-mail address exists")]
    DuplicateEmail,
    /// The scope names a merchant that does not exist.
    #[error("the scope names a merchant that does not exist")]
    NoMerchant,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ManagedBy<'_> {
    fn check(self) -> Result<(), ManageError> {
        match self {
            Self::Operator(current) => Ok(current.require(PanelAction::ManageOperators, None)?),
            Self::CommandLine(_) => Ok(()),
        }
    }
}

impl Operators {
    /// Invites an operator: it can sign in once it has accepted by the link.
    ///
    /// # Errors
    /// [`ManageError::Invalid`] (Name, Email, Roles), [`ManageError::NotAllowed`], [`ManageError::DuplicateEmail`], [`ManageError::NoMerchant`],
    /// [`ManageError::Store`].
    pub async fn invite(&self, by: ManagedBy<'_>, wanted: NewOperator) -> Result<OperatorInvitation, ManageError> {
        by.check()?;
        let mut wrong = Violations::new();
        let (name, email) = (check_name(&mut wrong, &wanted.name), check_email(&mut wrong, &wanted.email));
        check_rights(&mut wrong, &wanted.rights);
        let (Some(name), Some(email), true) = (name, email, wrong.is_empty()) else {
            return Err(ManageError::Invalid(wrong.into_sorted()));
        };
        let operator = Operator {
            id: OperatorId::new(self.ids.ordered()),
            name,
            email,
            state: OperatorState::Invited,
            rights: wanted.rights,
            created_at: self.clock.now(),
        };
        let (link, invitation) = self.new_link();
        let after = acts::operator_document(&operator).finish();
        let entry = self.entry(by.acting(), AuditAction::OperatorInvite, acts::subject(&operator));
        let audit = NewAuditEntry { after: Some(after), ..entry };
        match self.store.invite_operator(operator.clone(), invitation, audit).await? {
            OperatorInvited::Done => Ok(OperatorInvitation { operator, link }),
            OperatorInvited::DuplicateEmail => Err(ManageError::DuplicateEmail),
            OperatorInvited::NoMerchant => Err(ManageError::NoMerchant),
        }
    }

    /// Every operator, oldest first.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::Store`].
    pub async fn list(&self, by: ManagedBy<'_>) -> Result<Vec<OperatorAccount>, ManageError> {
        by.check()?;
        Ok(self.store.list_operators().await?)
    }

    /// One operator by its id.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::NoOperator`], [`ManageError::Store`].
    pub async fn find(&self, by: ManagedBy<'_>, id: OperatorId) -> Result<OperatorAccount, ManageError> {
        by.check()?;
        self.store.find_operator(id).await?.ok_or(ManageError::NoOperator)
    }

    /// One operator by its e-mail address.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::NoOperator`], [`ManageError::Store`].
    pub async fn find_by_email(&self, by: ManagedBy<'_>, email: &str) -> Result<OperatorAccount, ManageError> {
        by.check()?;
        let email = dropin_access::operator::email_key(email);
        self.store.find_operator_by_email(&email).await?.ok_or(ManageError::NoOperator)
    }

    /// Lets an operator do exactly this; in force with its next request.
    ///
    /// # Errors
    /// [`ManageError`], all but [`ManageError::DuplicateEmail`].
    pub async fn set_rights(
        &self,
        by: ManagedBy<'_>,
        id: OperatorId,
        rights: OperatorRights,
    ) -> Result<(), ManageError> {
        by.check()?;
        let mut wrong = Violations::new();
        check_rights(&mut wrong, &rights);
        if !wrong.is_empty() {
            return Err(ManageError::Invalid(wrong.into_sorted()));
        }
        self.change(by, id, OperatorChange::Rights(rights)).await
    }

    /// Shuts an operator out: its sessions end at once, and so does its link.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::NoOperator`], [`ManageError::LastOwner`], [`ManageError::Store`].
    pub async fn disable(&self, by: ManagedBy<'_>, id: OperatorId) -> Result<(), ManageError> {
        by.check()?;
        self.change(by, id, OperatorChange::Disabled).await
    }

    /// Lets an operator in again that was disabled. One that had no password is [`OperatorState::Invited`] and has no link any more: reset it.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::NoOperator`], [`ManageError::WrongState`], [`ManageError::Store`].
    pub async fn enable(&self, by: ManagedBy<'_>, id: OperatorId) -> Result<OperatorState, ManageError> {
        by.check()?;
        self.change(by, id, OperatorChange::Enabled).await?;
        let account = self.store.find_operator(id).await?.ok_or(ManageError::NoOperator)?;
        Ok(account.operator.state)
    }

    /// Takes password, authenticator, recovery codes and sessions away, and gives a new link to set them up: for a lost authenticator, a forgotten
    /// password, and a link that was lost.
    ///
    /// # Errors
    /// [`ManageError::NotAllowed`], [`ManageError::NoOperator`], [`ManageError::WrongState`], [`ManageError::LastOwner`] (not for a command),
    /// [`ManageError::Store`].
    pub async fn reset(&self, by: ManagedBy<'_>, id: OperatorId) -> Result<OperatorInvitation, ManageError> {
        by.check()?;
        let (link, invitation) = self.new_link();
        let even_the_last_owner = matches!(by, ManagedBy::CommandLine(_));
        self.change(by, id, OperatorChange::Reset { invitation, even_the_last_owner }).await?;
        let account = self.store.find_operator(id).await?.ok_or(ManageError::NoOperator)?;
        Ok(OperatorInvitation { operator: account.operator, link })
    }

    async fn change(&self, by: ManagedBy<'_>, id: OperatorId, change: OperatorChange) -> Result<(), ManageError> {
        let before = self.store.find_operator(id).await?.ok_or(ManageError::NoOperator)?.operator;
        let (action, after) = match &change {
            OperatorChange::Rights(rights) => {
                (AuditAction::OperatorChange, acts::rights_document(Document::new(), rights))
            }
            OperatorChange::Disabled => (AuditAction::OperatorRemove, Document::new().flag("Disabled", true)),
            OperatorChange::Enabled => (AuditAction::OperatorChange, Document::new().flag("Disabled", false)),
            OperatorChange::Reset { .. } => (AuditAction::OperatorPasswordChange, Document::new().flag("Reset", true)),
        };
        let audit = NewAuditEntry {
            before: Some(acts::operator_document(&before).finish()),
            after: Some(after.finish()),
            ..self.entry(by.acting(), action, acts::subject(&before))
        };
        match self.store.change_operator(id, change, audit).await? {
            OperatorChanged::Done => Ok(()),
            OperatorChanged::Missing => Err(ManageError::NoOperator),
            OperatorChanged::WrongState => Err(ManageError::WrongState),
            OperatorChanged::LastOwner => Err(ManageError::LastOwner),
            OperatorChanged::NoMerchant => Err(ManageError::NoMerchant),
        }
    }
}

fn check_rights(wrong: &mut Violations, rights: &OperatorRights) {
    if rights.roles.is_empty() {
        wrong.push("Roles", ViolationCode::Missing, "must name at least one role; to shut an operator out, disable it");
    }
}
