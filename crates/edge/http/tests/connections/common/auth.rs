//! Two merchants and their API users, without a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, Route, web};
use async_trait::async_trait;
use dropin_access::{ApiUser, Endpoint, Merchant, MerchantParts, PasswordHash, Permission, Permissions, SealedSecret};
use dropin_http::{ApiOperation, AuthState, BasicAuthCaller, json, mount};
use dropin_kernel::{ApiUserId, EndpointId, MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_ports::{
    AccessStore, AccountChanged, Clock, EndpointChange, Fingerprint, KeyringError, MerchantInserted,
    MerchantScreeningRules, MerchantSettings, NewAuditEntry, NewMerchant, ScreeningRulesChanged, Secrets, StoreError,
    UserChange, UserInserted,
};
use dropin_usecases::access::{Authenticator, FailureLimit};
use uuid::Uuid;

/// Knows the users `ana` and `bob`, each of a merchant of its own, and counts how often somebody asks.
#[derive(Default)]
pub(crate) struct Users(AtomicUsize);

impl Users {
    /// How often a user was looked up.
    pub(crate) fn lookups(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

const EPOCH: Timestamp = Timestamp::from_micros(0);

fn merchant_id(username: &str) -> MerchantId {
    MerchantId::new(Uuid::from_u128(u128::from(username.as_bytes()[0])))
}

fn elsewhere<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("this store only knows who may come in".to_owned()))
}

#[async_trait]
impl AccessStore for Users {
    async fn find_user(&self, username: &str) -> Result<Option<ApiUser>, StoreError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let merchant = merchant_id(username);
        let user = || {
            let id = ApiUserId::new(merchant.uuid());
            ApiUser::new(id, merchant, username.to_owned(), PasswordHash(b"right".to_vec()), Permissions::all())
        };
        Ok(["ana", "bob"].contains(&username).then(user))
    }

    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        let (name, session_lifetime) = ("A shop".to_owned(), Duration::from_secs(60));
        let (currencies, origins) = (vec![Currency::Usd], Vec::new());
        let methods = Default::default();
        let parts = MerchantParts {
            id,
            name,
            currencies,
            origins,
            methods,
            session_lifetime,
            attempts_allowed: 5,
            saved_cards: Default::default(),
            screening: Default::default(),
            processors: Default::default(),
            sandbox: true,
            created_at: EPOCH,
        };
        Ok(Merchant::restore(parts).ok())
    }

    async fn insert_merchant(&self, _: NewMerchant) -> Result<MerchantInserted, StoreError> {
        elsewhere()
    }

    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError> {
        elsewhere()
    }

    async fn set_merchant(
        &self,
        _: MerchantId,
        _: MerchantSettings,
        _: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        elsewhere()
    }

    async fn find_screening_rules(&self, _: MerchantId) -> Result<Option<MerchantScreeningRules>, StoreError> {
        elsewhere()
    }

    async fn set_screening_rules(
        &self,
        _: MerchantId,
        _: u64,
        _: Option<String>,
        _: Option<bool>,
        _: NewAuditEntry,
    ) -> Result<ScreeningRulesChanged, StoreError> {
        elsewhere()
    }

    async fn insert_user(&self, _: ApiUser, _: NewAuditEntry) -> Result<UserInserted, StoreError> {
        elsewhere()
    }

    async fn list_users(&self, _: MerchantId) -> Result<Vec<ApiUser>, StoreError> {
        elsewhere()
    }

    async fn change_user(&self, _: &str, _: UserChange, _: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        elsewhere()
    }

    async fn insert_endpoint(&self, _: Endpoint, _: NewAuditEntry) -> Result<AccountChanged, StoreError> {
        elsewhere()
    }

    async fn list_endpoints(&self, _: MerchantId) -> Result<Vec<Endpoint>, StoreError> {
        elsewhere()
    }

    async fn find_endpoint(&self, _: EndpointId) -> Result<Option<Endpoint>, StoreError> {
        elsewhere()
    }

    async fn change_endpoint(
        &self,
        _: EndpointId,
        _: EndpointChange,
        _: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError> {
        elsewhere()
    }
}

/// Hides nothing.
struct PlaintextSecrets;

impl Secrets for PlaintextSecrets {
    fn hash_password(&self, password: &str) -> PasswordHash {
        PasswordHash(password.as_bytes().to_vec())
    }

    fn verify_password(&self, password: &str, hash: Option<&PasswordHash>) -> bool {
        hash.is_some_and(|hash| hash.0 == password.as_bytes())
    }

    fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        let mut print = [0; 32];
        for (place, byte) in print.iter_mut().zip(parts.join(&0)) {
            *place = byte;
        }
        Fingerprint(print)
    }

    fn seal_secret(&self, _: &str, secret: &[u8]) -> Result<SealedSecret, KeyringError> {
        Ok(SealedSecret(secret.to_vec()))
    }

    fn open_secret(&self, _: &str, sealed: &SealedSecret) -> Result<Vec<u8>, KeyringError> {
        Ok(sealed.0.clone())
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        EPOCH
    }
}

/// `GET /mine` for merchants and `GET /public` for anybody.
static OPERATIONS: [ApiOperation; 2] = [
    ApiOperation {
        name: "mine",
        method: Method::GET,
        path: "/mine",
        query: &[],
        permission: Some(Permission::SessionRead),
        handler: mine,
    },
    ApiOperation {
        name: "public",
        method: Method::GET,
        path: "/public",
        query: &[],
        permission: None,
        handler: public,
    },
];

fn mine() -> Route {
    web::to(|caller: BasicAuthCaller| async move { json(StatusCode::OK, &caller.0.username) })
}

fn public() -> Route {
    web::to(|| async { HttpResponse::Ok().finish() })
}

/// Mounts both operations; wrong passwords alone are never throttled.
pub(crate) fn configure(users: &Arc<Users>) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    let limit = FailureLimit { per_minute: 0 };
    let authenticator =
        Authenticator::new(users.clone(), Arc::new(PlaintextSecrets), Arc::new(FixedClock), true, limit);
    let auth = AuthState(Arc::new(authenticator));
    move |config| {
        config.app_data(web::Data::new(auth.clone()));
        mount(config, &OPERATIONS);
    }
}
