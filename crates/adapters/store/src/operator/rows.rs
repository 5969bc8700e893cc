use diesel::prelude::*;
use dropin_access::SealedSecret;
use dropin_access::operator::{
    MoneyRequest, Operator, OperatorRights, OperatorRoles, OperatorScope, OperatorSession, RefundLimits,
};
use dropin_kernel::{MerchantId, MoneyRequestId, OperatorId, OperatorSessionId, OrderId};
use dropin_money::{Amount, Currency};
use dropin_ports::{NewOperatorSession, OperatorAccount, OperatorCredentials, PhcHash, TotpAuthenticator};
use dropin_store_runtime::fault::{Fault, corrupt};
use dropin_store_runtime::sql::{Id, Instant};
use dropin_validation::{Email, Text};

use crate::schema::{money_request, operator, operator_session};

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = operator)]
pub(super) struct OperatorRow {
    pub(super) id: Id,
    name: String,
    email: String,
    email_key: String,
    pub(super) state: String,
    roles: String,
    is_of_deployment: bool,
    pub(super) password: Option<String>,
    authenticator: Option<Vec<u8>>,
    used_step: Option<i64>,
    created_at: Instant,
}

/// What belongs to an operator and stands in other tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) merchants: Vec<Id>,
    pub(super) limits: Vec<(String, i64)>,
    pub(super) recovery_codes: u32,
}

fn wrong(what: &str) -> Fault {
    corrupt("operator", format!("{what} makes no sense"))
}

impl OperatorRow {
    pub(super) fn new(
        operator: &Operator,
        password: Option<&PhcHash>,
        authenticator: Option<&TotpAuthenticator>,
    ) -> Self {
        Self {
            id: Id(operator.id.uuid()),
            name: operator.name.as_str().to_owned(),
            email: operator.email.as_str().to_owned(),
            email_key: dropin_access::operator::email_key(operator.email.as_str()),
            state: operator.state.as_str().to_owned(),
            roles: operator.rights.roles.to_string(),
            is_of_deployment: operator.rights.scope.is_deployment(),
            password: password.map(|password| password.0.clone()),
            authenticator: authenticator.map(|authenticator| authenticator.secret.0.clone()),
            used_step: authenticator.map(|authenticator| authenticator.used_step),
            created_at: Instant(operator.created_at),
        }
    }

    pub(super) fn restore(self, parts: Parts) -> Result<OperatorAccount, Fault> {
        let roles: Option<OperatorRoles> = self.roles.split(',').map(|role| role.parse().ok()).collect();
        let roles = roles.filter(|roles| roles.to_string() == self.roles).ok_or_else(|| wrong("the list of roles"))?;
        let scope = match (self.is_of_deployment, parts.merchants.is_empty()) {
            (true, true) => OperatorScope::Deployment,
            (false, false) => OperatorScope::of_merchants(parts.merchants.iter().map(|id| MerchantId::new(id.0)))
                .ok_or_else(|| wrong("the scope"))?,
            _ => return Err(wrong("the scope")),
        };
        let limits = amounts("operator_refund_limit", &parts.limits)?;
        let refund_limits = RefundLimits::new(limits).ok_or_else(|| wrong("a refund limit"))?;
        let email = Email::restore(&self.email).ok_or_else(|| wrong("the e-mail address"))?;
        if dropin_access::operator::email_key(email.as_str()) != self.email_key {
            return Err(wrong("the key of the e-mail address"));
        }
        let authenticator = match (self.authenticator, self.used_step) {
            (Some(secret), Some(used_step)) => Some(TotpAuthenticator { secret: SealedSecret(secret), used_step }),
            (None, None) => None,
            _ => return Err(wrong("half of the authenticator")),
        };
        Ok(OperatorAccount {
            operator: Operator {
                id: OperatorId::new(self.id.0),
                name: Text::restore(&self.name).ok_or_else(|| wrong("the name"))?,
                email,
                state: self.state.parse().map_err(|_unknown| wrong("the state"))?,
                rights: OperatorRights { roles, scope, refund_limits },
                created_at: self.created_at.0,
            },
            credentials: OperatorCredentials {
                password: self.password.map(PhcHash),
                authenticator,
                recovery_codes_left: parts.recovery_codes,
            },
        })
    }
}

