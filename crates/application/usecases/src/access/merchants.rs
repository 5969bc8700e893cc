//! Merchant accounts.

use std::time::Duration;

use dropin_access::{
    ApiUser, AuditAction, Endpoint, Merchant, MerchantParts, Origin, Permissions, ProcessorRouting, SavedCardSettings,
    ScreeningSettings,
};
use dropin_catalogue::MerchantMethods;
use dropin_kernel::{ApiUserId, MerchantId, ViolationCode, Violations};
use dropin_money::Currency;
use dropin_ports::{AccessStore, AccountChanged, MerchantInserted, MerchantSettings, NewMerchant};
use dropin_session::{DEFAULT_ATTEMPTS, MAX_ATTEMPTS};
use dropin_validation::Text;

use super::{AccountError, DRAWS, Merchants, USERNAME_PREFIX, unlucky};
use crate::audit_log::{merchant_document, settings_document};

/// How long an unpaid Session lives unless configured (docs/SPECIFICATION.md#session-lifetime).
const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Shorter ones would end while a shopper types.
const SHORTEST_LIFETIME: Duration = Duration::from_secs(60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A merchant to create.
#[derive(Debug, Clone)]
pub struct CreateMerchant {
    /// Name shown to shoppers.
    pub name: String,
    /// Where it is told of changes.
    pub webhook_url: Option<String>,
    /// Origins whose pages embed the drop-in.
    pub origins: Vec<Origin>,
    /// Currencies it may charge in.
    pub currencies: Vec<Currency>,
}

/// A new merchant's credentials, shown this once. No Debug: they are secret.
pub struct MerchantCreated {
    /// Public id.
    pub merchant_id: MerchantId,
    /// API user name.
    pub username: String,
    /// API password: 256 random bits.
    pub password: String,
    /// Signs notifications (Standard Webhooks): `whsec_` and 32 random bytes in base64; `None` without a webhook URL.
    pub webhook_secret: Option<String>,
}

/// A merchant with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantAccount {
    /// The merchant.
    pub merchant: Merchant,
    /// Its API users, revoked ones too.
    pub users: Vec<ApiUser>,
    /// Its webhook endpoints.
    pub endpoints: Vec<Endpoint>,
}

impl MerchantAccount {
    /// One merchant with all that belongs to it; needs no keys.
    ///
    /// # Errors
    /// [`AccountError::NoMerchant`], [`AccountError::Store`].
    pub async fn load(store: &dyn AccessStore, id: MerchantId) -> Result<Self, AccountError> {
        let merchant = store.find_merchant(id).await?.ok_or(AccountError::NoMerchant)?;
        let users = store.list_users(id).await?;
        Ok(Self { merchant, users, endpoints: store.list_endpoints(id).await? })
    }
}

impl Merchants {
    /// Creates a merchant of this deployment's kind with one API user that may do everything, and an endpoint when it has a webhook URL.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Name, WebhookUrl, Currencies, Origins), [`AccountError::Keyring`], [`AccountError::Store`].
    pub async fn create(&self, wanted: CreateMerchant) -> Result<MerchantCreated, AccountError> {
        let mut wrong = Violations::new();
        let name = check_name(&mut wrong, &wanted.name);
        let currencies = check_currencies(&mut wrong, wanted.currencies);
        let origins = self.check_origins(&mut wrong, wanted.origins);
        let url = wanted.webhook_url.map(|url| self.check_webhook_url("WebhookUrl", &url));
        let url = url.and_then(|url| wrong.check(url));
        if !wrong.is_empty() {
            return Err(AccountError::Invalid(wrong.into_sorted()));
        }
        let id = MerchantId::new(self.ids.random());
        let merchant = Merchant::restore(MerchantParts {
            id,
            name,
            currencies,
            origins,
            session_lifetime: SESSION_LIFETIME,
            attempts_allowed: DEFAULT_ATTEMPTS,
            saved_cards: SavedCardSettings::default(),
            screening: ScreeningSettings::of_new_merchant(self.targets.is_sandbox()),
            methods: MerchantMethods::default(),
            processors: ProcessorRouting::default(),
            sandbox: self.targets.is_sandbox(),
            created_at: self.clock.now(),
        })?;
        let password = self.password();
        let (endpoint, webhook_secret) = url.map(|url| self.new_endpoint(id, url)).transpose()?.unzip();
        for _ in 0..DRAWS {
            let username = self.username(USERNAME_PREFIX);
            let hash = self.secrets.hash_password(&password);
            let user_id = ApiUserId::new(self.ids.ordered());
            let user = ApiUser::new(user_id, id, username.clone(), hash, Permissions::all());
            let after = merchant_document(&merchant).text("Username", &username);
            let after = after.optional("EndpointId", endpoint.as_ref().map(|endpoint| endpoint.id));
            let audit = self.entry(id, AuditAction::MerchantCreate, id).with_after(after.finish());
            let new = NewMerchant { merchant: merchant.clone(), user, endpoint: endpoint.clone(), audit };
            match self.store.insert_merchant(new).await? {
                MerchantInserted::Done => {
                    return Ok(MerchantCreated { merchant_id: id, username, password, webhook_secret });
                }
                MerchantInserted::DuplicateUsername => {}
            }
        }
        Err(unlucky())
    }

