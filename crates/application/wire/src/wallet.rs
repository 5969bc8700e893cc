//! The mobile wallet (docs/SPECIFICATION.md#wallet): how its token method is listed, and what its provider's payment session looks like.

use dropin_card::Wallet;
use dropin_catalogue::GooglePayAccount;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What the wallet's payment sheet is told that a merchant can do: 3-D Secure is what every token needs.
const CAPABILITIES: &[&str] = &["supports3DS"];
/// Google Pay's word for the same: the token holds a cryptogram of the device.
const AUTH_METHODS: &[&str] = &["CRYPTOGRAM_3DS"];

/// A token method: one whose payment data come from a wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = TokenMethod)]
pub struct TokenMethodBody {
    /// Which wallet; also the Type of its tokens in the stash.
    #[schema(value_type = String)]
    r#type: &'static str,
    parameters: ParametersBody,
}

/// What a page needs for the wallet's button and payment sheet: that of Apple Pay, or that of Google Pay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = TokenParameters)]
enum ParametersBody {
    ApplePay(ApplePayParametersBody),
    GooglePay(GooglePayParametersBody),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = GooglePayParameters)]
struct GooglePayParametersBody {
    /// For environment of the PaymentsClient: TEST in a sandbox, else PRODUCTION.
    #[schema(value_type = String)]
    environment: &'static str,
    /// For gateway of the tokenization specification.
    gateway: String,
    /// For gatewayMerchantId, beside it.
    gateway_merchant_id: String,
    /// For merchantInfo.merchantId.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// For allowedCardNetworks, as the wallet spells them.
    #[schema(value_type = Vec<String>)]
    supported_networks: Vec<&'static str>,
    /// For allowedAuthMethods.
    #[schema(value_type = Vec<String>)]
    auth_methods: &'static [&'static str],
    /// For countryCode of transactionInfo: where payments are processed, ISO 3166-1 alpha-2.
    country_code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = ApplePayParameters)]
struct ApplePayParametersBody {
    /// By which the wallet's provider knows the merchant.
    merchant_identifier: String,
    /// For supportedNetworks of the payment sheet, as the wallet spells them.
    #[schema(value_type = Vec<String>)]
    supported_networks: Vec<&'static str>,
    /// For merchantCapabilities of the payment sheet.
    #[schema(value_type = Vec<String>)]
    merchant_capabilities: &'static [&'static str],
    /// To be called with validationURL and displayName from the wallet's merchant-validation callback.
    payment_session_url: String,
    /// For countryCode of the payment sheet: where the merchant's account is, ISO 3166-1 alpha-2.
    country_code: String,
}

impl TokenMethodBody {
    /// The entry of Apple Pay for a merchant whose wallet pays with cards of `networks`.
    pub fn apple_pay(
        merchant_identifier: &str,
        networks: Vec<&'static str>,
        country: &str,
        payment_session_url: String,
    ) -> Self {
        Self {
            r#type: Wallet::ApplePay.as_str(),
            parameters: ParametersBody::ApplePay(ApplePayParametersBody {
                merchant_identifier: merchant_identifier.to_owned(),
                supported_networks: networks,
                merchant_capabilities: CAPABILITIES,
                payment_session_url,
                country_code: country.to_owned(),
            }),
        }
    }

    /// The entry of Google Pay for a merchant with this account, whose wallet pays with cards of `networks`; `is_sandbox` where no money moves.
    pub fn google_pay(account: &GooglePayAccount, networks: Vec<&'static str>, is_sandbox: bool) -> Self {
        Self {
            r#type: Wallet::GooglePay.as_str(),
            parameters: ParametersBody::GooglePay(GooglePayParametersBody {
                environment: if is_sandbox { "TEST" } else { "PRODUCTION" },
                gateway: account.gateway().to_owned(),
                gateway_merchant_id: account.gateway_merchant_id().to_owned(),
                merchant_id: account.merchant_id().map(str::to_owned),
                supported_networks: networks,
                auth_methods: AUTH_METHODS,
                country_code: account.country().to_owned(),
            }),
        }
    }
}

/// The wallet's name of a card scheme, where it knows the scheme (Apple Pay on the Web, supportedNetworks; Google Pay, CardParameters).
pub fn network_of(wallet: Wallet, scheme: &str) -> Option<&'static str> {
    let is_apple_pay = wallet == Wallet::ApplePay;
    Some(match scheme {
        "VISA" if is_apple_pay => "visa",
        "MC" if is_apple_pay => "masterCard",
        "AMEX" if is_apple_pay => "amex",
        "DISC" if is_apple_pay => "discover",
        "JCB" if is_apple_pay => "jcb",
        "VISA" => "VISA",
        "MC" => "MASTERCARD",
        "AMEX" => "AMEX",
        "DISC" => "DISCOVER",
        "JCB" => "JCB",
        _ => return None,
    })
}

