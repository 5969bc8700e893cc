#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod address;
mod audit_log;
mod credential;
mod endpoint;
mod merchant;
pub mod operator;
mod origin;
mod permission;
mod rates;
mod routing;
#[cfg(feature = "serde")]
mod serialized;
mod target;
mod user;
mod wallet;

pub use audit_log::{AuditAction, AuditSubjectKind};
pub use credential::{PasswordHash, Retiring, SealedSecret};
pub use endpoint::{Endpoint, EndpointSettings};
pub use merchant::{InvalidMerchant, Merchant, MerchantParts, SavedCardKind, SavedCardSettings, ScreeningSettings};
pub use origin::{InvalidOrigin, Origin};
pub use permission::{MONEY_PERMISSIONS, Permission, Permissions};
pub use rates::{RateChange, RateForm, RateSettings};
pub use routing::{
    InvalidProcessorRouting, InvalidProcessorRule, ProcessorProfile, ProcessorRouting, ProcessorRule, RoutedPayment,
};
pub use target::{TargetPolicy, TargetRefused};
pub use user::ApiUser;
pub use wallet::{
    DomainCheck, DomainState, InvalidHost, InvalidWallet, MerchantIdentifier, RegisteredDomain, ValidationUrlRefused,
    WalletDomain, WalletHost, WalletHosts, WalletIdentity,
};
