//! What the audit log is told of operators. A refused sign-in names nobody who was not found: people type passwords into the wrong field.

use dropin_access::operator::{MoneyRequest, Operator, OperatorRights, OperatorScope};
use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_kernel::AuditEntryId;
use dropin_money::Amount;
use dropin_ports::{Acting, Actor, AuditSubject, NewAuditEntry};
use dropin_wire::audit_log::Document;

use super::manage::ManagedBy;
use super::sessions::CurrentOperator;
use super::{Operators, PanelClient};

/// Why somebody is not let in, for the audit log alone.
#[derive(Debug, Clone, Copy)]
pub(super) enum Refusal {
    UnknownAddress,
    WrongPassword,
    NotActive,
    AuthenticatorMissing,
    WrongCode,
    UsedCode,
}

impl Refusal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownAddress => "UNKNOWN_ADDRESS",
            Self::WrongPassword => "WRONG_PASSWORD",
            Self::NotActive => "NOT_ACTIVE",
            Self::AuthenticatorMissing => "AUTHENTICATOR_MISSING",
            Self::WrongCode => "WRONG_CODE",
            Self::UsedCode => "USED_CODE",
        }
    }
}

impl CurrentOperator {
    /// Who acts, for the audit log: the operator by its e-mail address, from where its session began; `note` says why.
    pub fn acting(&self, note: Option<String>) -> Acting {
        Acting { note, ..by_operator(&self.operator, self.session.client.parse().ok()) }
    }
}

impl ManagedBy<'_> {
    pub(super) fn acting(self) -> Acting {
        match self {
            Self::Operator(current) => current.acting(None),
            Self::CommandLine(acting) => acting.clone(),
        }
    }
}

pub(super) fn by_operator(operator: &Operator, address: Option<std::net::IpAddr>) -> Acting {
    Acting::new(Actor::Operator(operator.email.as_str().to_owned()), address)
}

pub(super) fn subject(operator: &Operator) -> AuditSubject {
    AuditSubject::new(AuditSubjectKind::Operator, operator.id.to_string())
}

pub(super) fn operator_document(operator: &Operator) -> Document {
    let document = Document::new()
        .text("Email", operator.email.as_str())
        .text("Name", operator.name.as_str())
        .text("State", operator.state);
    rights_document(document, &operator.rights)
}

pub(super) fn rights_document(document: Document, rights: &OperatorRights) -> Document {
    let document =
        document.texts("Roles", rights.roles.iter()).texts("RefundLimits", amounts(rights.refund_limits.iter()));
    match &rights.scope {
        OperatorScope::Deployment => document.flag("WholeDeployment", true),
        OperatorScope::Merchants(merchants) => document.flag("WholeDeployment", false).texts("Merchants", merchants),
    }
}

pub(super) fn amounts<'a>(all: impl IntoIterator<Item = &'a Amount>) -> Vec<String> {
    all.into_iter().map(|amount| format!("{amount:#}")).collect()
}

impl Operators {
    pub(super) fn entry(&self, acting: Acting, action: AuditAction, subject: AuditSubject) -> NewAuditEntry {
        NewAuditEntry {
            id: AuditEntryId::new(self.ids.ordered()),
            merchant_id: None,
            acting,
            action,
            subject,
            before: None,
            after: None,
            at: self.clock.now(),
        }
    }

    /// Of an act of an operator on its own account.
    pub(super) fn own_entry(&self, operator: &Operator, action: AuditAction, client: &PanelClient) -> NewAuditEntry {
        self.entry(by_operator(operator, Some(client.address)), action, subject(operator))
    }

    pub(super) fn sign_in_entry(&self, operator: &Operator, factor: &str, client: &PanelClient) -> NewAuditEntry {
        let after = Document::new().text("SecondFactor", factor).finish();
        NewAuditEntry { after: Some(after), ..self.own_entry(operator, AuditAction::OperatorSignIn, client) }
    }

    pub(super) fn refusal_entry(
        &self,
        operator: Option<&Operator>,
        why: Refusal,
        client: &PanelClient,
    ) -> NewAuditEntry {
        let acting = Acting::new(Actor::System, Some(client.address));
        let subject = operator.map_or_else(AuditSubject::deployment, subject);
        let after = Document::new().text("Reason", why.as_str()).finish();
        NewAuditEntry { after: Some(after), ..self.entry(acting, AuditAction::OperatorSignInRefuse, subject) }
    }

    pub(super) fn approval_entry(
        &self,
        by: &CurrentOperator,
        action: AuditAction,
        request: &MoneyRequest,
        note: Option<String>,
    ) -> NewAuditEntry {
        let subject = AuditSubject::new(AuditSubjectKind::Approval, request.id.to_string());
        let after = Document::new()
            .text("Kind", request.kind)
            .text("Order", request.order)
            .text("Amount", format!("{:#}", request.amount))
            .text("State", request.state)
            .finish();
        NewAuditEntry {
            merchant_id: Some(request.merchant),
            after: Some(after),
            ..self.entry(by.acting(note), action, subject)
        }
    }
}
