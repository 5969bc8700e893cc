//! Signing in: the password, then the second factor.

use std::time::{Duration, Instant};

use dropin_access::operator::{Operator, OperatorSession, SESSION_LIFETIME, SessionStage, email_key};
use dropin_ports::{
    KeyringError, OperatorAccount, SecondFactor, SecondFactorUsed, SessionOpened, StoreError, TotpAuthenticator,
};
use zeroize::Zeroizing;

use super::acts::Refusal;
use super::passwords::{HashingBusy, PasswordVerdict};
use super::throttle::Guess;
use super::{Operators, PanelClient, SecondFactorPolicy, authenticator_owner, is_active, session_hash, tokens, totp};

/// Wrong codes that one sign-in allows; then it begins again with the password.
const MAX_WRONG_CODES: u32 = 5;

/// A session that began or came further. No Debug: it holds secrets.
pub struct SignedIn {
    /// The session's token, for the cookie; new at each stage. Nobody else ever gets it.
    pub session_token: String,
    /// What every form of this session carries.
    pub csrf_token: String,
    /// The session; its stage says whether the second factor is still to come.
    pub session: OperatorSession,
    /// Who signed in.
    pub operator: Operator,
}

impl SignedIn {
    pub(super) fn new(session_token: String, session: OperatorSession, operator: Operator) -> Self {
        Self { csrf_token: tokens::csrf_token(&session_token), session_token, session, operator }
    }

    /// Whether the second factor is still to come.
    pub fn needs_second_factor(&self) -> bool {
        self.session.stage == SessionStage::SecondFactor
    }
}

