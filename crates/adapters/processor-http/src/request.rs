//! What we ask: PascalCase JSON, amounts as exact decimals, card data in one buffer that wipes itself.

use dropin_card::{Card, Scheme, WalletToken};
use dropin_money::Amount;
use dropin_ports::{
    AuthorizeRequest, CaptureRequest, DeleteCredentialRequest, PaymentMethodData, RefundRequest,
    StoredCredentialPayment, VerificationCode, VoidRequest,
};
use dropin_risk::ScaExemption;
use serde::Serialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// Everything in a body but free texts, with room to spare.
const FRAME: usize = 1_024;
/// Most bytes that one byte of a text takes in JSON: `\u0000`.
const ESCAPED: usize = 6;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Authorization<'a> {
    amount: Box<RawValue>,
    currency: &'static str,
    order_id: String,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<CardBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<TokenBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shopper_country: Option<&'a str>,
    review_allowed: bool,
    /// Left out where nobody has to authenticate: a processor that does not know it is asked as before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    challenge: bool,
    /// Left out likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    exemption: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_reference: Option<&'a str>,
    /// Whose stored card it is, or will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    merchant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<CredentialBody<'a>>,
}

/// A payment by a stored card.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CredentialBody<'a> {
    reference: &'a str,
    r#use: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_transaction_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verification_code: Option<&'a str>,
}

impl<'a> CredentialBody<'a> {
    fn of(payment: &'a StoredCredentialPayment) -> Self {
        let mark = payment.mark();
        Self {
            reference: payment.credential().expose(),
            r#use: mark.credential_use.as_str(),
            network_transaction_id: mark.network_transaction_id.as_ref().map(|id| id.as_str()),
            verification_code: payment.verification_code().map(VerificationCode::expose),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Deletion<'a> {
    merchant: String,
    reference: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CardBody<'a> {
    number: &'a str,
    verification_code: &'a str,
    expiry_year: &'a str,
    expiry_month: &'a str,
    name: &'a str,
    /// Of a card that bears more than one: the scheme to pay by. Left out of any other, so that a processor that does not know it is asked as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    /// Of its billing address, where the issuer shall compare it. Left out likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    postcode: Option<&'a str>,
}

/// A wallet's token: it stands for a card, and its data go through as they came.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TokenBody<'a> {
    r#type: &'static str,
    data: &'a RawValue,
}

/// A capture or a refund.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Money {
    authorization_key: String,
    amount: Box<RawValue>,
    currency: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Void {
    authorization_key: String,
}

pub(crate) fn authorize(request: &AuthorizeRequest) -> Zeroizing<Vec<u8>> {
    let (method, card, token, stored) = match &request.method_data {
        PaymentMethodData::Card(card) => ("CARD", Some(card), None, None),
        PaymentMethodData::WalletToken(token) => ("CARD", None, Some(token), None),
        PaymentMethodData::StoredCredential(payment) => ("CARD", None, None, Some(payment)),
        PaymentMethodData::Method(method) => (method.as_str(), None, None, None),
    };
    let is_about_contract = request.store.is_some() || stored.is_some();
    let data = token.map_or("{}", WalletToken::expose_data);
    let number = card.map(Card::expose_digits);
    let digits = number.as_ref().map_or("", |number| number.as_str());
    let free = [
        method,
        digits,
        card.map_or("", Card::expose_verification_code),
        card.map_or("", Card::expiry_year),
        card.map_or("", Card::expiry_month),
        card.map_or("", Card::name),
        token.map_or("", WalletToken::expose_data),
        stored.map_or("", |payment| payment.credential().expose()),
        request.payment_reference.as_deref().unwrap_or_default(),
        request.return_url.as_deref().unwrap_or_default(),
        request.country.as_deref().unwrap_or_default(),
        request.postcode.as_deref().unwrap_or_default(),
    ];
    let message = Authorization {
        amount: number_token(&request.amount),
        currency: request.amount.currency().code(),
        order_id: request.order_id.to_string(),
        method,
        card: card.map(|card| CardBody {
            number: digits,
            verification_code: card.expose_verification_code(),
            expiry_year: card.expiry_year(),
            expiry_month: card.expiry_month(),
            name: card.name(),
            scheme: request.scheme.map(Scheme::as_str),
            postcode: request.postcode.as_deref(),
        }),
        token: token.map(|token| TokenBody {
            r#type: token.wallet().as_str(),
            data: serde_json::from_str(data).expect("the stash takes a token's data as a JSON object"),
        }),
        return_url: request.return_url.as_deref(),
        shopper_country: request.country.as_deref(),
        review_allowed: true,
        challenge: request.challenge,
        exemption: request.exemption.map(ScaExemption::as_str),
        payment_reference: request.payment_reference.as_deref(),
        merchant: is_about_contract.then(|| request.merchant_id.to_string()),
        store: request.store.map(|kind| kind.as_str()),
        credential: stored.map(|payment| CredentialBody::of(payment)),
    };
    bytes(&message, FRAME + ESCAPED * free.iter().map(|text| text.len()).sum::<usize>())
}

pub(crate) fn capture(request: &CaptureRequest) -> Zeroizing<Vec<u8>> {
    bytes(&money(request.authorization.to_string(), &request.amount), FRAME)
}

pub(crate) fn refund(request: &RefundRequest) -> Zeroizing<Vec<u8>> {
    bytes(&money(request.authorization.to_string(), &request.amount), FRAME)
}

pub(crate) fn void(request: &VoidRequest) -> Zeroizing<Vec<u8>> {
    bytes(&Void { authorization_key: request.authorization.to_string() }, FRAME)
}

pub(crate) fn delete_credential(request: &DeleteCredentialRequest) -> Zeroizing<Vec<u8>> {
    let reference = request.credential.expose();
    let message = Deletion { merchant: request.merchant_id.to_string(), reference };
    bytes(&message, FRAME + ESCAPED * reference.len())
}

fn money(authorization_key: String, amount: &Amount) -> Money {
    Money { authorization_key, amount: number_token(amount), currency: amount.currency().code() }
}

/// `room` is as large as the body can get, so that writing never reallocates and leaves an unwiped copy behind.
fn bytes(message: &impl Serialize, room: usize) -> Zeroizing<Vec<u8>> {
    let mut body = Zeroizing::new(Vec::with_capacity(room));
    serde_json::to_writer(&mut *body, message).expect("strings and numbers always serialize");
    body
}

fn number_token(amount: &Amount) -> Box<RawValue> {
    RawValue::from_string(amount.to_string()).expect("an amount displays as a JSON number")
}

#[cfg(test)]
mod tests {
    use dropin_contract::{ContractKind, PaymentMark, StoredCredentialUse};
    use dropin_kernel::{MerchantId, OpId, OrderId};
    use dropin_money::Currency;
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

