#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod answers;
mod keyring;
mod outbox;
mod payment;
mod processor;
mod session;
mod stash;
mod store;
mod system;
mod webhook;

pub use access::{
    AccessStore, AccountChanged, EndpointChange, MerchantInserted, MerchantSettings, NewMerchant, UserChange,
    UserInserted,
};
pub use answers::{AnswerKey, AnswerStore, KeyUse, KnownKey, Remember, Remembered, StoredAnswer};
pub use keyring::{Fingerprint, KeyringError, SealedCard, Secrets, StashBinding, StashVault};
pub use outbox::{Delivery, DeliveryKey, DeliveryResult, OutboxStore, ParkedEvent, Replayed};
pub use payment::{
    AuthorizationPrepared, ClaimedOperation, Payment, PaymentStore, PrepareAuthorization, PrepareCapture, Settled,
    Settlement,
};
pub use processor::{AuthorizeRequest, CaptureRequest, Processor, ProcessorAnswer, StatusAnswer};
pub use session::{ChangeSession, Inserted, NewSession, ReplaceSession, Replaced, SessionStore, SessionWithOrder};
pub use stash::{StashEntry, StashKey, StashStore, StashSummary};
pub use store::{Actor, Applied, Changed, History, NewEvent, StoreError, StoreHealth, Subject};
pub use system::{Clock, IdSource};
pub use webhook::{WebhookRequest, WebhookSender};
