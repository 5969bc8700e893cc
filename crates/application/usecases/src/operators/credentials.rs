//! An operator's own password and authenticator.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dropin_access::operator::{SessionStage, email_key};
use dropin_access::{AuditAction, SealedSecret};
use dropin_kernel::{Violation, Violations};
use dropin_ports::{CredentialsChange, KeyringError, PhcHash, SessionOpened, StoreError};
use zeroize::Zeroizing;

use super::accept::Enrolment;
use super::acts::Refusal;
use super::passwords::{HashingBusy, PasswordVerdict};
use super::sessions::CurrentOperator;
use super::sign_in::SignedIn;
use super::throttle::Guess;
use super::{Operators, PanelClient, check_new_password, list_violations, totp};

/// A new session in place of all that the operator had. No Debug: it holds secrets.
pub struct CredentialsReplaced {
    /// The session that goes on; the token of before does not count any more.
    pub signed_in: SignedIn,
    /// New recovery codes, shown this once; none when only the password changed, and the old ones stay.
    pub recovery_codes: Vec<String>,
}

/// Why a password or an authenticator is not replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceCredentialsError {
    /// The password that was typed to prove who it is, is wrong.
    #[error("the present password is wrong")]
    WrongPassword,
    /// Too many wrong ones; nothing was compared.
    #[error("too many wrong ones: try again in {} seconds", .retry_after.as_secs() + 1)]
    Throttled {
        /// When the next one is compared.
        retry_after: Duration,
    },
    /// The new password makes no sense.
    #[error("{}", list_violations(.0))]
    Invalid(Vec<Violation>),
    /// The code is not that of the new authenticator.
    #[error("this is not the code that the new authenticator shows now: check its clock, and type the next one")]
    WrongCode,
    /// The hidden field was altered or is of another session.
    #[error("setting up took too long: begin again with the password")]
    EnrolmentOver,
    /// The operator was changed meanwhile.
    #[error("your account was changed meanwhile: sign in again")]
    Changed,
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

impl Operators {
    /// Gives the operator a new password. All its sessions end, and this one goes on under a new token.
    ///
    /// # Errors
    /// [`ReplaceCredentialsError`].
    pub async fn change_password(
        &self,
        by: &CurrentOperator,
        old: &str,
        new: &str,
        client: &PanelClient,
    ) -> Result<CredentialsReplaced, ReplaceCredentialsError> {
        let mut wrong = Violations::new();
        check_new_password(&mut wrong, new, by.operator.name.as_str(), by.operator.email.as_str());
        if !wrong.is_empty() {
            return Err(ReplaceCredentialsError::Invalid(wrong.into_sorted()));
        }
        let old = self.prove(by, old, client).await?;
        let new = self.hashing.hash(new, self.ids.secret()).await?;
        self.replace(by, CredentialsChange::Password { old, new }, Vec::new(), client).await
    }

    /// Gives the operator an authenticator to set up, in place of the one it has; nothing is written.
    ///
    /// # Errors
    /// [`ReplaceCredentialsError::WrongPassword`], [`ReplaceCredentialsError::Throttled`], [`ReplaceCredentialsError::Busy`], [`ReplaceCredentialsError::Keyring`],
    /// [`ReplaceCredentialsError::Store`].
    pub async fn begin_authenticator(
        &self,
        by: &CurrentOperator,
        password: &str,
        client: &PanelClient,
    ) -> Result<Enrolment, ReplaceCredentialsError> {
        self.prove(by, password, client).await?;
        let secret = Zeroizing::new(totp::new_secret(&*self.ids));
        let (text, uri) = totp::setup(&secret, by.operator.email.as_str())?;
        let sealed = self.secrets.seal_secret(&replacement_owner(by), &secret)?;
        Ok(Enrolment { sealed: URL_SAFE_NO_PAD.encode(sealed.0), secret: text, uri })
    }