    fn key() -> OpId {
        ID.parse().unwrap()
    }

    fn merchant() -> MerchantId {
        ID.parse().unwrap()
    }

    fn amount() -> Amount {
        Amount::from_minor(Currency::Usd, 2_990).unwrap()
    }

    fn asking(method_data: PaymentMethodData, return_url: Option<&str>, country: Option<&str>) -> AuthorizeRequest {
        let order_id: OrderId = ID.parse().unwrap();
        let (return_url, country) = (return_url.map(str::to_owned), country.map(str::to_owned));
        let payment_reference = None;
        AuthorizeRequest {
            processor: None,
            key: key(),
            merchant_id: merchant(),
            reference: None,
            order_id,
            merchant_reference: "order-4711".to_owned(),
            payment_method: "VISA".to_owned(),
            amount: amount(),
            method_data,
            scheme: None,
            store: None,
            payment_reference,
            return_url,
            country,
            postcode: None,
            challenge: false,
            exemption: None,
        }
    }

    fn read(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }

    #[test]
    fn an_authorization_names_its_means_and_what_we_can_do() {
        let card = PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"));
        assert_eq!(
            read(&authorize(&asking(card, Some("https://shop.example/back"), Some("NL")))),
            json!({"Amount": 29.9, "Currency": "USD", "OrderId": ID, "Method": "CARD", "ReviewAllowed": true,
                "Card": {"Number": "4242424242424242", "VerificationCode": "123", "ExpiryYear": "2031", "ExpiryMonth": "12", "Name": "Ana"},
                "ReturnUrl": "https://shop.example/back", "ShopperCountry": "NL"})
        );
        assert_eq!(
            read(&authorize(&asking(PaymentMethodData::Method("BANKTRANSFER".to_owned()), None, None))),
            json!({"Amount": 29.9, "Currency": "USD", "OrderId": ID, "Method": "BANKTRANSFER", "ReviewAllowed": true})
        );
    }

    #[test]
    fn a_challenge_is_asked_for_by_name_and_else_not_spoken_of() {
        let card = || PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"));
        let request = AuthorizeRequest { challenge: true, ..asking(card(), None, None) };
        assert_eq!(read(&authorize(&request))["Challenge"], json!(true));
        assert_eq!(read(&authorize(&asking(card(), None, None))).get("Challenge"), None);
    }

    #[test]
    fn a_scheme_is_named_where_it_was_chosen() {
        let card = || PaymentMethodData::Card(Card::new("Ana", "4000002500001001", "123", "2031", "12"));
        let request = AuthorizeRequest { postcode: Some("SW1A 1AA".to_owned()), ..asking(card(), None, None) };
        assert_eq!(read(&authorize(&request))["Card"]["Postcode"], json!("SW1A 1AA"));
        let request = AuthorizeRequest { scheme: Some(Scheme::CartesBancaires), ..asking(card(), None, None) };
        assert_eq!(read(&authorize(&request))["Card"]["Scheme"], json!("CB"));
        assert_eq!(read(&authorize(&asking(card(), None, None)))["Card"].get("Scheme"), None);
    }

