//! What each operation is asked: a row for each, and for each id that stands in its address or body a question.

use dropin_tests::{Merchant, Stashed};
use serde_json::{Value, json};

use super::{Ask, Ids, Row};

pub(super) const ROWS: &[(&str, Row)] = &[
    ("createSession", Row::Asked(SESSION_BODIES)),
    ("getSession", Row::Asked(&[Ask { about: "SessionId", status: 404, body: |_, _| None }])),
    (
        "replaceSession",
        Row::Asked(&[Ask {
            about: "SessionId",
            status: 404,
            body: |merchant, _| Some(merchant.session_request(json!({}))),
        }]),
    ),
    ("cancelSession", Row::Asked(&[Ask { about: "SessionId", status: 404, body: |_, _| None }])),
    ("getOrder", Row::Asked(&[Ask { about: "OrderId", status: 404, body: |_, _| None }])),
    (
        "captureOrder",
        Row::Asked(&[
            Ask { about: "OrderId", status: 404, body: |_, _| None },
            Ask { about: "OrderId, in part", status: 404, body: |_, _| Some(json!({"Amount": 1})) },
        ]),
    ),
    ("findOrder", Row::Asked(&[Ask { about: "MerchantReference", status: 404, body: |_, _| None }])),
    ("cancelOrder", Row::Asked(&[Ask { about: "OrderId", status: 404, body: |_, _| None }])),
    (
        "refundOrder",
        Row::Asked(&[Ask { about: "OrderId", status: 404, body: |_, _| Some(json!({"RefundReference": "r-2"})) }]),
    ),
    ("listRefunds", Row::Asked(&[Ask { about: "OrderId", status: 404, body: |_, _| None }])),
    (
        "getRefund",
        Row::Asked(&[
            Ask { about: "OrderId", status: 404, body: |_, _| None },
            Ask { about: "RefundId", status: 404, body: |_, _| None },
        ]),
    ),
    ("listDisputes", Row::Asked(&[Ask { about: "OrderId", status: 404, body: |_, _| None }])),
    ("acceptDispute", Row::Elsewhere),
    ("handInEvidence", Row::Elsewhere),
    ("listEvents", Row::Own),
    ("getContract", Row::Asked(&[Ask { about: "ContractId", status: 404, body: |_, _| None }])),
    // By a reference of the caller's own; what is not there is no error.
    ("listContracts", Row::Own),
    ("openContract", Row::Asked(CONTRACT_BODIES)),
    ("closeContract", Row::Asked(CONTRACTS)),
    ("checkout", Row::Asked(CHECKOUT_BODIES)),
    ("captureCheckout", Row::Asked(CHECKOUT_ORDERS)),
    ("cancelCheckout", Row::Asked(CHECKOUT_ORDERS)),
    ("refundCheckout", Row::Asked(CHECKOUT_REFUNDS)),
    (
        "queryCheckout",
        Row::Asked(&[
            CHECKOUT_ORDERS[0],
            CHECKOUT_ORDERS[1],
            Ask {
                about: "ReferenceId",
                status: 404,
                body: |merchant, ids| Some(json!({"MerchantId": merchant.id, "ReferenceId": ids.merchant_reference})),
            },
            CONTRACTS[0],
            CONTRACTS[1],
            Ask {
                about: "ReferenceId of a contract",
                status: 404,
                body: |merchant, ids| Some(json!({"MerchantId": merchant.id, "ReferenceId": ids.contract_reference})),
            },
        ]),
    ),
    ("viewSession", Row::BySessionAlone),
    ("paymentProgress", Row::BySessionAlone),
    // By SessionId and origin; see checkout-api's frame.rs.
    ("checkEmbedding", Row::Case),
    ("submitPayment", Row::Case),
    // By SessionId; a contract that its Session does not show is none; in saved_cards.rs.
    ("removeSavedCard", Row::Case),
    // By SessionId alone; in hosted.rs.
    ("payAnotherWay", Row::Case),
    ("stashCard", Row::Case),
    // In wallet.rs.
    ("startWalletSession", Row::Case),
    // By MerchantId alone, which is public; see `rates` and `catalogue`.
    ("getRates", Row::Case),
    ("getPaymentMethods", Row::Case),
];

/// Ids that stand in the body of a Session.
const SESSION_BODIES: &[Ask] = &[
    Ask { about: "BillingProfileId", status: 400, body: with_profile },
    Ask { about: "BillingProfileReference", status: 400, body: with_profile_reference },
    Ask {
        about: "ContractId",
        status: 400,
        body: |merchant, ids| Some(merchant.session_request(json!({"ContractId": ids.contract}))),
    },
    Ask {
        about: "MerchantReference",
        status: 201,
        body: |merchant, ids| Some(merchant.session_request(json!({"MerchantReference": ids.merchant_reference}))),
    },
];

