//! Roles and what they allow: one table, of which guards, documents and tests are made.

use std::fmt;

use dropin_kernel::coded_enum;

use OperatorRole::{Developer, Owner, Reviewer, Support, Viewer};

coded_enum! {
    /// What an operator is there for. An operator may have several roles.
    pub enum OperatorRole: "role" {
        /// Looks at payments.
        Viewer = "viewer",
        /// Helps shoppers: refunds up to a limit.
        Support = "support",
        /// Decides what waits for a review, and what a colleague's refund above a merchant's limit comes to.
        Reviewer = "reviewer",
        /// Connects merchants' servers: endpoints, API users, keys, notifications.
        Developer = "developer",
        /// Everything, other operators included.
        Owner = "owner",
    }
}

/// A set of roles.
///
/// ```
/// use dropin_access::operator::{OperatorRole, OperatorRoles, PanelAction};
///
/// let roles = OperatorRoles::from_iter([OperatorRole::Support, OperatorRole::Developer]);
/// assert!(roles.allow(PanelAction::RefundOrder) && roles.allow(PanelAction::ManageEndpoints));
/// assert!(!roles.allow(PanelAction::ManageOperators));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct OperatorRoles(u8);

impl OperatorRoles {
    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `role` is among them.
    pub const fn contains(self, role: OperatorRole) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    /// Those that are in the set, in the order of [`OperatorRole::ALL`].
    pub fn iter(self) -> impl Iterator<Item = OperatorRole> {
        OperatorRole::ALL.iter().copied().filter(move |role| self.contains(*role))
    }

    /// Whether one of them allows the action.
    pub fn allow(self, action: PanelAction) -> bool {
        action.rule().roles.iter().any(|role| self.contains(*role))
    }

    /// Whether refunds are allowed by support alone, which has a limit.
    pub fn refund_is_limited(self) -> bool {
        self.contains(Support) && !self.contains(Owner)
    }
}

impl FromIterator<OperatorRole> for OperatorRoles {
    fn from_iter<I: IntoIterator<Item = OperatorRole>>(roles: I) -> Self {
        Self(roles.into_iter().fold(0, |set, role| set | (1 << role as u8)))
    }
}

impl fmt::Debug for OperatorRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(OperatorRole::as_str)).finish()
    }
}

impl fmt::Display for OperatorRoles {
    /// Their codes with commas between.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.iter().map(OperatorRole::as_str).collect::<Vec<_>>().join(","))
    }
}

coded_enum! {
    /// Something that the admin panel lets an operator do.
    #[non_exhaustive]
    pub enum PanelAction: "action of the admin panel" {
        /// See the overview, Orders, Sessions, contracts, refunds and their timelines.
        ViewPayments = "payments:view",
        /// Take lists of payments away as files.
        ExportPayments = "payments:export",
        /// Refund an Order, whole or in part.
        RefundOrder = "orders:refund",
        /// Capture what was authorized.
        CaptureOrder = "orders:capture",
        /// Cancel an Order before its capture.
        CancelOrder = "orders:cancel",
        /// Accept or reject an Order that waits for a review.
        ReviewOrder = "orders:review",
        /// Approve or refuse what another operator asked for above a merchant's limit.
        ApproveMoney = "orders:approve",
        /// Accept a dispute, or hand in evidence.
        AnswerDispute = "disputes:answer",
        /// Close a contract.
        CloseContract = "contracts:close",
        /// See notifications with their tries and bytes, and the state of endpoints.
        ViewNotifications = "notifications:view",
        /// Send notifications again, or a test.
        ReplayNotifications = "notifications:replay",
        /// Give up notifications that wait or are parked.
        DiscardNotifications = "notifications:discard",
        /// See merchants, their API users, endpoints, origins and settings.
        ViewMerchants = "merchants:view",
        /// Change a merchant's name, currencies, payment methods, rates and limits.
        ChangeMerchant = "merchants:change",
        /// Create merchants.
        CreateMerchant = "merchants:create",
        /// Add, change and revoke API users, and give them new passwords.
        ManageApiUsers = "api-users:manage",
        /// The same of those that move money by their permissions ([`MONEY_PERMISSIONS`](crate::MONEY_PERMISSIONS)); revoking them is anybody's who manages
        /// API users.
        ManageMoneyUsers = "api-users:manage-money",
        /// Add, change and remove webhook endpoints, and give them new secrets.
        ManageEndpoints = "endpoints:manage",
        /// Change the origins that may embed the drop-in.
        ManageOrigins = "origins:manage",
        /// Switch the screening of a merchant's payments on or off, and change its rules.
        ManageScreening = "screening:manage",
        /// Register and check a merchant's domains for the mobile wallet, and take its certificate away.
        ManageWallet = "wallet:manage",
        /// Make events happen in a sandbox.
        TriggerEvents = "events:trigger",
        /// Compare the ledger with the processor's journal.
        VerifyLedger = "ledger:verify",
        /// Read and search the audit log.
        ViewAuditLog = "audit:view",
        /// Invite, change, disable and reset operators.
        ManageOperators = "operators:manage",
    }
}