    #[test]
    fn an_exemption_is_asked_for_by_name_and_else_not_spoken_of() {
        let card = || PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"));
        for exemption in ScaExemption::ALL {
            let request = AuthorizeRequest { exemption: Some(exemption), ..asking(card(), None, None) };
            assert_eq!(read(&authorize(&request))["Exemption"], json!(exemption.as_str()));
        }
        assert_eq!(read(&authorize(&asking(card(), None, None))).get("Exemption"), None);
    }

    #[test]
    fn a_wallets_token_goes_through_byte_for_byte() {
        let data = "{ \"token\":{\"paymentData\" : {\"data\":\"\\u00e9/+==\",\"n\":1.50e0}}}";
        let token = WalletToken::new(dropin_card::Wallet::ApplePay, data);
        let body = authorize(&asking(PaymentMethodData::WalletToken(token), None, None));
        let text = std::str::from_utf8(&body).unwrap();
        let expected = format!("\"Token\":{{\"Type\":\"APPLEPAY\",\"Data\":{data}}}");
        assert!(text.contains(&expected), "{text}");
        assert_eq!(read(&body)["Method"], "CARD");
        assert!(read(&body).get("Card").is_none());
    }

    fn paying(mark: PaymentMark) -> AuthorizeRequest {
        let payment = StoredCredentialPayment::new("cus_9/pm_7".parse().unwrap(), mark);
        let payment = payment.with_verification_code("123".parse().unwrap());
        asking(PaymentMethodData::StoredCredential(Box::new(payment)), None, None)
    }

    #[test]
    fn a_card_is_stored_for_a_merchant() {
        let card = PaymentMethodData::Card(Card::new("Ana", "4242424242424242", "123", "2031", "12"));
        let request = AuthorizeRequest { store: Some(ContractKind::Recurring), ..asking(card, None, None) };
        let body = read(&authorize(&request));
        assert_eq!((&body["Store"], &body["Merchant"]), (&json!("RECURRING"), &json!(ID)));
        assert_eq!((&body["Card"]["Number"], body.get("Credential")), (&json!("4242424242424242"), None));
    }

    #[test]
    fn a_stored_card_is_charged_as_it_is_marked() {
        let linked = Some("483297487231504".parse().unwrap());
        let mark = PaymentMark { credential_use: StoredCredentialUse::Unscheduled, network_transaction_id: linked };
        let by_merchant =
            json!({"Reference": "cus_9/pm_7", "Use": "UNSCHEDULED", "NetworkTransactionId": "483297487231504"});
        assert_eq!(
            read(&authorize(&paying(mark))),
            json!({"Amount": 29.9, "Currency": "USD", "OrderId": ID, "Method": "CARD", "ReviewAllowed": true, "Merchant": ID,
                "Credential": by_merchant})
        );
        let by_shopper = json!({"Reference": "cus_9/pm_7", "Use": "FIRST", "VerificationCode": "123"});
        assert_eq!(read(&authorize(&paying(PaymentMark::FIRST)))["Credential"], by_shopper);
    }

    #[test]
    fn a_deletion_names_whose_credential_it_is() {
        let credential = "cus_9/pm_7".parse().unwrap();
        let body = delete_credential(&DeleteCredentialRequest { key: key(), merchant_id: merchant(), credential });
        assert_eq!(read(&body), json!({"Merchant": ID, "Reference": "cus_9/pm_7"}));
    }

    #[test]
    fn what_follows_names_the_authorization() {
        let money = json!({"AuthorizationKey": ID, "Amount": 29.9, "Currency": "USD"});
        let (key, merchant_id, authorization, reference, amount) = (key(), merchant(), key(), None, amount());
        assert_eq!(
            read(&capture(&CaptureRequest {
                processor: None,
                key,
                merchant_id,
                authorization,
                reference: reference.clone(),
                amount
            })),
            money
        );
        assert_eq!(
            read(&refund(&RefundRequest {
                processor: None,
                key,
                merchant_id,
                authorization,
                reference: reference.clone(),
                amount
            })),
            money
        );
        assert_eq!(
            read(&void(&VoidRequest { processor: None, key, merchant_id, authorization, reference })),
            json!({"AuthorizationKey": ID})
        );
    }

    #[test]
    fn a_body_fits_the_room_it_was_given() {
        let worst = "\u{1}".repeat(4_096);
        let card = PaymentMethodData::Card(Card::new(&worst, "4242424242424242", "123", "2031", "12"));
        let request = asking(card, Some(&worst), Some(&worst));
        let free = 3 * worst.len() + "CARD".len() + "4242424242424242".len() + "123".len() + "2031".len() + "12".len();
        let body = authorize(&request);
        assert_eq!(body.capacity(), FRAME + ESCAPED * free, "it grew");
        let credential: dropin_ports::StoredCredential = "\\".repeat(255).parse().unwrap();
        let request = DeleteCredentialRequest { key: key(), merchant_id: merchant(), credential };
        assert_eq!(delete_credential(&request).capacity(), FRAME + ESCAPED * 255, "it grew");
    }
}
