//! Accepting an invitation: a password, then an authenticator, then recovery codes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dropin_access::operator::{Operator, OperatorRights, OperatorState, RECOVERY_CODES, SessionStage};
use dropin_access::{AuditAction, SealedSecret};
use dropin_kernel::{OperatorId, Timestamp, Violation, Violations};
use dropin_ports::{
    AcceptInvitation, Invitation, InvitationAccepted, KeyringError, NewAuditEntry, PhcHash, RecoveryCodeHash,
    StoreError, TotpAuthenticator,
};
use dropin_validation::{Email, Text};
use zeroize::Zeroizing;

use super::passwords::HashingBusy;
use super::sign_in::SignedIn;
use super::{
    Operators, PanelClient, SecondFactorPolicy, acts, authenticator_owner, check_email, check_name, check_new_password,
    invitation_hash, list_violations, tokens, totp,
};

/// How long an authenticator may take to be set up.
const ENROLMENT_LIFETIME: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// What a link is for, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationView {
    /// Who is invited; `None` for the first operator of a deployment, who gives name and address itself.
    pub operator: Option<Operator>,
    /// Until when the link may be used.
    pub expires_at: Timestamp,
    /// Whether an authenticator has to be set up.
    pub second_factor: SecondFactorPolicy,
}

/// What a person who accepts types first. No Debug: it holds a password.
pub struct AcceptanceForm {
    /// The name; what an invitation says when empty.
    pub name: String,
    /// The e-mail address; of the first operator alone, an invitation's own is never changed.
    pub email: String,
    /// The password.
    pub password: String,
}

/// An authenticator to set up. No Debug: it is secret.
pub struct Enrolment {
    /// To be sent back with the first code, in a hidden field: sealed, so that nothing has to be remembered meanwhile.
    pub sealed: String,
    /// The secret in base32, for typing.
    pub secret: String,
    /// The secret as an `otpauth://` address, for a QR code.
    pub uri: String,
}

/// What came of accepting. No Debug: it holds secrets.
pub struct Accepted {
    /// The operator, signed in.
    pub signed_in: SignedIn,
    /// Shown this once; none without an authenticator.
    pub recovery_codes: Vec<String>,
}

