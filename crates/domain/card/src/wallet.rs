use std::fmt;

use dropin_kernel::coded_enum;
use zeroize::{Zeroize, ZeroizeOnDrop};

coded_enum! {
    /// A wallet whose tokens are taken; its code is also the id of the payment method (docs/SPECIFICATION.md#wallet).
    ///
    /// ```
    /// use dropin_card::Wallet;
    ///
    /// assert_eq!("APPLEPAY".parse(), Ok(Wallet::ApplePay));
    /// ```
    #[non_exhaustive]
    pub enum Wallet: "wallet" {
        /// Apple Pay.
        ApplePay = "APPLEPAY",
        /// Google Pay.
        GooglePay = "GOOGLEPAY",
    }
}

/// What a wallet gave the shopper's page when the payment was authorized in it (docs/SPECIFICATION.md#stash-fields). It pays once, like a
/// card's code, so it is kept as a card is: it cannot be serialized, Debug shows whose it is alone, and it wipes itself when dropped.
///
/// ```
/// use dropin_card::{Wallet, WalletToken};
///
/// let token = WalletToken::new(Wallet::ApplePay, r#"{"paymentData":"c2VjcmV0"}"#);
/// assert_eq!(format!("{token:?}"), "WalletToken(APPLEPAY, ..)");
/// ```
///
/// ```compile_fail,E0599
/// dropin_card::WalletToken::new(dropin_card::Wallet::ApplePay, "{}").to_string();
/// ```
#[derive(PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct WalletToken {
    #[zeroize(skip)]
    wallet: Wallet,
    data: String,
}

impl WalletToken {
    /// Keeps `data`, a JSON object as text, exactly as it came; the text is taken over without a copy.
    ///
    /// ```
    /// # use dropin_card::{Wallet, WalletToken};
    /// assert_eq!(WalletToken::new(Wallet::ApplePay, "{ }").expose_data(), "{ }");
    /// ```
    pub fn new(wallet: Wallet, data: impl Into<String>) -> Self {
        Self { wallet, data: data.into() }
    }

    /// Whose it is.
    ///
    /// ```
    /// # use dropin_card::{Wallet, WalletToken};
    /// assert_eq!(WalletToken::new(Wallet::ApplePay, "{}").wallet(), Wallet::ApplePay);
    /// ```
    pub fn wallet(&self) -> Wallet {
        self.wallet
    }

    /// The wallet's payment object, the JSON text byte for byte as it came. For the vault and the processor's adapter only.
    ///
    /// ```
    /// # use dropin_card::{Wallet, WalletToken};
    /// assert_eq!(WalletToken::new(Wallet::ApplePay, "{ }").expose_data().len(), 3);
    /// ```
    pub fn expose_data(&self) -> &str {
        &self.data
    }
}

impl fmt::Debug for WalletToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WalletToken({}, ..)", self.wallet.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back() {
        for wallet in Wallet::ALL {
            assert_eq!(wallet.as_str().parse(), Ok(wallet));
        }
        assert!("applepay".parse::<Wallet>().is_err());
    }

    #[test]
    fn debug_shows_whose_it_is_and_nothing_of_it() {
        let token = WalletToken::new(Wallet::ApplePay, r#"{"paymentData":"c2VjcmV0"}"#);
        assert_eq!(format!("{token:?}"), "WalletToken(APPLEPAY, ..)");
    }

    #[test]
    fn wiping_leaves_nothing() {
        let mut token = WalletToken::new(Wallet::ApplePay, "{}");
        token.zeroize();
        assert_eq!(token.expose_data(), "");
    }
}
