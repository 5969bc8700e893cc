use std::str::FromStr;
use std::time::Duration;

use diesel::prelude::{Insertable, Queryable, Selectable};
use dropin_access::{
    ApiUser, Endpoint, EndpointSettings, Merchant, MerchantParts, Origin, PasswordHash, Permission, Permissions,
    ProcessorRouting, Retiring, SavedCardSettings, ScreeningSettings, SealedSecret,
};
use dropin_kernel::{ApiUserId, EndpointId, MerchantId};
use dropin_money::Currency;
use dropin_notification::{EventFilter, Schedule};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant, JsonDocument};

use crate::rows::{currency, methods, missing};
use crate::schema::{api_user, endpoint, merchant, merchant_currency, merchant_origin};

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = merchant)]
pub(crate) struct MerchantRow {
    pub(crate) id: Id,
    name: String,
    session_lifetime_micros: i64,
    created_at: Instant,
    sandbox: bool,
    methods: Option<JsonDocument>,
    attempts_allowed: i32,
    saved_cards_offered: bool,
    saved_card_kind: String,
    screening: bool,
    screening_rules_revision: i64,
    processor_routing: Option<String>,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = merchant_currency)]
pub(crate) struct CurrencyRow {
    pub(crate) merchant_id: Id,
    position: i32,
    currency: String,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = merchant_origin)]
pub(crate) struct OriginRow {
    pub(crate) merchant_id: Id,
    position: i32,
    origin: String,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = api_user)]
pub(crate) struct UserRow {
    id: Id,
    merchant_id: Id,
    username: String,
    password: Vec<u8>,
    permissions: String,
    previous_password: Option<Vec<u8>>,
    previous_until: Option<Instant>,
    revoked_at: Option<Instant>,
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = endpoint)]
pub(crate) struct EndpointRow {
    id: Id,
    merchant_id: Id,
    url: String,
    secret: Vec<u8>,
    previous_secret: Option<Vec<u8>>,
    previous_until: Option<Instant>,
    event_types: Option<String>,
    retry: Option<String>,
}

fn positions() -> impl Iterator<Item = i32> {
    0..
}

impl MerchantRow {
    pub(crate) fn new(merchant: &Merchant) -> Result<Self, Fault> {
        Ok(Self {
            id: Id(merchant.id.uuid()),
            name: merchant.name.clone(),
            session_lifetime_micros: lifetime_micros(merchant.session_lifetime)?,
            created_at: Instant(merchant.created_at),
            sandbox: merchant.sandbox,
            methods: methods::write(&merchant.methods)?,
            attempts_allowed: attempts_stored(merchant.attempts_allowed)?,
            saved_cards_offered: merchant.saved_cards.offered,
            saved_card_kind: merchant.saved_cards.kind.as_str().to_owned(),
            screening: merchant.screening.on,
            screening_rules_revision: revision_stored(merchant.screening.rules_revision)?,
            processor_routing: routing_stored(&merchant.processors),
        })
    }

    /// The merchant, with the rows that belong to it in the order of their positions.
    pub(crate) fn restore(self, currencies: Vec<CurrencyRow>, origins: Vec<OriginRow>) -> Result<Merchant, Fault> {
        let lifetime = u64::try_from(self.session_lifetime_micros)
            .map_err(|_negative| missing("merchant", "session_lifetime_micros"))?;
        let parts = MerchantParts {
            id: MerchantId::new(self.id.0),
            name: self.name,
            currencies: currencies
                .iter()
                .map(|row| currency("merchant_currency", &row.currency))
                .collect::<Result<_, _>>()?,
            origins: origins.iter().map(OriginRow::restore).collect::<Result<_, _>>()?,
            session_lifetime: Duration::from_micros(lifetime),
            attempts_allowed: u32::try_from(self.attempts_allowed)
                .map_err(|_negative| missing("merchant", "attempts_allowed"))?,
            saved_cards: SavedCardSettings {
                offered: self.saved_cards_offered,
                kind: self.saved_card_kind.parse().map_err(|_unknown| missing("merchant", "saved_card_kind"))?,
            },
            screening: ScreeningSettings {
                on: self.screening,
                rules_revision: revision_restored(self.screening_rules_revision)?,
            },
            methods: methods::read(self.methods.as_ref())?,
            processors: routing_restored(self.processor_routing.as_deref())?,
            sandbox: self.sandbox,
            created_at: self.created_at.0,
        };
        Merchant::restore(parts).map_err(|why| corrupt("merchant", why.to_string()))
    }
}

/// A merchant's rules of processors, as they are stored; none where it has none.
pub(crate) fn routing_stored(routing: &ProcessorRouting) -> Option<String> {
    (!routing.rules().is_empty()).then(|| routing.to_string())
}

pub(crate) fn routing_restored(text: Option<&str>) -> Result<ProcessorRouting, Fault> {
    let routing = text.map(|text| text.parse().map_err(|_invalid| missing("merchant", "processor_routing")));
    routing.transpose().map(Option::unwrap_or_default)
}