/// Amounts by the codes of their currencies and their minor units.
pub(super) fn amounts(table: &'static str, stored: &[(String, i64)]) -> Result<Vec<Amount>, Fault> {
    stored.iter().map(|(currency, minor)| amount(table, currency, *minor)).collect()
}

fn amount(table: &'static str, currency: &str, minor: i64) -> Result<Amount, Fault> {
    let currency: Currency = currency.parse().map_err(|_unknown| corrupt(table, "the currency is none"))?;
    Amount::from_minor(currency, minor).map_err(|error| corrupt(table, format!("an amount {error}")))
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = operator_session)]
pub(super) struct SessionRow {
    id: Id,
    pub(super) operator_id: Id,
    token_hash: Vec<u8>,
    stage: String,
    wrong_codes: i32,
    created_at: Instant,
    seen_at: Instant,
    client: String,
    user_agent: String,
}

impl SessionRow {
    pub(super) fn new(new: &NewOperatorSession) -> Self {
        let session = &new.session;
        Self {
            id: Id(session.id.uuid()),
            operator_id: Id(session.operator.uuid()),
            token_hash: new.token.0.to_vec(),
            stage: session.stage.as_str().to_owned(),
            wrong_codes: 0,
            created_at: Instant(session.created_at),
            seen_at: Instant(session.seen_at),
            client: session.client.clone(),
            user_agent: session.user_agent.clone(),
        }
    }

    pub(super) fn restore(self) -> Result<OperatorSession, Fault> {
        Ok(OperatorSession {
            id: OperatorSessionId::new(self.id.0),
            operator: OperatorId::new(self.operator_id.0),
            stage: self.stage.parse().map_err(|_unknown| corrupt("operator_session", "the stage is none"))?,
            created_at: self.created_at.0,
            seen_at: self.seen_at.0,
            client: self.client,
            user_agent: self.user_agent,
        })
    }
}

#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = money_request)]
pub(super) struct MoneyRequestRow {
    id: Id,
    kind: String,
    merchant_id: Id,
    order_id: Id,
    currency: String,
    amount_minor: i64,
    note: String,
    requested_by: Id,
    requested_at: Instant,
    state: String,
    decided_by: Option<Id>,
    decided_at: Option<Instant>,
}

impl MoneyRequestRow {
    pub(super) fn new(request: &MoneyRequest) -> Self {
        Self {
            id: Id(request.id.uuid()),
            kind: request.kind.as_str().to_owned(),
            merchant_id: Id(request.merchant.uuid()),
            order_id: Id(request.order.uuid()),
            currency: request.amount.currency().code().to_owned(),
            amount_minor: request.amount.minor(),
            note: request.note.clone(),
            requested_by: Id(request.requested_by.uuid()),
            requested_at: Instant(request.requested_at),
            state: request.state.as_str().to_owned(),
            decided_by: request.decided_by.map(|id| Id(id.uuid())),
            decided_at: request.decided_at.map(Instant),
        }
    }

    pub(super) fn restore(self) -> Result<MoneyRequest, Fault> {
        let table = "money_request";
        Ok(MoneyRequest {
            id: MoneyRequestId::new(self.id.0),
            kind: self.kind.parse().map_err(|_unknown| corrupt(table, "the kind is none"))?,
            merchant: MerchantId::new(self.merchant_id.0),
            order: OrderId::new(self.order_id.0),
            amount: amount(table, &self.currency, self.amount_minor)?,
            note: self.note,
            requested_by: OperatorId::new(self.requested_by.0),
            requested_at: self.requested_at.0,
            state: self.state.parse().map_err(|_unknown| corrupt(table, "the state is none"))?,
            decided_by: self.decided_by.map(|id| OperatorId::new(id.0)),
            decided_at: self.decided_at.map(|at| at.0),
        })
    }
}
