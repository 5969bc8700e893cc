//! The mobile wallet: who may show its button, the payment sessions that its provider gives, and what merchants set up for it
//! (docs/SPECIFICATION.md#wallet).

mod association;
mod certificates;
mod offers;
mod sessions;
mod setup;

pub use association::AssociationFile;
pub use certificates::WalletCertificates;
pub use offers::WalletOffers;
pub use sessions::{WalletSessionAsk, WalletSessionError, WalletSessions};
pub use setup::{SetWallet, WalletSetup, WalletSetupError};

use dropin_kernel::MerchantId;

/// What a merchant's certificate and key are sealed for.
pub(crate) fn owner(merchant: MerchantId) -> String {
    format!("wallet of {merchant}")
}
