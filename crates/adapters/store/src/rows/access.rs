use std::time::Duration;

use diesel::prelude::{Insertable, Queryable, Selectable};
use dropin_access::{ApiUser, Endpoint, Merchant, Origin, PasswordHash, SealedSecret};
use dropin_kernel::{ApiUserId, EndpointId, MerchantId};

use super::{currency, missing};
use crate::fault::{Fault, corrupt};
use crate::schema::{api_user, endpoint, merchant, merchant_currency, merchant_origin};
use crate::sql::{Id, Instant};

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = merchant)]
pub(crate) struct MerchantRow {
    pub(crate) id: Id,
    name: String,
    session_lifetime_micros: i64,
    created_at: Instant,
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
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = endpoint)]
pub(crate) struct EndpointRow {
    id: Id,
    merchant_id: Id,
    url: String,
    secret: Vec<u8>,
}

fn positions() -> impl Iterator<Item = i32> {
    0..
}

impl MerchantRow {
    pub(crate) fn new(merchant: &Merchant) -> Result<Self, Fault> {
        let micros = i64::try_from(merchant.session_lifetime.as_micros())
            .map_err(|_too_long| Fault::Refused("the lifetime of Sessions is too long to be stored".to_owned()))?;
        Ok(Self {
            id: Id(merchant.id.uuid()),
            name: merchant.name.clone(),
            session_lifetime_micros: micros,
            created_at: Instant(merchant.created_at),
        })
    }

    /// The merchant, with the rows that belong to it in the order of their positions.
    pub(crate) fn restore(self, currencies: Vec<CurrencyRow>, origins: Vec<OriginRow>) -> Result<Merchant, Fault> {
        let lifetime = u64::try_from(self.session_lifetime_micros)
            .map_err(|_negative| missing("merchant", "session_lifetime_micros"))?;
        Ok(Merchant {
            id: MerchantId::new(self.id.0),
            name: self.name,
            currencies: currencies
                .iter()
                .map(|row| currency("merchant_currency", &row.currency))
                .collect::<Result<_, _>>()?,
            origins: origins.iter().map(OriginRow::restore).collect::<Result<_, _>>()?,
            session_lifetime: Duration::from_micros(lifetime),
            created_at: self.created_at.0,
        })
    }
}

impl CurrencyRow {
    pub(crate) fn all(merchant: &Merchant) -> Vec<Self> {
        let row = |(position, currency): (i32, &dropin_money::Currency)| Self {
            merchant_id: Id(merchant.id.uuid()),
            position,
            currency: currency.code().to_owned(),
        };
        positions().zip(&merchant.currencies).map(row).collect()
    }
}

impl OriginRow {
    pub(crate) fn all(merchant: &Merchant) -> Vec<Self> {
        let row = |(position, origin): (i32, &Origin)| Self {
            merchant_id: Id(merchant.id.uuid()),
            position,
            origin: origin.as_str().to_owned(),
        };
        positions().zip(&merchant.origins).map(row).collect()
    }

    fn restore(&self) -> Result<Origin, Fault> {
        Origin::parse(&self.origin)
            .ok()
            .filter(|origin| origin.as_str() == self.origin)
            .ok_or_else(|| corrupt("merchant_origin", "the origin is none"))
    }
}

impl UserRow {
    pub(crate) fn new(user: &ApiUser) -> Self {
        Self {
            id: Id(user.id.uuid()),
            merchant_id: Id(user.merchant_id.uuid()),
            username: user.username.clone(),
            password: user.password.0.clone(),
        }
    }

    pub(crate) fn restore(self) -> ApiUser {
        ApiUser {
            id: ApiUserId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            username: self.username,
            password: PasswordHash(self.password),
        }
    }
}

impl EndpointRow {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            id: Id(endpoint.id.uuid()),
            merchant_id: Id(endpoint.merchant_id.uuid()),
            url: endpoint.url.clone(),
            secret: endpoint.secret.0.clone(),
        }
    }

    pub(crate) fn restore(self) -> Endpoint {
        Endpoint {
            id: EndpointId::new(self.id.0),
            merchant_id: MerchantId::new(self.merchant_id.0),
            url: self.url,
            secret: SealedSecret(self.secret),
        }
    }
}