/// Where an action is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionReach {
    /// About one merchant's things: for an operator whose scope has that merchant.
    Merchant,
    /// About what belongs to no merchant: for an operator of the whole deployment alone.
    Deployment,
}

/// A row of [`PANEL_ACTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRule {
    /// The action.
    pub action: PanelAction,
    /// Where it is done.
    pub reach: ActionReach,
    /// The roles that allow it.
    pub roles: &'static [OperatorRole],
    /// What the role lets an operator do, for people.
    pub summary: &'static str,
}

impl ActionRule {
    /// The codes of its roles, for people.
    pub fn role_list(&self) -> String {
        self.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ")
    }
}

const fn rule(
    action: PanelAction,
    reach: ActionReach,
    roles: &'static [OperatorRole],
    summary: &'static str,
) -> ActionRule {
    ActionRule { action, reach, roles, summary }
}

const ANYONE: &[OperatorRole] = &[Viewer, Support, Reviewer, Developer, Owner];

/// What each role allows: one row for each action, in the order of [`PanelAction::ALL`].
pub const PANEL_ACTIONS: [ActionRule; PanelAction::ALL.len()] = {
    use ActionReach::{Deployment, Merchant};
    use PanelAction as A;
    [
        rule(A::ViewPayments, Merchant, ANYONE, "see the overview, Orders, Sessions, contracts, refunds and disputes"),
        rule(A::ExportPayments, Merchant, &[Support, Reviewer, Owner], "take lists of payments away as files"),
        rule(A::RefundOrder, Merchant, &[Support, Owner], "refund an Order, whole or in part"),
        rule(A::CaptureOrder, Merchant, &[Support, Owner], "capture what was authorized"),
        rule(A::CancelOrder, Merchant, &[Support, Owner], "cancel an Order before its capture"),
        rule(A::ReviewOrder, Merchant, &[Reviewer, Owner], "accept or reject an Order that waits for a review"),
        rule(
            A::ApproveMoney,
            Merchant,
            &[Reviewer, Owner],
            "approve or refuse a colleague's refund above the merchant's limit",
        ),
        rule(A::AnswerDispute, Merchant, &[Support, Owner], "accept a dispute, or hand in evidence"),
        rule(A::CloseContract, Merchant, &[Support, Owner], "close a contract"),
        rule(A::ViewNotifications, Merchant, ANYONE, "see notifications, their tries and the state of endpoints"),
        rule(A::ReplayNotifications, Merchant, &[Developer, Owner], "send notifications again, or a test"),
        rule(A::DiscardNotifications, Merchant, &[Developer, Owner], "give up notifications that wait or are parked"),
        rule(A::ViewMerchants, Merchant, ANYONE, "see merchants, their API users, endpoints, origins and settings"),
        rule(A::ChangeMerchant, Merchant, &[Owner], "change a merchant's name, currencies, methods, rates and limits"),
        rule(A::CreateMerchant, Deployment, &[Owner], "create merchants"),
        rule(
            A::ManageApiUsers,
            Merchant,
            &[Developer, Owner],
            "add, change and revoke API users, and rotate their passwords",
        ),
        rule(
            A::ManageMoneyUsers,
            Merchant,
            &[Owner],
            "the same of API users that capture, refund or pay server to server; revoking them needs api-users:manage alone",
        ),
        rule(
            A::ManageEndpoints,
            Merchant,
            &[Developer, Owner],
            "add, change and remove endpoints, and rotate their secrets",
        ),
        rule(A::ManageOrigins, Merchant, &[Developer, Owner], "change the origins that may embed the drop-in"),
        rule(
            A::ManageScreening,
            Merchant,
            &[Developer, Owner],
            "switch screening of a merchant's payments on or off, change its rules and try them",
        ),
        rule(
            A::ManageWallet,
            Deployment,
            &[Developer, Owner],
            "register and check domains for the mobile wallet, and take its certificate away",
        ),
        rule(
            A::TriggerEvents,
            Merchant,
            &[Developer, Owner],
            "make events happen in a sandbox, by payments with test numbers",
        ),
        rule(A::VerifyLedger, Deployment, &[Reviewer, Owner], "compare the ledger with the processor's journal"),
        rule(A::ViewAuditLog, Merchant, &[Owner], "read and search the audit log"),
        rule(A::ManageOperators, Deployment, &[Owner], "invite, change, disable and reset operators"),
    ]
};

impl PanelAction {
    /// Its row of [`PANEL_ACTIONS`].
    pub const fn rule(self) -> &'static ActionRule {
        &PANEL_ACTIONS[self as usize]
    }
}
