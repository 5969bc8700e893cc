//! A merchant's account for Google Pay (docs/SPECIFICATION.md#google-pay).

use std::fmt;
use std::str::FromStr;

/// Most bytes of each part.
const MAX_BYTES: usize = 128;

/// By which Google encrypts for the merchant's processor, and knows the merchant. As text: the gateway's name, the gateway's merchant id, the country
/// of the account and, where there is one, Google's merchant id, with colons between them.
///
/// ```
/// use dropin_catalogue::GooglePayAccount;
///
/// let account: GooglePayAccount = "example:shop-17:NL:BCR2DN4TEXAMPLE".parse()?;
/// assert_eq!((account.gateway(), account.gateway_merchant_id()), ("example", "shop-17"));
/// assert_eq!((account.country(), account.merchant_id()), ("NL", Some("BCR2DN4TEXAMPLE")));
/// assert_eq!(account.to_string(), "example:shop-17:NL:BCR2DN4TEXAMPLE");
/// # Ok::<(), dropin_catalogue::InvalidGooglePayAccount>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GooglePayAccount {
    gateway: String,
    gateway_merchant_id: String,
    country: String,
    merchant_id: Option<String>,
}

/// The text is no [`GooglePayAccount`].
///
/// ```
/// use dropin_catalogue::GooglePayAccount;
///
/// let refused = "example".parse::<GooglePayAccount>().unwrap_err();
/// assert!(refused.to_string().starts_with("must be GATEWAY:GATEWAY_MERCHANT_ID:COUNTRY"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidGooglePayAccount;

impl fmt::Display for InvalidGooglePayAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be GATEWAY:GATEWAY_MERCHANT_ID:COUNTRY or GATEWAY:GATEWAY_MERCHANT_ID:COUNTRY:GOOGLE_MERCHANT_ID, such as \
             example:shop-17:NL:BCR2DN4TEXAMPLE: ids of 1 to 128 of A-Z a-z 0-9 . _ -, the country as two capital letters",
        )
    }
}

impl std::error::Error for InvalidGooglePayAccount {}

impl GooglePayAccount {
    /// Google's name of the processor, for `gateway` of the tokenization specification.
    ///
    /// ```
    /// # use dropin_catalogue::GooglePayAccount;
    /// assert!("a:b:NL".parse::<GooglePayAccount>().is_ok_and(|account| account.gateway() == "a"));
    /// ```
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// The merchant's id at the processor, for `gatewayMerchantId`.
    ///
    /// ```
    /// # use dropin_catalogue::GooglePayAccount;
    /// assert!("a:b:NL".parse::<GooglePayAccount>().is_ok_and(|account| account.gateway_merchant_id() == "b"));
    /// ```
    pub fn gateway_merchant_id(&self) -> &str {
        &self.gateway_merchant_id
    }

    /// Where payments are processed, ISO 3166-1 alpha-2, for `countryCode`.
    ///
    /// ```
    /// # use dropin_catalogue::GooglePayAccount;
    /// assert!("a:b:NL".parse::<GooglePayAccount>().is_ok_and(|account| account.country() == "NL"));
    /// ```
    pub fn country(&self) -> &str {
        &self.country
    }

    /// Google's own id of the merchant, for `merchantInfo.merchantId`: required in production, and unknown in tests.
    ///
    /// ```
    /// # use dropin_catalogue::GooglePayAccount;
    /// assert!("a:b:NL".parse::<GooglePayAccount>().is_ok_and(|account| account.merchant_id().is_none()));
    /// ```
    pub fn merchant_id(&self) -> Option<&str> {
        self.merchant_id.as_deref()
    }
}

impl FromStr for GooglePayAccount {
    type Err = InvalidGooglePayAccount;

    fn from_str(text: &str) -> Result<Self, InvalidGooglePayAccount> {
        let parts: Vec<_> = text.split(':').collect();
        let is_id = |id: &str| {
            (1..=MAX_BYTES).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let (gateway, account, country, merchant) = match parts[..] {
            [gateway, account, country] => (gateway, account, country, None),
            [gateway, account, country, merchant] => (gateway, account, country, Some(merchant)),
            _ => return Err(InvalidGooglePayAccount),
        };
        let is_country = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_country || ![gateway, account].into_iter().chain(merchant).all(is_id) {
            return Err(InvalidGooglePayAccount);
        }
        Ok(Self {
            gateway: gateway.to_owned(),
            gateway_merchant_id: account.to_owned(),
            country: country.to_owned(),
            merchant_id: merchant.map(str::to_owned),
        })
    }
}

impl fmt::Display for GooglePayAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.gateway, self.gateway_merchant_id, self.country)?;
        self.merchant_id.as_ref().map_or(Ok(()), |merchant| write!(f, ":{merchant}"))
    }
}

#[cfg(feature = "serde")]
dropin_kernel::serialize_as_text!(GooglePayAccount);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_back_and_nothing_else_is_one() {
        for text in ["example:shop-17:NL", "stripe:acct_1.x:US:BCR2DN4T"] {
            assert_eq!(text.parse::<GooglePayAccount>().map(|account| account.to_string()).as_deref(), Ok(text));
        }
        let long = format!("a:{}:NL", "x".repeat(129));
        for wrong in ["", "a:b", "a:b:nl", "a:b:NLD", ":b:NL", "a::NL", "a:b:NL:", "a:b:NL:c:d", "a/b:c:NL", &long] {
            assert_eq!(wrong.parse::<GooglePayAccount>(), Err(InvalidGooglePayAccount), "{wrong}");
        }
    }
}
