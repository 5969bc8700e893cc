//! What we ask: PascalCase JSON, amounts as exact decimals, card data in one buffer that wipes itself.

use dropin_card::{Card, WalletToken};
use dropin_money::Amount;
use dropin_ports::{AuthorizeRequest, CaptureRequest, PaymentMethodData, RefundRequest, VoidRequest};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_reference: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CardBody<'a> {
    number: &'a str,
    verification_code: &'a str,
    expiry_year: &'a str,
    expiry_month: &'a str,
    name: &'a str,
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
    let (method, card, token) = match &request.method_data {
        PaymentMethodData::Card(card) => ("CARD", Some(card), None),
        PaymentMethodData::WalletToken(token) => ("CARD", None, Some(token)),
        PaymentMethodData::Method(method) => (method.as_str(), None, None),
    };
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
        request.payment_reference.as_deref().unwrap_or_default(),
        request.return_url.as_deref().unwrap_or_default(),
        request.country.as_deref().unwrap_or_default(),
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
        }),
        token: token.map(|token| TokenBody {
            r#type: token.wallet().as_str(),
            data: serde_json::from_str(data).expect("the stash takes a token's data as a JSON object"),
        }),
        return_url: request.return_url.as_deref(),
        shopper_country: request.country.as_deref(),
        review_allowed: true,
        payment_reference: request.payment_reference.as_deref(),
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
            key: key(),
            merchant_id: merchant(),
            order_id,
            amount: amount(),
            method_data,
            payment_reference,
            return_url,
            country,
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

    #[test]
    fn what_follows_names_the_authorization() {
        let money = json!({"AuthorizationKey": ID, "Amount": 29.9, "Currency": "USD"});
        let (key, merchant_id, authorization, amount) = (key(), merchant(), key(), amount());
        assert_eq!(read(&capture(&CaptureRequest { key, merchant_id, authorization, amount })), money);
        assert_eq!(read(&refund(&RefundRequest { key, merchant_id, authorization, amount })), money);
        assert_eq!(read(&void(&VoidRequest { key, merchant_id, authorization })), json!({"AuthorizationKey": ID}));
    }

    #[test]
    fn a_body_fits_the_room_it_was_given() {
        let worst = "\u{1}".repeat(4_096);
        let card = PaymentMethodData::Card(Card::new(&worst, "4242424242424242", "123", "2031", "12"));
        let request = asking(card, Some(&worst), Some(&worst));
        let free = 3 * worst.len() + "CARD".len() + "4242424242424242".len() + "123".len() + "2031".len() + "12".len();
        let body = authorize(&request);
        assert_eq!(body.capacity(), FRAME + ESCAPED * free, "it grew");
    }
}
