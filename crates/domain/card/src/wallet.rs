use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A wallet whose tokens are taken; its code is also the id of the payment method (decisions.md section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wallet {
    /// Apple Pay.
    ApplePay,
}

impl Wallet {
    /// Every wallet.
    pub const ALL: [Self; 1] = [Self::ApplePay];

    /// The payment method's id in the catalogue, and the Type of a token.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApplePay => "APPLEPAY",
        }
    }

    /// Reads the id back.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wallet| wallet.as_str() == code)
    }
}

/// What a wallet gave the shopper's page when the payment was authorized in it (contract, POST {stash_url}: token_data). It pays once, like a
/// card's code, so it is kept as a card is.
#[derive(PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct WalletToken {
    #[zeroize(skip)]
    wallet: Wallet,
    data: String,
}

impl WalletToken {
    /// Keeps `data`, a JSON object as text, exactly as it came; the text is taken over without a copy.
    pub fn new(wallet: Wallet, data: impl Into<String>) -> Self {
        Self { wallet, data: data.into() }
    }

    /// Whose it is.
    pub fn wallet(&self) -> Wallet {
        self.wallet
    }

    /// The wallet's payment object, the JSON text byte for byte as it came. For the vault and the processor's adapter only.
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
            assert_eq!(Wallet::from_code(wallet.as_str()), Some(wallet));
        }
        assert_eq!(Wallet::from_code("applepay"), None);
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
