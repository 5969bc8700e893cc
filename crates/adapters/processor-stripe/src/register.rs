//! Creating an intent: what it says follows from the operation alone, so that a repeat under the same key is the same request.

use dropin_contract::ContractKind;
use dropin_order::DeclineReason;
use dropin_ports::{AuthorizeRequest, PaymentMethodData, Registration};

use crate::amount::to_units;
use crate::asking::{Asking, Said};
use crate::names::{CURRENCY, MERCHANT, METHOD, OPERATION, ORDER, PAGE_METHODS, PAYS_STORED, REFERENCE, STORES};
use crate::object::{Identified, Intent};
use crate::reference::{IntentKind, IntentReference};

const REFUSED: Registration = Registration::Declined { reason: DeclineReason::Generic, retryable: false };

/// The customer of a stored credential.
pub(crate) fn customer_of(credential: &str) -> Option<&str> {
    credential.split_once('/').map(|(customer, _method)| customer)
}

/// Stripe's word for what it is paid with, and whether it can be captured later.
fn method_of(data: &PaymentMethodData) -> Option<(&'static str, bool)> {
    match data {
        PaymentMethodData::Card(_) | PaymentMethodData::StoredCredential(_) => Some(("card", true)),
        PaymentMethodData::Method(id) => PAGE_METHODS
            .iter()
            .find(|(known, ..)| known == id)
            .map(|(_, name, captures_later)| (*name, *captures_later)),
        // Their decryption is agreed on with Stripe by other means than its public API.
        PaymentMethodData::WalletToken(_) => None,
    }
}

/// Has Stripe write an authorization down.
pub(crate) async fn register(asking: &Asking<'_>, request: &AuthorizeRequest) -> Registration {
    let key = request.key.to_string();
    let refused = |why: &str| {
        log::warn!(operation = key.as_str(), why; "an authorization was not sent to Stripe");
        REFUSED
    };
    let Some((method, captures_later)) = method_of(&request.method_data) else {
        return refused(
            "Stripe cannot be asked for this payment method here: leave it out of the deployment's file of methods",
        );
    };
    let Some(units) = to_units(&request.amount) else {
        return refused("Stripe cannot take this amount in its currency (docs.stripe.com/currencies)");
    };
    let created_customer;
    let customer = match &request.method_data {
        PaymentMethodData::StoredCredential(payment) => match customer_of(payment.credential().expose()) {
            Some(customer) => Some(customer),
            None => return refused("the stored card is none of Stripe's"),
        },
        _ if request.store.is_some() => match create_customer(asking, request).await {
            Ok(id) => {
                created_customer = id;
                Some(created_customer.as_str())
            }
            Err(why) => return Registration::NotRegistered { why },
        },
        _ => None,
    };
    let kind = if request.amount.is_zero() { IntentKind::Setup } else { IntentKind::Payment };
    let currency = request.amount.currency().code();
    let (amount, lower_case) = (units.to_string(), currency.to_ascii_lowercase());
    let (order, merchant) = (request.order_id.to_string(), request.merchant_id.to_string());
    let metadata = |name: &str| format!("metadata[{name}]");
    let names = [OPERATION, ORDER, MERCHANT, CURRENCY, STORES, PAYS_STORED, REFERENCE, METHOD].map(metadata);
    let mut fields = vec![
        (names[0].as_str(), key.as_str()),
        (names[1].as_str(), order.as_str()),
        (names[2].as_str(), merchant.as_str()),
        (names[3].as_str(), currency),
        (names[6].as_str(), request.merchant_reference.as_str()),
        (names[7].as_str(), request.payment_method.as_str()),
        ("payment_method_types[0]", method),
    ];
    if request.store.is_some() {
        fields.push((&names[4], "yes"));
    }
    if matches!(request.method_data, PaymentMethodData::StoredCredential(_)) {
        fields.push((&names[5], "yes"));
    }
    if let Some(customer) = customer {
        fields.push(("customer", customer));
    }
    let usage = match request.store {
        Some(ContractKind::OneClick) => "on_session",
        _ => "off_session",
    };
    match kind {
        IntentKind::Payment => {
            let capture_method = if captures_later { "manual" } else { "automatic" };
            fields.extend([
                ("amount", amount.as_str()),
                ("currency", lower_case.as_str()),
                ("capture_method", capture_method),
            ]);
            if request.store.is_some() {
                fields.push(("setup_future_usage", usage));
            }
        }
        IntentKind::Setup => fields.push(("usage", usage)),
    }
    if request.challenge && method == "card" {
        fields.push(("payment_method_options[card][request_three_d_secure]", "any"));
    }
    match asking.post::<Intent>(kind.path(), Some(&format!("{key}-create")), &fields).await {
        Said::Object(intent) => read(&intent, &key),
        Said::Refused { status: 400 | 402, error } => refused(&error.words()),
        said => Registration::NotRegistered { why: said.why() },
    }
}

/// A customer for each card that is stored: what it stores is deleted with nothing else.
async fn create_customer(asking: &Asking<'_>, request: &AuthorizeRequest) -> Result<String, String> {
    let (operation, merchant) = (request.key.to_string(), request.merchant_id.to_string());
    let names = [OPERATION, MERCHANT].map(|name| format!("metadata[{name}]"));
    let fields = [(names[0].as_str(), operation.as_str()), (names[1].as_str(), merchant.as_str())];
    match asking.post::<Identified>("/v1/customers", Some(&format!("{operation}-customer")), &fields).await {
        Said::Object(customer) => Ok(customer.id),
        said => Err(said.why()),
    }
}

fn read(intent: &Intent, key: &str) -> Registration {
    let reference = intent.id.parse().ok().filter(|reference| IntentReference::of(reference).is_some());
    match reference {
        Some(reference) if intent.metadata.get(OPERATION).map(String::as_str) == Some(key) => {
            Registration::Registered(reference)
        }
        _ => Registration::NotRegistered { why: "the answer is about another intent".to_owned() },
    }
}
