#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod answers;
mod audit;
mod backlog;
mod feed;
mod keyring;
mod measure;
mod notifications;
mod outbox;
mod payment;
mod processor;
mod rate_store;
mod rates;
mod session;
mod stash;
mod store;
mod system;
mod wallet;
mod webhook;

pub use access::{
    AccessStore, AccountChanged, EndpointChange, MerchantInserted, MerchantSettings, NewMerchant, UserChange,
    UserInserted,
};
pub use answers::{AnswerKey, AnswerStore, KeyUse, KnownKey, Remember, Remembered, StoredAnswer};
pub use audit::{AuditStore, AuditedOrder, Balance, OrderBooks, OrderFile, PlacedOperation};
pub use backlog::{Backlog, BacklogStore, COUNTED_TO, EndpointBacklog, EndpointStanding, LastTry};
pub use feed::{EventFeed, FeedEvent, FeedPage, FeedPosition};
pub use keyring::{Fingerprint, KeyringError, SealedCard, Secrets, StashBinding, StashVault};
pub use measure::{Measure, Measured, Reading, Spread, Values};
pub use notifications::{
    DeliveryState, Discarding, EventsPurged, Notification, NotificationFile, NotificationFilter, NotificationPage,
    NotificationQuery, NotificationStore, PastTry, ReplayAsked, ReplayItem, ReplayQueued, Standing,
};
pub use outbox::{
    AttemptRecord, Claimed, Delivery, DeliveryKey, DeliveryResult, FinishedDeliveries, FinishedTry, OutboxStore,
};
pub use payment::{
    AuthorizationPrepared, ChangeOrder, CheckoutRecord, ClaimedOperation, LapsedOrder, OpenOperations, OrderChanged,
    OrderDossier, OrderName, Payment, PaymentStore, PrepareAuthorization, Settled, Settlement, StashUse,
};
pub use processor::{
    AuthorizeRequest, CaptureRequest, JournalEntry, JournalUnavailable, Means, Processor, ProcessorAnswer,
    ProcessorJournal, Question, RefundRequest, StatusAnswer, VoidRequest, Waiting,
};
pub use rate_store::{FeedLook, FeedState, OfferSet, OffersInserted, RateBoard, RateStore};
pub use rates::{RateFeed, RateSourceError, Refreshed, SourceFailure};
pub use session::{ChangeSession, Inserted, NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder};
pub use stash::{StashEntry, StashKey, StashStore, StashSummary};
pub use store::{Actor, Applied, Changed, History, NewEvent, PastStep, StoreError, StoreHealth, Subject};
pub use system::{Clock, IdSource};
pub use wallet::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest, WalletStore};
pub use webhook::{Sent, WebhookRequest, WebhookSender};