    /// Puts an authenticator in place, once it shows the right code: with new recovery codes, and all other sessions end.
    ///
    /// # Errors
    /// [`ReplaceCredentialsError::EnrolmentOver`], [`ReplaceCredentialsError::WrongCode`], [`ReplaceCredentialsError::Changed`], [`ReplaceCredentialsError::Keyring`],
    /// [`ReplaceCredentialsError::Store`].
    pub async fn replace_authenticator(
        &self,
        by: &CurrentOperator,
        sealed: &str,
        code: &str,
        client: &PanelClient,
    ) -> Result<CredentialsReplaced, ReplaceCredentialsError> {
        let sealed =
            URL_SAFE_NO_PAD.decode(sealed.trim()).map_err(|_altered| ReplaceCredentialsError::EnrolmentOver)?;
        let secret = match self.secrets.open_secret(&replacement_owner(by), &SealedSecret(sealed)) {
            Ok(secret) => Zeroizing::new(secret),
            Err(KeyringError::CannotOpen) => return Err(ReplaceCredentialsError::EnrolmentOver),
            Err(unavailable) => return Err(unavailable.into()),
        };
        let authenticator = self.confirm(by.operator.id, &secret, code)?.ok_or(ReplaceCredentialsError::WrongCode)?;
        let (codes, hashes) = self.new_recovery_codes(by.operator.id);
        let change = CredentialsChange::Authenticator { authenticator, recovery_codes: hashes };
        self.replace(by, change, codes, client).await
    }

    /// The stored hash, when the password is the operator's: a session that was left open is not enough to take the account over.
    async fn prove(
        &self,
        by: &CurrentOperator,
        password: &str,
        client: &PanelClient,
    ) -> Result<PhcHash, ReplaceCredentialsError> {
        let guess = Guess::new(&*self.secrets, client.address, &email_key(by.operator.email.as_str()));
        self.throttle
            .take_password(&guess, Instant::now())
            .map_err(|retry_after| ReplaceCredentialsError::Throttled { retry_after })?;
        let compared = self.compare_own(by, password).await;
        // A right one costs no guess, nor does one that was not compared.
        if !matches!(compared, Ok(None)) {
            self.throttle.give_back_password(&guess);
        }
        match compared? {
            Some(stored) => Ok(stored),
            None => {
                let audit = self.refusal_entry(Some(&by.operator), Refusal::WrongPassword, client);
                self.store.refuse_sign_in(audit).await?;
                Err(ReplaceCredentialsError::WrongPassword)
            }
        }
    }

    /// The stored hash; `None` when the password is not the operator's, an error when nothing was compared.
    async fn compare_own(
        &self,
        by: &CurrentOperator,
        password: &str,
    ) -> Result<Option<PhcHash>, ReplaceCredentialsError> {
        let account = self.store.find_operator(by.operator.id).await?;
        let stored =
            account.and_then(|account| account.credentials.password).ok_or(ReplaceCredentialsError::Changed)?;
        let verdict = self.hashing.verify(password, Some(stored.clone()), self.ids.secret()).await?;
        Ok(Some(stored).filter(|_| verdict != PasswordVerdict::Wrong))
    }

    async fn replace(
        &self,
        by: &CurrentOperator,
        change: CredentialsChange,
        recovery_codes: Vec<String>,
        client: &PanelClient,
    ) -> Result<CredentialsReplaced, ReplaceCredentialsError> {
        let (token, session) = self.new_session(by.operator.id, SessionStage::SignedIn, client);
        let action = match change {
            CredentialsChange::Password { .. } => AuditAction::OperatorPasswordChange,
            CredentialsChange::Authenticator { .. } => AuditAction::OperatorAuthenticatorChange,
        };
        let audit = self.own_entry(&by.operator, action, client);
        match self.store.change_operator_credentials(change, session.clone(), audit).await? {
            SessionOpened::Done => {
                let signed_in = SignedIn::new(token, session.session, by.operator.clone());
                Ok(CredentialsReplaced { signed_in, recovery_codes })
            }
            SessionOpened::Changed => Err(ReplaceCredentialsError::Changed),
        }
    }
}

/// What an authenticator that is being set up is bound to.
fn replacement_owner(by: &CurrentOperator) -> String {
    format!("new authenticator in session {}", by.session.id)
}
