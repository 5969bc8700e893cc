//! Who calls, and how a merchant comes to be.

use std::sync::Arc;
use std::time::Duration;

use dropin_access::{ApiUser, Endpoint, Merchant, Origin, PasswordHash, Permission, Permissions};
use dropin_kernel::{ApiUserId, EndpointId, MerchantId};
use dropin_money::Currency;
use dropin_ports::{AccessStore, Clock, IdSource, KeyringError, MerchantInserted, NewMerchant, Secrets, StoreError};

/// How long an unpaid Session lives unless configured (decisions.md section 3).
const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a user name that is taken is drawn again; one draw has 48 random bits.
const DRAWS: usize = 4;

/// An authenticated API user's merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The API user, for history rows.
    pub username: String,
    /// Its merchant; everything it sees or changes is this merchant's.
    pub merchant: Merchant,
    /// What it may do.
    pub permissions: Permissions,
}

/// The API user is known, but may not do this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the API user lacks the permission {0}")]
pub struct NotPermitted(
    /// What it lacks.
    pub Permission,
);

impl Caller {
    /// Whether it may do that.
    ///
    /// # Errors
    /// [`NotPermitted`].
    pub fn require(&self, permission: Permission) -> Result<(), NotPermitted> {
        if self.permissions.contains(permission) { Ok(()) } else { Err(NotPermitted(permission)) }
    }
}

/// Why a caller is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticateError {
    /// The user name or password is wrong; which one is not told.
    #[error("the user name or password is not valid")]
    Invalid,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks a user name and password (contract, Authentication). An unknown user costs the same work as a wrong password.
///
/// # Errors
/// [`AuthenticateError`].
pub async fn authenticate(
    store: &dyn AccessStore,
    secrets: &dyn Secrets,
    username: &str,
    password: &str,
) -> Result<Caller, AuthenticateError> {
    let credentials = store.find_credentials(username).await?;
    let nobody = PasswordHash(vec![0; 32]);
    let hash = credentials.as_ref().map_or(&nobody, |found| &found.user.password);
    let matches = secrets.verify_password(password, hash);
    match credentials {
        Some(found) if matches => {
            Ok(Caller { username: found.user.username, merchant: found.merchant, permissions: Permissions::all() })
        }
        _ => Err(AuthenticateError::Invalid),
    }
}

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

/// Why no merchant was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateMerchantError {
    /// The keyring failed.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The operator's side of merchant accounts.
#[derive(Clone)]
pub struct Merchants {
    /// Where accounts are kept.
    pub store: Arc<dyn AccessStore>,
    /// Hashes passwords and seals webhook secrets.
    pub secrets: Arc<dyn Secrets>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New ids and secrets.
    pub ids: Arc<dyn IdSource>,
}

impl Merchants {
    /// Creates a merchant with one API user, and an endpoint when it has a webhook URL.
    ///
    /// # Errors
    /// [`CreateMerchantError`].
    pub async fn create(&self, wanted: CreateMerchant) -> Result<MerchantCreated, CreateMerchantError> {
        let id = MerchantId::new(self.ids.random());
        let merchant = Merchant {
            id,
            name: wanted.name,
            currencies: wanted.currencies,
            origins: wanted.origins,
            session_lifetime: SESSION_LIFETIME,
            created_at: self.clock.now(),
        };
        let password = hex(&self.ids.secret());
        let endpoint = wanted.webhook_url.map(|url| self.endpoint(id, url)).transpose()?;
        let (endpoint, webhook_secret) = endpoint.unzip();
        for _ in 0..DRAWS {
            let username = format!("api-{}", hex(&self.ids.secret()[..6]));
            let user = ApiUser {
                id: ApiUserId::new(self.ids.ordered()),
                merchant_id: id,
                username: username.clone(),
                password: self.secrets.hash_password(&password),
            };
            let new = NewMerchant { merchant: merchant.clone(), user, endpoint: endpoint.clone() };
            match self.store.insert_merchant(new).await? {
                MerchantInserted::Done => {
                    return Ok(MerchantCreated { merchant_id: id, username, password, webhook_secret });
                }
                MerchantInserted::DuplicateUsername => {}
            }
        }
        Err(StoreError::Refused("every drawn user name was taken".to_owned()).into())
    }

    fn endpoint(&self, merchant_id: MerchantId, url: String) -> Result<(Endpoint, String), KeyringError> {
        let id = EndpointId::new(self.ids.ordered());
        let secret = self.ids.secret();
        let sealed = self.secrets.seal_secret(&id.to_string(), &secret)?;
        Ok((Endpoint { id, merchant_id, url, secret: sealed }, format!("whsec_{}", base64(&secret))))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 4648 section 4, with padding.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