    /// Changes a merchant's settings; running services follow within two seconds. Whether it is a sandbox account never changes.
    ///
    /// # Errors
    /// [`AccountError::Invalid`] (Name, Currencies, Origins, SessionLifetime, Attempts), [`AccountError::NoMerchant`],
    /// [`AccountError::Changed`], [`AccountError::Store`].
    pub async fn set(&self, id: MerchantId, wanted: MerchantSettings) -> Result<Merchant, AccountError> {
        let mut wrong = Violations::new();
        let settings = MerchantSettings {
            decided_on: wanted.decided_on,
            name: wanted.name.map(|name| check_name(&mut wrong, &name)),
            currencies: wanted.currencies.map(|currencies| check_currencies(&mut wrong, currencies)),
            origins: wanted.origins.map(|origins| self.check_origins(&mut wrong, origins)),
            session_lifetime: wanted.session_lifetime,
            attempts_allowed: wanted.attempts_allowed,
            saved_cards_offered: wanted.saved_cards_offered,
            saved_card_kind: wanted.saved_card_kind,
            screening: wanted.screening,
            methods: wanted.methods,
            processors: wanted.processors,
        };
        if settings.session_lifetime.is_some_and(|lifetime| !(SHORTEST_LIFETIME..=LONGEST_LIFETIME).contains(&lifetime))
        {
            wrong.push("SessionLifetime", ViolationCode::OutOfRange, "must be from one minute to 30 days");
        }
        if settings.attempts_allowed.is_some_and(|attempts| !(1..=MAX_ATTEMPTS).contains(&attempts)) {
            wrong.push("Attempts", ViolationCode::OutOfRange, format!("must be from 1 to {MAX_ATTEMPTS}"));
        }
        if !wrong.is_empty() {
            return Err(AccountError::Invalid(wrong.into_sorted()));
        }
        let before = self.merchant(id).await?;
        let nothing = MerchantSettings { decided_on: settings.decided_on.clone(), ..MerchantSettings::default() };
        if settings == nothing {
            return Ok(before);
        }
        let entry = self.entry(id, AuditAction::MerchantChange, id);
        let entry = entry.with_before(merchant_document(&before).finish());
        let entry = entry.with_after(settings_document(&settings).finish());
        match self.store.set_merchant(id, settings, entry).await? {
            AccountChanged::Done => self.merchant(id).await,
            AccountChanged::Stale => Err(AccountError::Changed),
            AccountChanged::Missing | AccountChanged::Ended => Err(AccountError::NoMerchant),
        }
    }

    /// In production pages are https, since a card is typed in a frame of theirs.
    fn check_origins(&self, wrong: &mut Violations, origins: Vec<Origin>) -> Vec<Origin> {
        let origins = once(origins);
        if Merchant::MAX_ORIGINS < origins.len() {
            let why = format!("must be at most {}", Merchant::MAX_ORIGINS);
            wrong.push("Origins", ViolationCode::OutOfRange, why);
        }
        if !self.targets.is_sandbox() && !origins.iter().all(Origin::is_secure) {
            wrong.push("Origins", ViolationCode::NotAllowed, "must begin with https:// in production");
        }
        origins
    }

    pub(super) async fn merchant(&self, id: MerchantId) -> Result<Merchant, AccountError> {
        self.store.find_merchant(id).await?.ok_or(AccountError::NoMerchant)
    }
}

fn check_name(wrong: &mut Violations, raw: &str) -> String {
    wrong.check(Text::parse("Name", raw)).map(Text::into_string).unwrap_or_default()
}

/// Each once, in the order given.
fn once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    all.into_iter().fold(Vec::new(), |mut kept, one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
        kept
    })
}

fn check_currencies(wrong: &mut Violations, currencies: Vec<Currency>) -> Vec<Currency> {
    if currencies.is_empty() {
        wrong.push("Currencies", ViolationCode::Missing, "must name at least one currency");
    }
    once(currencies)
}
