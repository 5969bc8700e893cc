use dropin_kernel::coded_enum;

coded_enum! {
    /// What was done, in an entry of the audit log (docs/SPECIFICATION.md#audit-log).
    ///
    /// ```
    /// use dropin_access::AuditAction;
    ///
    /// assert_eq!("ORDER_REFUND".parse(), Ok(AuditAction::OrderRefund));
    /// assert!(AuditAction::OrderRefund.moves_money() && !AuditAction::EndpointAdd.moves_money());
    /// ```
    #[non_exhaustive]
    pub enum AuditAction: "action of the audit log" {
        /// A merchant was created.
        MerchantCreate = "MERCHANT_CREATE",
        /// Settings of a merchant were changed.
        MerchantChange = "MERCHANT_CHANGE",
        /// The rates that a merchant is given were changed.
        RatesChange = "RATES_CHANGE",
        /// An API user was added.
        UserAdd = "USER_ADD",
        /// An API user's permissions were changed.
        UserPermissionsChange = "USER_PERMISSIONS_CHANGE",
        /// An API user got a new password.
        UserPasswordRotate = "USER_PASSWORD_ROTATE",
        /// An API user was shut out for ever.
        UserRevoke = "USER_REVOKE",
        /// An endpoint was added.
        EndpointAdd = "ENDPOINT_ADD",
        /// An endpoint's URL, events or schedule were changed.
        EndpointChange = "ENDPOINT_CHANGE",
        /// An endpoint got a new secret.
        EndpointSecretRotate = "ENDPOINT_SECRET_ROTATE",
        /// An endpoint was removed.
        EndpointRemove = "ENDPOINT_REMOVE",
        /// A test was sent to an endpoint.
        EndpointTest = "ENDPOINT_TEST",
        /// An event was made to happen in a sandbox.
        EventTrigger = "EVENT_TRIGGER",
        /// A merchant's wallet certificate was set.
        WalletSet = "WALLET_SET",
        /// A merchant's wallet certificate was taken away.
        WalletRemove = "WALLET_REMOVE",
        /// The key of an account that a merchant has of its own at a processor was set.
        ProcessorAccountSet = "PROCESSOR_ACCOUNT_SET",
        /// The key of such an account was taken away.
        ProcessorAccountRemove = "PROCESSOR_ACCOUNT_REMOVE",
        /// A domain was registered for the wallet.
        WalletDomainAdd = "WALLET_DOMAIN_ADD",
        /// A Session was cancelled.
        SessionCancel = "SESSION_CANCEL",
        /// An Order was captured, or asked to be.
        OrderCapture = "ORDER_CAPTURE",
        /// An Order was cancelled.
        OrderCancel = "ORDER_CANCEL",
        /// Money of an Order was given back.
        OrderRefund = "ORDER_REFUND",
        /// What a processor had done for an Order, and this deployment did not know, was taken up.
        OrderImport = "ORDER_IMPORT",
        /// An Order that was held for review was approved.
        ReviewApprove = "REVIEW_APPROVE",
        /// An Order that was held for review was declined.
        ReviewDecline = "REVIEW_DECLINE",
        /// A dispute was accepted: its money stays with the shopper.
        DisputeAccept = "DISPUTE_ACCEPT",
        /// Evidence was handed in to win a dispute.
        DisputeEvidence = "DISPUTE_EVIDENCE",
        /// A contract was closed.
        ContractClose = "CONTRACT_CLOSE",
        /// Notifications were queued to be sent again.
        NotificationReplay = "NOTIFICATION_REPLAY",
        /// Parked notifications were discarded.
        NotificationDiscard = "NOTIFICATION_DISCARD",
        /// Old notifications were deleted by command.
        NotificationPurge = "NOTIFICATION_PURGE",
        /// A new long-lived key was asked for, and to seal anew what older ones sealed.
        KeyRotate = "KEY_ROTATE",
        /// A long-lived key that seals nothing was to be destroyed.
        KeyDestroy = "KEY_DESTROY",
        /// The database was made to forget its mode or master key.
        DeploymentForget = "DEPLOYMENT_FORGET",
        /// A part of the audit log was exported.
        AuditLogExport = "AUDIT_LOG_EXPORT",
        /// Orders, Sessions or other rows were exported.
        DataExport = "DATA_EXPORT",
        /// An operator was invited.
        OperatorInvite = "OPERATOR_INVITE",
        /// An operator took up an invitation.
        OperatorJoin = "OPERATOR_JOIN",
        /// An operator's roles, merchants or limits were changed.
        OperatorChange = "OPERATOR_CHANGE",
        /// An operator was shut out.
        OperatorRemove = "OPERATOR_REMOVE",
        /// An operator signed in.
        OperatorSignIn = "OPERATOR_SIGN_IN",
        /// Somebody was not let in as an operator.
        OperatorSignInRefuse = "OPERATOR_SIGN_IN_REFUSE",
        /// An operator's session was ended.
        OperatorSignOut = "OPERATOR_SIGN_OUT",
        /// An operator's password was changed or reset.
        OperatorPasswordChange = "OPERATOR_PASSWORD_CHANGE",
        /// An operator's authenticator, passkey or recovery codes were set or taken away.
        OperatorAuthenticatorChange = "OPERATOR_AUTHENTICATOR_CHANGE",
        /// A second operator was asked to agree to an act, or answered.
        ApprovalRequest = "APPROVAL_REQUEST",
        /// A second operator agreed to an act.
        ApprovalGrant = "APPROVAL_GRANT",
        /// A second operator refused an act.
        ApprovalRefuse = "APPROVAL_REFUSE",
        /// An act that was agreed to could not be carried out, and is over.
        ApprovalRelease = "APPROVAL_RELEASE",
    }
}

impl AuditAction {
    /// Whether it moves money, so that a person has to say why.
    pub const fn moves_money(self) -> bool {
        matches!(
            self,
            Self::OrderCapture
                | Self::OrderCancel
                | Self::OrderRefund
                | Self::ReviewApprove
                | Self::ReviewDecline
                | Self::DisputeAccept
        )
    }
}

coded_enum! {
    /// What an entry of the audit log is about.
    #[non_exhaustive]
    pub enum AuditSubjectKind: "subject of the audit log" {
        /// The deployment as a whole, or its database.
        Deployment = "DEPLOYMENT",
        /// A merchant.
        Merchant = "MERCHANT",
        /// An API user, by its user name.
        User = "USER",
        /// An endpoint.
        Endpoint = "ENDPOINT",
        /// A merchant's domain for the wallet, by its name.
        WalletDomain = "WALLET_DOMAIN",
        /// An account that a merchant has of its own at a processor, by its name.
        ProcessorAccount = "PROCESSOR_ACCOUNT",
        /// A Session.
        Session = "SESSION",
        /// An Order.
        Order = "ORDER",
        /// A contract.
        Contract = "CONTRACT",
        /// A notification.
        Notification = "NOTIFICATION",
        /// A request about several notifications, by its own id.
        NotificationRequest = "NOTIFICATION_REQUEST",
        /// A ring of long-lived keys by its name, or one key of it: `master/1795489200-000000ab`.
        Key = "KEY",
        /// An operator.
        Operator = "OPERATOR",
        /// A second operator's consent, by its id.
        Approval = "APPROVAL",
        /// The audit log, by the merchant's id or `deployment`.
        AuditLog = "AUDIT_LOG",
    }
}