/// Why an invitation is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// The link was used, replaced or is over, or never was one.
    #[error("this link does not work any more: ask for a new one, with `dropin operator invite` or from an owner")]
    Gone,
    /// What was typed makes no sense; every field that is wrong.
    #[error("{}", list_violations(.0))]
    Invalid(Vec<Violation>),
    /// The authenticator was not set up in time, or the hidden field was altered.
    #[error("setting up took too long: begin again with the password")]
    EnrolmentOver,
    /// The code is not that of the authenticator.
    #[error("this is not the code that the authenticator shows now: check its clock, and type the next one")]
    WrongCode,
    /// A code is missing where an authenticator is required.
    #[error("an authenticator is required here: type the code that it shows")]
    CodeMissing,
    /// An operator has this e-mail address.
    #[error("an operator with this e-mail address exists")]
    DuplicateEmail,
    /// Too many at once.
    #[error(transparent)]
    Busy(#[from] HashingBusy),
    /// The keyring failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What stands in a sealed enrolment.
struct Pending {
    operator: OperatorId,
    expires_at: Timestamp,
    secret: Zeroizing<Vec<u8>>,
    password: PhcHash,
    email: Email,
    name: Text,
}

impl Operators {
    /// What a link is for.
    ///
    /// # Errors
    /// [`AcceptError::Gone`], [`AcceptError::Store`].
    pub async fn invitation(&self, token: &str) -> Result<InvitationView, AcceptError> {
        let Invitation { operator, expires_at } = self.valid_invitation(token).await?;
        Ok(InvitationView { operator, expires_at, second_factor: self.policy })
    }

    async fn valid_invitation(&self, token: &str) -> Result<Invitation, AcceptError> {
        let found = self.store.find_invitation(invitation_hash(token)).await?;
        found.filter(|invitation| self.clock.now() < invitation.expires_at).ok_or(AcceptError::Gone)
    }

    /// Takes the password, and gives an authenticator to set up. Nothing is written: the link works until [`Operators::accept`].
    ///
    /// # Errors
    /// [`AcceptError::Gone`], [`AcceptError::Invalid`] (Name, Email, Password), [`AcceptError::Busy`], [`AcceptError::Keyring`], [`AcceptError::Store`].
    pub async fn begin_acceptance(&self, token: &str, form: &AcceptanceForm) -> Result<Enrolment, AcceptError> {
        let invitation = self.valid_invitation(token).await?;
        let mut wrong = Violations::new();
        let invited = invitation.operator.as_ref();
        let name = match invited {
            Some(operator) if form.name.trim().is_empty() => Some(operator.name.clone()),
            _ => check_name(&mut wrong, &form.name),
        };
        let email = match invited {
            Some(operator) => Some(operator.email.clone()),
            None => check_email(&mut wrong, &form.email),
        };
        let (name_text, email_text) =
            (name.as_ref().map_or("", Text::as_str), email.as_ref().map_or("", Email::as_str));
        check_new_password(&mut wrong, &form.password, name_text, email_text);
        let (Some(name), Some(email), true) = (name, email, wrong.is_empty()) else {
            return Err(AcceptError::Invalid(wrong.into_sorted()));
        };
        let password = self.hashing.hash(&form.password, self.ids.secret()).await?;
        let secret = Zeroizing::new(totp::new_secret(&*self.ids));
        let (text, uri) = totp::setup(&secret, email.as_str())?;
        let operator = invited.map_or_else(|| OperatorId::new(self.ids.ordered()), |operator| operator.id);
        let expires_at = self.clock.now().plus(ENROLMENT_LIFETIME);
        let pending = Pending { operator, expires_at, secret, password, email, name };
        let sealed = self.seal_pending(token, &pending)?;
        Ok(Enrolment { sealed, secret: text, uri })
    }

    /// Accepts: the link is used up, and the operator is signed in. `code` is what the authenticator shows; without one there is no authenticator, where
    /// the deployment allows that. Of two who accept one link, one does.
    ///
    /// # Errors
    /// [`AcceptError`], all but [`AcceptError::Invalid`] and [`AcceptError::Busy`].
    pub async fn accept(
        &self,
        token: &str,
        sealed: &str,
        code: Option<&str>,
        client: &PanelClient,
    ) -> Result<Accepted, AcceptError> {
        let invitation = self.valid_invitation(token).await?;
        let pending = self.open_pending(token, sealed)?;
        let now = self.clock.now();
        let is_for_another = invitation.operator.as_ref().is_some_and(|operator| operator.id != pending.operator);
        if pending.expires_at <= now || is_for_another {
            return Err(AcceptError::EnrolmentOver);
        }
        let code = code.filter(|code| !code.trim().is_empty());
        let authenticator = match (code, self.policy) {
            (None, SecondFactorPolicy::Required) => return Err(AcceptError::CodeMissing),
            (None, SecondFactorPolicy::Optional) => None,
            (Some(code), _) => {
                Some(self.confirm(pending.operator, &pending.secret, code)?.ok_or(AcceptError::WrongCode)?)
            }
        };
        let operator = match invitation.operator {
            Some(invited) => Operator { name: pending.name, state: OperatorState::Active, ..invited },
            None => Operator {
                id: pending.operator,
                name: pending.name,
                email: pending.email,
                state: OperatorState::Active,
                rights: OperatorRights::owner(),
                created_at: now,
            },
        };
        let (recovery_codes, hashes) = match authenticator {
            Some(_) => self.new_recovery_codes(operator.id),
            None => (Vec::new(), Vec::new()),
        };
        let (session_token, session) = self.new_session(operator.id, SessionStage::SignedIn, client);
        let after = acts::operator_document(&operator).flag("Authenticator", authenticator.is_some()).finish();
        let audit =
            NewAuditEntry { after: Some(after), ..self.own_entry(&operator, AuditAction::OperatorJoin, client) };
        let accept = AcceptInvitation {
            token: invitation_hash(token),
            operator: operator.clone(),
            password: pending.password,
            authenticator,
            recovery_codes: hashes,
            session: session.clone(),
            now,
            audit,
        };
        match self.store.accept_invitation(accept).await? {
            InvitationAccepted::Done => {
                let signed_in = SignedIn::new(session_token, session.session, operator);
                Ok(Accepted { signed_in, recovery_codes })
            }
            InvitationAccepted::Gone => Err(AcceptError::Gone),
            InvitationAccepted::DuplicateEmail => Err(AcceptError::DuplicateEmail),
        }
    }

    /// The authenticator, sealed, when the code is one of its; the code is used up.
    pub(super) fn confirm(
        &self,
        operator: OperatorId,
        secret: &[u8],
        code: &str,
    ) -> Result<Option<TotpAuthenticator>, KeyringError> {
        let Some(used_step) = totp::step_of(secret, code, self.clock.now())? else { return Ok(None) };
        let secret = self.secrets.seal_secret(&authenticator_owner(operator), secret)?;
        Ok(Some(TotpAuthenticator { secret, used_step }))
    }

    pub(super) fn new_recovery_codes(&self, operator: OperatorId) -> (Vec<String>, Vec<RecoveryCodeHash>) {
        let codes: Vec<_> = (0..RECOVERY_CODES).map(|_| tokens::new_recovery_code(&*self.ids)).collect();
        let hashes = codes.iter().map(|code| tokens::recovery_code_hash(&*self.secrets, operator, code)).collect();
        (codes, hashes)
    }

    fn seal_pending(&self, token: &str, pending: &Pending) -> Result<String, KeyringError> {
        let secret = Zeroizing::new(URL_SAFE_NO_PAD.encode(&*pending.secret));
        let (operator, micros, password) = (pending.operator, pending.expires_at.micros(), &pending.password.0);
        let (email, name) = (pending.email.as_str(), pending.name.as_str());
        // The name stands last, and nothing before it can hold a line's end.
        let text = format!("{operator}\n{micros}\n{}\n{password}\n{email}\n{name}", *secret);
        let sealed = self.secrets.seal_secret(&pending_owner(token), Zeroizing::new(text).as_bytes())?;
        Ok(URL_SAFE_NO_PAD.encode(sealed.0))
    }

    fn open_pending(&self, token: &str, sealed: &str) -> Result<Pending, AcceptError> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed.trim()).map_err(|_altered| AcceptError::EnrolmentOver)?;
        let opened = match self.secrets.open_secret(&pending_owner(token), &SealedSecret(sealed)) {
            Ok(opened) => Zeroizing::new(opened),
            Err(KeyringError::CannotOpen) => return Err(AcceptError::EnrolmentOver),
            Err(unavailable) => return Err(unavailable.into()),
        };
        read_pending(&opened).ok_or(AcceptError::EnrolmentOver)
    }
}

/// What an enrolment is bound to: it cannot be sent with another link.
fn pending_owner(token: &str) -> String {
    let hash: String = invitation_hash(token).0.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("acceptance of invitation {hash}")
}

fn read_pending(text: &[u8]) -> Option<Pending> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(6, '\n');
    let mut next = || parts.next();
    Some(Pending {
        operator: next()?.parse().ok()?,
        expires_at: Timestamp::from_micros(next()?.parse().ok()?),
        secret: Zeroizing::new(URL_SAFE_NO_PAD.decode(next()?).ok()?),
        password: PhcHash(next()?.to_owned()),
        email: Email::restore(next()?)?,
        name: Text::restore(next()?)?,
    })
}
