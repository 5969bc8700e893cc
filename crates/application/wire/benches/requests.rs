//! What a request costs before anything is asked of a database: strict JSON alone, and a whole Session request.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dropin_kernel::{BillingProfileId, MerchantId, SessionId, Timestamp};
use dropin_session::Session;
use dropin_validation::{BillingProfile, UrlPolicy};
use dropin_wire::order::OrderCaptureRequest;
use dropin_wire::session::{DraftContext, RequestedBilling, RequestedRate, SessionBody, SessionDraft, SessionRequest};
use uuid::Uuid;

const READING: DraftContext =
    DraftContext { url_policy: UrlPolicy::Production, today: time::macros::date!(2026 - 11 - 21) };

/// A typical request: four items, shipping, tax, a discount and a billing profile; about 1.6 kB.
const TYPICAL: &str = r#"{
  "MerchantReference": "order-2026-11-21-000123", "AutoCapture": true, "Currency": "USD", "ViaAgent": false,
  "CompleteUrl": "https://shop.example/checkout/complete?session={SessionId}&order=123",
  "CancelUrl": "https://shop.example/checkout/cart?session={SessionId}",
  "Items": [
    {"Name": "Blue mug with a very long description", "Amount": 29.90, "Quantity": 2},
    {"Name": "Green tea, loose leaf, 250 g", "Amount": 12.50, "Quantity": 1},
    {"Name": "Tea strainer", "Amount": 4.95, "Quantity": 1},
    {"Name": "Gift wrapping", "Amount": 3.00, "Quantity": 3}
  ],
  "TaxAmount": 9.58, "Discounts": [{"Name": "Welcome", "Amount": 5.00}],
  "ShippingDetails": {
    "ShippingAmount": 7.50, "DutyAmount": 0, "Name": "Ana Example", "Email": "ana.example@shop.example", "Phone": "+1 213 373 4253",
    "Address": {"Street": "1234 Main Street, Apt. 5", "City": "Los Angeles", "Region": "US-CA", "Country": "US", "Postcode": "90001"}
  },
  "BillingProfile": {
    "BillingProfileReference": "customer-778899", "Name": "Ana Example", "Email": "ana.example@shop.example", "Phone": "+1 213 373 4253",
    "BirthDate": "1980-05-04",
    "Address": {"Street": "1234 Main Street, Apt. 5", "City": "Los Angeles", "Region": "CA", "Country": "US", "Postcode": "90001"}
  },
  "AllowContract": false
}"#;

/// The least that is accepted.
const SMALLEST: &str = r#"{"MerchantReference":"order-1","AutoCapture":true,"Currency":"USD","CompleteUrl":"https://shop.example/paid","CancelUrl":"https://shop.example/cart","Items":[{"Name":"Mug","Amount":29.90,"Quantity":1}],"BillingProfile":{"Name":"Ana","Email":"ana@shop.example","Address":{"Street":"Hauptstr. 1","City":"Berlin","Country":"DE"}}}"#;

fn draft(body: &str) -> SessionDraft {
    let input = SessionRequest::read(body.as_bytes()).expect("the request is well formed");
    SessionDraft::parse(&input, READING, &RequestedRate::None).expect("the request is valid")
}

fn session_requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("session request");
    for (name, body) in [("smallest", SMALLEST), ("typical", TYPICAL)] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bench| {
            bench.iter(|| draft(body));
        });
    }
    group.finish();
}

/// The answer to the typical request, as JSON text.
fn session_answers(criterion: &mut Criterion) {
    let draft = draft(TYPICAL);
    let RequestedBilling::Supplied(details) = draft.billing.clone() else {
        unreachable!("the request supplies a profile")
    };
    let (profile, session, merchant) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
    let terms = draft.into_terms(BillingProfile { id: BillingProfileId::new(profile), details: *details });
    let (now, end) = (Timestamp::from_micros(1_795_000_000_000_000), Timestamp::from_micros(1_795_086_400_000_000));
    let session = Session::create(SessionId::new(session), MerchantId::new(merchant), terms, 5, now, end)
        .expect("these parts belong together");
    criterion.bench_function("session answer/typical", |bench| {
        bench.iter(|| serde_json::to_vec(&SessionBody::new(&session, None)).expect("an answer is JSON"));
    });
}

/// A capture request whose members are all unknown ones: everything is read, and each is refused.
fn strict_json(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("strict_json");
    group.throughput(Throughput::Bytes(TYPICAL.len() as u64));
    group.bench_function("typical", |bench| {
        bench.iter(|| OrderCaptureRequest::parse(Some(TYPICAL.as_bytes())).is_err());
    });
    group.finish();
}

criterion_group!(benches, session_requests, session_answers, strict_json);
criterion_main!(benches);