/// Why nobody is signed in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The address or the password is wrong; which one is not told, nor whether the operator is disabled.
    #[error("the e-mail address or the password is wrong")]
    Invalid,
    /// Too many wrong ones; nothing was compared.
    #[error("too many wrong ones: try again in {} seconds", .retry_after.as_secs() + 1)]
    Throttled {
        /// When the next one is compared.
        retry_after: Duration,
    },
    /// The password is right, and there is no authenticator where one is required.
    #[error("an authenticator is required here, and none is set up: ask for `dropin operator reset-authenticator`")]
    AuthenticatorMissing,
    /// The sign-in is over: it took too long, or too many codes were wrong.
    #[error("the sign-in is over: begin again with the password")]
    SessionOver,
    /// The code is wrong, or was used before.
    #[error("the code is wrong or was used before: type the next one, or a recovery code")]
    WrongCode,
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
    /// Compares a password. An unknown address costs what a wrong password costs: one read, one hash.
    ///
    /// # Errors
    /// [`SignInError::Invalid`], [`SignInError::Throttled`], [`SignInError::AuthenticatorMissing`], [`SignInError::Busy`], [`SignInError::Store`].
    pub async fn sign_in(&self, email: &str, password: &str, client: &PanelClient) -> Result<SignedIn, SignInError> {
        let email = email_key(email);
        let guess = Guess::new(&*self.secrets, client.address, &email);
        self.throttle
            .take_password(&guess, Instant::now())
            .map_err(|retry_after| SignInError::Throttled { retry_after })?;
        let compared = self.compare(&email, password).await;
        if compared.is_err() {
            self.throttle.give_back_password(&guess);
        }
        let (account, verdict) = compared?;
        let usable = account.as_ref().filter(|account| is_active(&account.operator));
        let stored = usable.and_then(|account| account.credentials.password.clone());
        let (Some(account), Some(stored), PasswordVerdict::Right { rehashed }) = (usable.cloned(), stored, verdict)
        else {
            let why = match (&account, usable) {
                (None, _) => Refusal::UnknownAddress,
                (Some(_), None) => Refusal::NotActive,
                (Some(_), Some(_)) => Refusal::WrongPassword,
            };
            let operator = account.as_ref().map(|account| &account.operator);
            self.store.refuse_sign_in(self.refusal_entry(operator, why, client)).await?;
            return Err(SignInError::Invalid);
        };
        self.throttle.give_back_password(&guess);
        let OperatorAccount { operator, credentials } = account;
        let stage = match (credentials.authenticator, self.policy) {
            (Some(_), _) => SessionStage::SecondFactor,
            (None, SecondFactorPolicy::Optional) => SessionStage::SignedIn,
            (None, SecondFactorPolicy::Required) => {
                let audit = self.refusal_entry(Some(&operator), Refusal::AuthenticatorMissing, client);
                self.store.refuse_sign_in(audit).await?;
                return Err(SignInError::AuthenticatorMissing);
            }
        };
        let (token, session) = self.new_session(operator.id, stage, client);
        let audit = (stage == SessionStage::SignedIn).then(|| self.sign_in_entry(&operator, "NONE", client));
        let over = self.clock.now().minus(SESSION_LIFETIME);
        match self.store.open_operator_session(session.clone(), stored, rehashed, over, audit).await? {
            SessionOpened::Done => {}
            SessionOpened::Changed => return Err(SignInError::Invalid),
        }
        if stage == SessionStage::SignedIn {
            self.throttle.signed_in(&guess);
        }
        Ok(SignedIn::new(token, session.session, operator))
    }

    /// The operator of an address, active or not, and whether the password is its own; an error when nothing was compared.
    async fn compare(
        &self,
        email: &str,
        password: &str,
    ) -> Result<(Option<OperatorAccount>, PasswordVerdict), SignInError> {
        let account = self.store.find_operator_by_email(email).await?;
        let usable = account.as_ref().filter(|account| is_active(&account.operator));
        let stored = usable.and_then(|account| account.credentials.password.clone());
        let verdict = self.hashing.verify(password, stored, self.ids.secret()).await?;
        Ok((account, verdict))
    }

    /// Takes a code of the authenticator or a recovery code, and signs in: the session gets a new token. Each code counts once.
    ///
    /// # Errors
    /// [`SignInError::SessionOver`], [`SignInError::Throttled`], [`SignInError::WrongCode`], [`SignInError::Keyring`], [`SignInError::Store`].
    pub async fn second_factor(
        &self,
        session_token: &str,
        code: &str,
        client: &PanelClient,
    ) -> Result<SignedIn, SignInError> {
        let found = self.store.find_operator_session(session_hash(session_token)).await?;
        let is_pending = |session: &OperatorSession| {
            session.stage == SessionStage::SecondFactor && session.check(self.clock.now()).is_ok()
        };
        let (old, account) = found
            .filter(|(session, account)| is_pending(session) && is_active(&account.operator))
            .ok_or(SignInError::SessionOver)?;
        let OperatorAccount { operator, credentials } = account;
        let guess = Guess::new(&*self.secrets, client.address, &email_key(operator.email.as_str()));
        self.throttle
            .take_second_factor(&guess, Instant::now())
            .map_err(|retry_after| SignInError::Throttled { retry_after })?;
        let Some(factor) = self.factor(&operator, credentials.authenticator.as_ref(), code)? else {
            let audit = self.refusal_entry(Some(&operator), Refusal::WrongCode, client);
            self.store.refuse_second_factor(old.id, MAX_WRONG_CODES, audit).await?;
            return Err(SignInError::WrongCode);
        };
        let kind = match factor {
            SecondFactor::Code { .. } => "AUTHENTICATOR",
            SecondFactor::RecoveryCode(_) => "RECOVERY_CODE",
        };
        let audit = self.sign_in_entry(&operator, kind, client);
        let (token, session) = self.new_session(operator.id, SessionStage::SignedIn, client);
        match self.store.use_second_factor(old.id, session.clone(), factor, audit).await? {
            SecondFactorUsed::Done => {
                self.throttle.signed_in(&guess);
                Ok(SignedIn::new(token, session.session, operator))
            }
            SecondFactorUsed::SessionGone => Err(SignInError::SessionOver),
            SecondFactorUsed::NotUsable => {
                let audit = self.refusal_entry(Some(&operator), Refusal::UsedCode, client);
                self.store.refuse_second_factor(old.id, MAX_WRONG_CODES, audit).await?;
                Err(SignInError::WrongCode)
            }
        }
    }

    /// What a typed code is; `None` when it is surely no code that counts.
    fn factor(
        &self,
        operator: &Operator,
        authenticator: Option<&TotpAuthenticator>,
        code: &str,
    ) -> Result<Option<SecondFactor>, KeyringError> {
        if !totp::is_code(code) {
            let hash = tokens::recovery_code_hash(&*self.secrets, operator.id, code);
            return Ok(Some(SecondFactor::RecoveryCode(hash)));
        }
        let Some(authenticator) = authenticator else { return Ok(None) };
        let secret = self.secrets.open_secret(&authenticator_owner(operator.id), &authenticator.secret)?;
        let step = totp::step_of(&Zeroizing::new(secret), code, self.clock.now())?;
        Ok(step.filter(|step| authenticator.used_step < *step).map(|step| SecondFactor::Code { step }))
    }
}
