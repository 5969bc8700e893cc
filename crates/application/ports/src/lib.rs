#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod activity;
mod audit;
mod audit_log;
mod back_office;
mod backlog;
mod contract;
mod credential;
mod credential_vault;
mod dispute;
mod event_log;
mod idempotency;
mod ip_countries;
mod keyring;
mod metric;
mod notifications;
mod operator;
mod outbox;
mod payment;
mod processor;
mod processor_account;
mod processor_records;
mod rate_source;
mod rate_store;
mod screening;
mod sealed;
mod session;
mod stash;
mod store;
mod system;
mod wallet;
mod webhook;

pub use access::{
    AccessStore, AccountChanged, EndpointChange, MerchantInserted, MerchantScreeningRules, MerchantSettings,
    NewMerchant, ScreeningRulesChanged, UserChange, UserInserted,
};
pub use activity::{ActivityStore, HeldOrder, HistoryActivity, NotificationActivity, OrderActivity};
pub use audit::{
    AuditStore, AuditedOrder, Balance, CredentialTrace, OrderAuditTrail, OrderRecords, PositionedOperation,
};
pub use audit_log::{
    Acting, AuditChain, AuditCursor, AuditEntry, AuditHead, AuditLog, AuditPage, AuditQuery, AuditScope, AuditSeal,
    AuditSealStore, AuditSealer, AuditSubject, ExportSignature, NewAuditEntry, SealedAuditEntry, SealingLease,
    SealsWritten, Unsealed, UnsealedAuditEntry, UnsealedCount,
};
pub use back_office::{
    BackOfficeStore, DeliveryTroubles, OrderSearch, PaymentTotals, SearchBounds, SearchCursor, SearchFilter,
    SearchPage, SessionSearch,
};
pub use backlog::{Backlog, BacklogStore, EndpointBacklog, EndpointStatus, LastAttempt, STATUS_COUNT_LIMIT};
pub use contract::{
    ChangeContract, ChargeOutcome, ConcludedCharge, ContractName, ContractSettlement, ContractStore, ContractUse,
    CredentialChange, CredentialToDelete,
};
pub use credential::{
    CredentialApproval, CredentialCursor, CredentialDeletion, CredentialListEntry, CredentialListPage,
    CredentialListQuery, CredentialListUnavailable, DeleteCredentialRequest, InvalidStoredCredential,
    InvalidVerificationCode, MAX_STORED_CREDENTIAL_BYTES, StoredCredential, StoredCredentialList,
    StoredCredentialPayment, VerificationCode,
};
pub use credential_vault::{CredentialVault, SealedCredential};
pub use dispute::{
    AnsweredDispute, ChangeDispute, DisputeAnswerRequest, DisputeChanged, DisputeFilter, DisputeReply, DisputeResponse,
    DisputeStore, DisputeWithOrder, DisputesUnavailable, ListedDispute, NewDisputeAnswer, OpenDisputes,
    ProcessorDisputes, ReportedDispute,
};
pub use dropin_risk::IssuerChecks;
pub use event_log::{EventLog, EventLogPage, EventLogPosition, LoggedEvent};
pub use idempotency::{KeyRecord, KeyUse, RequestKey, ResponseStore, ResponseStored, ResponseToStore, StoredResponse};
pub use ip_countries::IpCountries;
pub use keyring::{Fingerprint, KeyringError, SealedCard, SecretKeys, Secrets, StashBinding, StashVault};
pub use metric::{DurationCounts, Histogram, Metric, MetricSample, MetricSource, MetricValues};
pub use notifications::{
    DeliveryState, DeliveryStatus, DiscardRequest, EventsPurged, Notification, NotificationDetails, NotificationFilter,
    NotificationPage, NotificationQuery, NotificationStore, PastAttempt, ReplayCounts, ReplayItem, ReplayRequest,
};
pub use operator::{
    AcceptInvitation, CredentialsChange, FirstInvitation, Invitation, InvitationAccepted, MoneyBasis, MoneyRequested,
    NewInvitation, NewOperatorSession, OpenMoneyRequests, OperatorAccount, OperatorChange, OperatorChanged,
    OperatorCredentials, OperatorInvited, OperatorStore, PhcHash, RecoveryCodeHash, SecondFactor, SecondFactorUsed,
    SessionOpened, SessionsToEnd, TokenHash, TotpAuthenticator,
};
pub use outbox::{
    AttemptRecord, AttemptResult, Claimed, Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries, OutboxStore,
};
pub use payment::{
    AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, LapsedOrder, OpenOperations, OrderChanged,
    OrderDetails, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement, StashUse,
};
pub use processor::{
    AuthorizeRequest, CaptureRequest, JournalEntry, JournalUnavailable, OperationQuery, PaymentMethodData, Processor,
    ProcessorJournal, ProcessorReply, Readiness, RefundRequest, Registration, StatusReply, VoidRequest, Waiting,
};
pub use processor_account::{
    ProcessorAccount, ProcessorAccountPut, ProcessorAccountRemoved, ProcessorAccountStore, ProcessorAccountUse,
};
pub use processor_records::{
    ProcessorRecord, ProcessorRecordPage, ProcessorRecords, ProcessorRecordsUnavailable, RecordList, RecordSpan,
    RecordedMoney,
};
pub use rate_source::{RateSource, RateSourceError, Refreshed, SourceFailure};
pub use rate_store::{OfferSet, OffersInserted, RateSourceCheck, RateSourceState, RateStore, RatesInForce};
pub use screening::{
    ALARM_LASTS, CARD_FACTS_LIFETIME, CardAuthentication, CardFacts, CountableOutcome, CountedPaymentTry,
    EXEMPTED_LIFETIME, HashedVelocityKey, KNOWN_SHOPPER_LIFETIME, NewPaymentTry, OutsideScoreUnavailable,
    OutsideScorer, PaymentTryOutcome, ScreenedPaymentTry, ScreeningStore, TryScreening, VelocityHash, VelocityKeyring,
};
pub use sealed::{SealedKind, SealedStore, SealedValue};
pub use session::{ChangeSession, Inserted, NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder};
pub use stash::{StashEntry, StashFound, StashKey, StashStore, StashSummary, StashUsage};
pub use store::{
    Actor, Applied, Changed, NewEvent, NewHistoryEntry, StoreError, StoreHealth, StoredHistoryEntry, Subject,
};
pub use system::{Clock, IdSource};
pub use wallet::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest, WalletStore};
pub use webhook::{Sent, WebhookRequest, WebhookSender};