/// What is asked of an Order through the checkout.
const CHECKOUT_ORDERS: &[Ask] = &[
    Ask {
        about: "OrderId",
        status: 404,
        body: |merchant, ids| Some(json!({"MerchantId": merchant.id, "OrderId": ids.order})),
    },
    Ask {
        about: "MerchantId",
        status: 404,
        body: |_, ids| Some(json!({"MerchantId": ids.merchant, "OrderId": ids.order})),
    },
];

const CHECKOUT_REFUNDS: &[Ask] = &[
    Ask {
        about: "OrderId",
        status: 404,
        body: |merchant, ids| Some(json!({"MerchantId": merchant.id, "OrderId": ids.order, "RefundReference": "r-3"})),
    },
    Ask {
        about: "MerchantId",
        status: 404,
        body: |_, ids| Some(json!({"MerchantId": ids.merchant, "OrderId": ids.order, "RefundReference": "r-4"})),
    },
];

/// Ids that stand in the body of a checkout.
const CHECKOUT_BODIES: &[Ask] = &[
    Ask {
        about: "MerchantId",
        status: 404,
        body: |merchant, ids| {
            Some(merchant.checkout_request(json!({"MerchantId": ids.merchant, "PaymentMethod": "BANKTRANSFER"})))
        },
    },
    Ask {
        about: "StashId",
        status: 400,
        body: |merchant, ids| {
            let (id, fingerprint) = (&ids.stash.stash_id, &ids.stash.fingerprint);
            let stash = json!({"PaymentMethod": "VISA", "StashId": id, "DeviceFingerprint": fingerprint});
            Some(merchant.checkout_request(stash))
        },
    },
    Ask {
        about: "ReferenceId",
        status: 200,
        body: |merchant, ids| {
            let reference = json!({"ReferenceId": ids.reference_id, "PaymentMethod": "BANKTRANSFER"});
            Some(merchant.checkout_request(reference))
        },
    },
    Ask {
        about: "ContractId",
        status: 400,
        body: |merchant, ids| {
            Some(without(
                merchant.checkout_request(json!({"ContractId": ids.contract})),
                &["Return", "DeviceFingerprint"],
            ))
        },
    },
];

/// What is asked of a contract.
const CONTRACTS: &[Ask] = &[
    Ask {
        about: "ContractId",
        status: 400,
        body: |merchant, ids| Some(json!({"MerchantId": merchant.id, "ContractId": ids.contract})),
    },
    Ask {
        about: "MerchantId",
        status: 404,
        body: |_, ids| Some(json!({"MerchantId": ids.merchant, "ContractId": ids.contract})),
    },
];

/// Ids that stand in the body of a contract that is opened.
const CONTRACT_BODIES: &[Ask] = &[
    // First, for whose it is uses it up.
    Ask {
        about: "StashId",
        status: 400,
        body: |merchant, ids| Some(to_open(merchant, &ids.stash_to_store, json!({}))),
    },
    Ask {
        about: "MerchantId",
        status: 404,
        body: |merchant, ids| Some(to_open(merchant, &ids.stash_to_store, json!({"MerchantId": ids.merchant}))),
    },
    // A reference of its own is refused before anybody looks for the card.
    Ask {
        about: "ReferenceId",
        status: 400,
        body: |merchant, ids| {
            let unknown = Ids::of_nobody().stash;
            Some(to_open(merchant, &unknown, json!({"ReferenceId": ids.contract_reference})))
        },
    },
];

pub(super) fn to_open(merchant: &Merchant, card: &Stashed, change: Value) -> Value {
    let mut request = without(
        merchant.checkout_request(json!({
            "PaymentMethod": "VISA", "StashId": card.stash_id, "DeviceFingerprint": card.fingerprint,
            "Kind": "RECURRING", "Consent": {"TextVersion": "2026-11", "Locale": "de_DE"},
        })),
        &["Items", "Capture"],
    );
    request.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
    request
}

fn without(mut request: Value, members: &[&str]) -> Value {
    request.as_object_mut().expect("an object").retain(|name, _| !members.contains(&name.as_str()));
    request
}

fn with_profile(merchant: &Merchant, ids: &Ids) -> Option<Value> {
    without_profile(merchant, "BillingProfileId", &ids.profile)
}

fn with_profile_reference(merchant: &Merchant, ids: &Ids) -> Option<Value> {
    without_profile(merchant, "BillingProfileReference", &ids.profile_reference)
}

fn without_profile(merchant: &Merchant, member: &str, value: &str) -> Option<Value> {
    let mut request = merchant.session_request(json!({member: value}));
    request.as_object_mut()?.remove("BillingProfile");
    Some(request)
}