impl CurrencyRow {
    pub(crate) fn all(merchant: MerchantId, currencies: &[Currency]) -> Vec<Self> {
        let row = |(position, currency): (i32, &Currency)| Self {
            merchant_id: Id(merchant.uuid()),
            position,
            currency: currency.code().to_owned(),
        };
        positions().zip(currencies).map(row).collect()
    }
}

impl OriginRow {
    pub(crate) fn all(merchant: MerchantId, origins: &[Origin]) -> Vec<Self> {
        let row = |(position, origin): (i32, &Origin)| Self {
            merchant_id: Id(merchant.uuid()),
            position,
            origin: origin.as_str().to_owned(),
        };
        positions().zip(origins).map(row).collect()
    }

    fn restore(&self) -> Result<Origin, Fault> {
        Origin::parse(&self.origin)
            .ok()
            .filter(|origin| origin.as_str() == self.origin)
            .ok_or_else(|| corrupt("merchant_origin", "the origin is none"))
    }
}

/// A number of attempts, as it is stored.
pub(crate) fn attempts_stored(attempts: u32) -> Result<i32, Fault> {
    i32::try_from(attempts).map_err(|_too_many| Fault::Refused("too many attempts to be stored".to_owned()))
}

/// Microseconds, as a lifetime of Sessions is stored.
pub(crate) fn lifetime_micros(lifetime: Duration) -> Result<i64, Fault> {
    i64::try_from(lifetime.as_micros())
        .map_err(|_too_long| Fault::Refused("the lifetime of Sessions is too long to be stored".to_owned()))
}

/// How often a merchant's rules of screening were changed, as it is stored.
pub(crate) fn revision_stored(revision: u64) -> Result<i64, Fault> {
    i64::try_from(revision).map_err(|_too_many| Fault::Refused("no rules of screening have this revision".to_owned()))
}

/// The same, as it was stored.
pub(crate) fn revision_restored(stored: i64) -> Result<u64, Fault> {
    u64::try_from(stored).map_err(|_negative| missing("merchant", "screening_rules_revision"))
}

/// Permissions as they are stored: their words in the order of the list, with commas between.
pub(crate) fn permission_words(permissions: Permissions) -> String {
    permissions.iter().map(Permission::as_str).collect::<Vec<_>>().join(",")
}

fn read_permissions(words: &str) -> Result<Permissions, Fault> {
    let read: Option<Permissions> = words.split(',').map(|word| word.parse().ok()).collect();
    read.filter(|permissions| permission_words(*permissions) == words)
        .ok_or_else(|| corrupt("api_user", "the permissions are none"))
}

/// A credential of before with its end: both or none, as a constraint says.
pub(crate) fn retiring<T>(
    table: &'static str,
    credential: Option<T>,
    until: Option<Instant>,
) -> Result<Option<Retiring<T>>, Fault> {
    match (credential, until) {
        (None, None) => Ok(None),
        (Some(credential), Some(until)) => Ok(Some(Retiring { credential, until: until.0 })),
        _ => Err(missing(table, "half of the credential of before")),
    }
}

impl UserRow {
    pub(crate) fn new(user: &ApiUser) -> Self {
        Self {
            id: Id(user.id.uuid()),
            merchant_id: Id(user.merchant_id.uuid()),
            username: user.username.clone(),
            password: user.password.0.clone(),
            permissions: permission_words(user.permissions),
            previous_password: user.previous.as_ref().map(|old| old.credential.0.clone()),
            previous_until: user.previous.as_ref().map(|old| Instant(old.until)),
            revoked_at: user.revoked_at.map(Instant),
        }
    }

    pub(crate) fn restore(self) -> Result<ApiUser, Fault> {
        Ok(ApiUser {
            id: ApiUserId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            permissions: read_permissions(&self.permissions)?,
            username: self.username,
            password: PasswordHash(self.password),
            previous: retiring("api_user", self.previous_password.map(PasswordHash), self.previous_until)?,
            revoked_at: self.revoked_at.map(|at| at.0),
        })
    }
}

impl EndpointRow {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            id: Id(endpoint.id.uuid()),
            merchant_id: Id(endpoint.merchant_id.uuid()),
            url: endpoint.url.clone(),
            secret: endpoint.secret.0.clone(),
            previous_secret: endpoint.previous.as_ref().map(|old| old.credential.0.clone()),
            previous_until: endpoint.previous.as_ref().map(|old| Instant(old.until)),
            event_types: endpoint.settings.events.as_ref().map(EventFilter::to_string),
            retry: endpoint.settings.retry.as_ref().map(Schedule::to_string),
        }
    }

    pub(crate) fn restore(self) -> Result<Endpoint, Fault> {
        Ok(Endpoint {
            id: EndpointId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            url: self.url,
            secret: SealedSecret(self.secret),
            previous: retiring("endpoint", self.previous_secret.map(SealedSecret), self.previous_until)?,
            settings: EndpointSettings {
                events: written("endpoint", self.event_types, "event_types")?,
                retry: written("endpoint", self.retry, "retry")?,
            },
        })
    }
}

/// A setting as it was written.
pub(crate) fn written<T: FromStr>(
    table: &'static str,
    text: Option<String>,
    column: &'static str,
) -> Result<Option<T>, Fault> {
    text.map(|text| text.parse().map_err(|_damaged| corrupt(table, column))).transpose()
}
