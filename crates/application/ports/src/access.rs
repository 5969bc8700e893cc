use std::time::Duration;

use async_trait::async_trait;
use dropin_access::{
    ApiUser, Endpoint, Merchant, Origin, PasswordHash, Permissions, ProcessorRouting, SavedCardKind, SealedSecret,
};
use dropin_catalogue::MerchantMethods;
use dropin_kernel::{EndpointId, MerchantId, Timestamp};
use dropin_money::Currency;
use dropin_notification::{EventFilter, Schedule};

use crate::audit_log::NewAuditEntry;
use crate::store::StoreError;

/// A merchant account to create, whole.
#[derive(Debug, Clone)]
pub struct NewMerchant {
    /// The account, with its currencies and origins.
    pub merchant: Merchant,
    /// Its first API user.
    pub user: ApiUser,
    /// Its webhook endpoint, if it has one.
    pub endpoint: Option<Endpoint>,
    /// The entry of the audit log.
    pub audit: NewAuditEntry,
}

/// What came of creating a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MerchantInserted {
    /// Written.
    Done,
    /// The user name is taken.
    DuplicateUsername,
}

/// What came of adding an API user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserInserted {
    /// Written.
    Done,
    /// The user name is taken.
    DuplicateUsername,
    /// There is no such merchant.
    NoMerchant,
}

/// What came of changing something of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountChanged {
    /// Written.
    Done,
    /// There is no such thing.
    Missing,
    /// It was revoked or removed, which is for ever: nothing was written.
    Ended,
    /// It is another than the change was decided on: nothing was written; load and decide again.
    Stale,
}

/// What of a merchant is to be set; `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MerchantSettings {
    /// The merchant that this was decided on: when it is another by now, nothing is set. `None` sets it whatever it is.
    pub decided_on: Option<Merchant>,
    /// Name shown to shoppers.
    pub name: Option<String>,
    /// Currencies, in place of all that it has.
    pub currencies: Option<Vec<Currency>>,
    /// Origins, in place of all that it has; may be empty.
    pub origins: Option<Vec<Origin>>,
    /// How long an unpaid Session lives, for Sessions created from now on.
    pub session_lifetime: Option<Duration>,
    /// How many attempts to pay a Session allows, for Sessions created from now on.
    pub attempts_allowed: Option<u32>,
    /// Whether returning shoppers are offered the cards that they saved.
    pub saved_cards_offered: Option<bool>,
    /// What AllowContract opens, for cards that are saved from now on.
    pub saved_card_kind: Option<SavedCardKind>,
    /// Whether its payments are screened.
    pub screening: Option<bool>,
    /// What is particular about its payment methods, in place of all that was.
    pub methods: Option<MerchantMethods>,
    /// Which processors its payments go to, for payments that begin from now on, in place of all rules that were.
    pub processors: Option<ProcessorRouting>,
}

/// The rules of screening that a merchant has of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantScreeningRules {
    /// How often they were set or taken away, as in [`ScreeningSettings`](dropin_access::ScreeningSettings).
    pub revision: u64,
    /// A file of rules; `None` where it has none.
    pub text: Option<String>,
}

/// What came of changing a merchant's rules of screening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreeningRulesChanged {
    /// Written.
    Done,
    /// There is no such merchant.
    Missing,
    /// Another change came first: nothing was written; load and decide again.
    Stale,
}

/// One change to an API user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserChange {
    /// It may do exactly this from now on.
    Permissions(Permissions),
    /// A new password; the one of before, while it still counts. One that was retiring already ends here.
    Password {
        /// What the new password is compared with.
        new: PasswordHash,
        /// Until when the password of before counts too; `None` ends it at once.
        old_until: Option<Timestamp>,
    },
    /// Shut out for ever, with every password.
    Revoked(Timestamp),
}

/// One change to a webhook endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointChange {
    /// What waits and what comes goes there.
    Url(String),
    /// The event types that it gets from now on, waiting ones too; `None` for all.
    Events(Option<EventFilter>),
    /// When what fails from now on is tried again; `None` for the deployment's schedule.
    Retry(Option<Schedule>),
    /// A new secret; the one of before signs too while it still counts. One that was retiring already ends here.
    Secret {
        /// Signs from now on.
        new: SealedSecret,
        /// Until when the secret of before signs too; `None` ends it at once.
        old_until: Option<Timestamp>,
    },
    /// Nothing is sent there any more.
    Removed(Timestamp),
}

/// Merchants, their users and their endpoints. A change is written with its entry of the audit log, or neither is.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Creates a merchant with its user and endpoint.
    async fn insert_merchant(&self, new: NewMerchant) -> Result<MerchantInserted, StoreError>;

    /// A merchant by its public id.
    async fn find_merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError>;

    /// Every merchant, oldest first.
    async fn list_merchants(&self) -> Result<Vec<Merchant>, StoreError>;

    /// Sets what is given; [`AccountChanged::Missing`] when there is no such merchant, [`AccountChanged::Stale`] when it is another than it was decided on,
    /// or when its rules of processors name an account of its own that was removed meanwhile, or that it never had.
    async fn set_merchant(
        &self,
        id: MerchantId,
        settings: MerchantSettings,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// A merchant's own rules of screening, with their revision; `None` when there is no such merchant.
    async fn find_screening_rules(&self, merchant: MerchantId) -> Result<Option<MerchantScreeningRules>, StoreError>;

    /// Sets a merchant's own rules of screening, or takes them away, and counts their revision up; `decided_on` is the revision that they are to replace.
    /// `on` switches its screening in the same step.
    async fn set_screening_rules(
        &self,
        merchant: MerchantId,
        decided_on: u64,
        text: Option<String>,
        on: Option<bool>,
        audit: NewAuditEntry,
    ) -> Result<ScreeningRulesChanged, StoreError>;

    /// The user of that name, also one that was revoked: its row alone, so that a wrong password costs what an unknown user costs.
    async fn find_user(&self, username: &str) -> Result<Option<ApiUser>, StoreError>;

    /// Adds a user to a merchant.
    async fn insert_user(&self, user: ApiUser, audit: NewAuditEntry) -> Result<UserInserted, StoreError>;

    /// The merchant's users, revoked ones too, oldest first.
    async fn list_users(&self, merchant: MerchantId) -> Result<Vec<ApiUser>, StoreError>;

    /// Changes the user of that name.
    async fn change_user(
        &self,
        username: &str,
        change: UserChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;

    /// Adds an endpoint to a merchant; [`AccountChanged::Missing`] when there is no such merchant.
    async fn insert_endpoint(&self, endpoint: Endpoint, audit: NewAuditEntry) -> Result<AccountChanged, StoreError>;

    /// The merchant's webhook endpoints, without those that were removed, oldest first.
    async fn list_endpoints(&self, merchant: MerchantId) -> Result<Vec<Endpoint>, StoreError>;

    /// An endpoint, also one that was removed.
    async fn find_endpoint(&self, id: EndpointId) -> Result<Option<Endpoint>, StoreError>;

    /// Changes an endpoint. What waits for one that is removed is parked by [`OutboxStore::park_removed`](crate::OutboxStore::park_removed).
    async fn change_endpoint(
        &self,
        id: EndpointId,
        change: EndpointChange,
        audit: NewAuditEntry,
    ) -> Result<AccountChanged, StoreError>;
}