/// The provider's payment session, which the page hands to the wallet unchanged. It may have more members than these; it ends at `expiresAt`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MerchantSession)]
pub struct MerchantSession {
    /// When it was made, in milliseconds since 1970.
    epoch_timestamp: i64,
    /// When it ends, in milliseconds since 1970.
    expires_at: i64,
    merchant_session_identifier: String,
    nonce: String,
    /// By which the provider knows the merchant.
    merchant_identifier: String,
    /// The domain that the session is good for.
    domain_name: String,
    /// Shown to the shopper.
    display_name: String,
    /// The provider's own.
    signature: String,
}

impl MerchantSession {
    /// Whether `answer` is a payment session for `domain`. What it says beyond that is the wallet's business: it is passed on as it is.
    ///
    /// # Errors
    /// What is wrong with it, without anything of it.
    pub fn check(answer: &[u8], domain: &str) -> Result<(), &'static str> {
        let session: Self = serde_json::from_slice(answer).map_err(|_another| "is not a payment session")?;
        let texts = [
            &session.merchant_session_identifier,
            &session.nonce,
            &session.merchant_identifier,
            &session.display_name,
            &session.signature,
        ];
        if texts.into_iter().any(String::is_empty) {
            return Err("has an empty member");
        }
        if session.domain_name != domain {
            return Err("is for another domain");
        }
        if session.expires_at <= session.epoch_timestamp || session.epoch_timestamp <= 0 {
            return Err("ends before it begins");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn session() -> Value {
        json!({
            "epochTimestamp": 1_795_000_000_000_i64, "expiresAt": 1_795_000_300_000_i64, "merchantSessionIdentifier": "s",
            "nonce": "n", "merchantIdentifier": "m", "domainName": "shop.example", "displayName": "Shop", "signature": "x",
            "retries": 0
        })
    }

    #[test]
    fn a_session_has_the_eight_members() {
        let check = |session: &Value| MerchantSession::check(session.to_string().as_bytes(), "shop.example");
        assert_eq!(check(&session()), Ok(()));
        for (name, _) in session().as_object().unwrap().iter().filter(|(name, _)| *name != "retries") {
            let mut without = session();
            without.as_object_mut().unwrap().remove(name);
            assert!(check(&without).is_err(), "{name} is missing");
            for wrong in [json!(null), json!([]), json!(""), json!(-1)] {
                let mut other = session();
                other[name] = wrong;
                assert!(check(&other).is_err(), "{other}");
            }
        }
        assert!(MerchantSession::check(session().to_string().as_bytes(), "other.example").is_err());
        for other in ["", "[]", "null", "{}", "<html>"] {
            assert!(MerchantSession::check(other.as_bytes(), "shop.example").is_err());
        }
    }

    #[test]
    fn the_entry_is_the_contracts() {
        let url = "https://pay.example/v1/wallet/m/session".to_owned();
        let entry = TokenMethodBody::apple_pay("merchant.example", vec!["visa"], "NL", url.clone());
        assert_eq!(
            serde_json::to_value(&entry).unwrap(),
            json!({"Type": "APPLEPAY", "Parameters": {
                "MerchantIdentifier": "merchant.example", "SupportedNetworks": ["visa"],
                "MerchantCapabilities": ["supports3DS"], "PaymentSessionUrl": url, "CountryCode": "NL"
            }})
        );
        let account = "example:shop-17:NL:BCR2DN4T".parse().unwrap();
        let entry = TokenMethodBody::google_pay(&account, vec!["VISA"], false);
        assert_eq!(
            serde_json::to_value(&entry).unwrap(),
            json!({"Type": "GOOGLEPAY", "Parameters": {
                "Environment": "PRODUCTION", "Gateway": "example", "GatewayMerchantId": "shop-17", "MerchantId": "BCR2DN4T",
                "SupportedNetworks": ["VISA"], "AuthMethods": ["CRYPTOGRAM_3DS"], "CountryCode": "NL"
            }})
        );
        for (wallet, expected) in [(Wallet::ApplePay, "masterCard"), (Wallet::GooglePay, "MASTERCARD")] {
            assert_eq!((network_of(wallet, "MC"), network_of(wallet, "DINERS")), (Some(expected), None));
        }
    }
}
