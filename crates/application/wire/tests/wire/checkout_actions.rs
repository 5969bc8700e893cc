//! What a merchant's server asks of an Order through the checkout.

use crate::common::{fields, id};
use dropin_kernel::OrderId;
use dropin_wire::checkout::{CancelRequest, CheckoutCaptureRequest, CheckoutRefundRequest, QueryRequest, QuerySubject};
use serde_json::{Value, json};

const ORDER: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103";

#[test]
fn actions_name_merchant_and_order() {
    let capture =
        CheckoutCaptureRequest::parse(json!({"MerchantId": "m", "OrderId": ORDER, "Amount": 5}).to_string().as_bytes());
    let capture = capture.unwrap();
    assert_eq!((capture.merchant_id.as_str(), capture.order), ("m", id::<OrderId>(3)));
    assert_eq!(capture.amount.unwrap().to_string(), "5");
    let cancel = CancelRequest::parse(json!({"MerchantId": "m", "OrderId": ORDER}).to_string().as_bytes()).unwrap();
    assert_eq!(cancel.order, id::<OrderId>(3));
    let refund = json!({"MerchantId": "m", "OrderId": ORDER, "RefundReference": "r", "Amount": 5, "Description": "d"});
    let refund = CheckoutRefundRequest::parse(refund.to_string().as_bytes()).unwrap();
    assert_eq!((refund.order, refund.refund.reference.as_str()), (id::<OrderId>(3), "r"));
    let missing = ["MerchantId FIELD_MISSING", "OrderId FIELD_MISSING"];
    assert_eq!(fields(CheckoutCaptureRequest::parse(b"{}").unwrap_err()), missing);
    assert_eq!(fields(CancelRequest::parse(b"{}").unwrap_err()), missing);
    let missing = ["MerchantId FIELD_MISSING", "OrderId FIELD_MISSING", "RefundReference FIELD_MISSING"];
    assert_eq!(fields(CheckoutRefundRequest::parse(b"{}").unwrap_err()), missing);
    let no_id = json!({"MerchantId": "m", "OrderId": "order-1"}).to_string();
    assert_eq!(fields(CheckoutCaptureRequest::parse(no_id.as_bytes()).unwrap_err()), ["OrderId FIELD_INVALID"]);
    assert_eq!(fields(CancelRequest::parse(no_id.as_bytes()).unwrap_err()), ["OrderId FIELD_INVALID"]);
    let no_id = json!({"MerchantId": "m", "OrderId": "order-1", "RefundReference": " "}).to_string();
    let wrong = ["OrderId FIELD_INVALID", "RefundReference FIELD_MISSING"];
    assert_eq!(fields(CheckoutRefundRequest::parse(no_id.as_bytes()).unwrap_err()), wrong);
}

#[test]
fn a_query_names_one_order_or_contract_in_one_way() {
    let parse = |body: Value| QueryRequest::parse(body.to_string().as_bytes());
    let by_id = parse(json!({"MerchantId": "m", "OrderId": ORDER})).unwrap();
    assert_eq!((by_id.merchant_id.as_str(), by_id.subject), ("m", QuerySubject::Order(id::<OrderId>(3))));
    let by_reference = parse(json!({"MerchantId": "m", "ReferenceId": " order-1 "})).unwrap();
    assert!(matches!(by_reference.subject, QuerySubject::Reference(reference) if reference.as_str() == "order-1"));
    let refused = |body: Value| fields(parse(body).unwrap_err());
    assert_eq!(refused(json!({})), ["MerchantId FIELD_MISSING", "OrderId FIELD_MISSING"]);
    let both = json!({"MerchantId": "m", "OrderId": ORDER, "ReferenceId": "order-1"});
    assert_eq!(refused(both), ["OrderId CONFLICT", "ReferenceId CONFLICT"]);
    let all = json!({"MerchantId": "m", "OrderId": ORDER, "ReferenceId": "order-1", "ContractId": "c"});
    let each = ["ContractId FIELD_INVALID", "ContractId CONFLICT", "OrderId CONFLICT", "ReferenceId CONFLICT"];
    assert_eq!(refused(all), each);
    assert_eq!(refused(json!({"MerchantId": "m", "ContractId": 1})), ["ContractId FIELD_INVALID"]);
    assert_eq!(refused(json!({"MerchantId": "m", "ContractId": "c"})), ["ContractId FIELD_INVALID"]);
    let by_contract = parse(json!({"MerchantId": "m", "ContractId": ORDER})).unwrap();
    assert_eq!(by_contract.subject, QuerySubject::Contract(id(3)));
    assert_eq!(refused(json!({"MerchantId": "m", "OrderId": "order-1"})), ["OrderId FIELD_INVALID"]);
}
