//! The exact bytes of answers and notifications.

use crate::common::{LARGEST, NOW, SMALLEST, bank_details, completed, expired, failed, fields, id, session, started};
use dropin_catalogue::{Ask, Catalogue, Class, MerchantMethods, Method, SalesChannel};
use dropin_contract::ContractKind;
use dropin_kernel::{AttemptId, ContractId, Revision};
use dropin_order::{FailureReason, OrderEvent, OrderState, ShopperCode};
use dropin_session::{BillingChoice, Session, SessionStateKind};
use dropin_validation::Text;
use dropin_wire::RequestError;
use dropin_wire::event;
use dropin_wire::order::{OrderBody, OrderCaptureRequest};
use dropin_wire::session::SessionBody;
use dropin_wire::shopper::{
    FailedAttemptSource, PayAnotherWayRequest, ProgressBody, ShopperViewBody, SubmitMeans, SubmitRequest, ViewSource,
};
use dropin_wire::wallet::TokenMethodBody;

fn text(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).unwrap()
}

/// Raw strings are written in lines; the bytes are one.
fn lines(text: &str) -> String {
    text.lines().map(str::trim).collect()
}

#[test]
fn a_session_as_it_was_created() {
    assert_eq!(
        text(&SessionBody::new(&session(SMALLEST), None)),
        lines(
            r#"{"SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","State":"CREATED","MerchantReference":"order-1",
            "AutoCapture":true,"CompleteUrl":"https://shop.example/paid","CancelUrl":"https://shop.example/cart",
            "Currency":"USD","TotalAmount":29.90,"Items":[{"Name":"Mug","Amount":29.90,"Quantity":1}],
            "BillingProfile":{"BillingProfileId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809109","Name":"Ana","Email":"ana@shop.example",
            "Address":{"Street":"Hauptstr. 1","City":"Berlin","Country":"DE"}},
            "BillingProfileId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809109","ViaAgent":false,
            "CreatedAt":"2026-11-18T11:06:40.000000Z","UpdatedAt":"2026-11-18T11:06:40.000000Z",
            "ExpiresAt":"2026-11-19T11:06:40.000000Z"}"#
        )
    );
}

#[test]
fn a_session_with_everything_completed() {
    let (session, order) = completed(LARGEST);
    assert_eq!(
        text(&SessionBody::new(&session, Some(&order))),
        lines(
            r#"{"SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","State":"COMPLETED","MerchantReference":"order-1",
            "AutoCapture":false,"CompleteUrl":"https://shop.example/paid","CancelUrl":"https://shop.example/cart",
            "Currency":"USD","TotalAmount":42.50,
            "Items":[{"Name":"Mug","Amount":29.90,"Quantity":2},{"Name":"Bag","Amount":10.00,"Quantity":1}],
            "TaxAmount":3.10,"Discounts":[{"Name":"Sale","Amount":5.00}],
            "ShippingDetails":{"ShippingAmount":4.50,"DutyAmount":0.00,"Name":"Ana","Email":"ana@shop.example",
            "Phone":"+1 213 373 4253",
            "Address":{"Street":"1 Main St","City":"LA","Region":"CA","Country":"US","Postcode":"90001"}},
            "BillingProfile":{"BillingProfileId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809109","BillingProfileReference":"ana-1",
            "Name":"Ana","Email":"ana@shop.example","Phone":"+5511987654321","BirthDate":"1980-05-04",
            "NationalIdentifier":"36.002.518/0001-01","Company":"Loja Ltda",
            "Address":{"Street":"Rua 1","City":"São Paulo","Country":"BR","Postcode":"01000-000","Phone":"+5511987654322"}},
            "BillingProfileId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809109","ViaAgent":true,"AllowContract":false,"PaymentMethod":"VISA",
            "Order":{"OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103","State":"PAYMENT_AUTHORIZED",
            "MerchantReference":"order-1","SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","UnderReview":false},
            "CreatedAt":"2026-11-18T11:06:40.000000Z","UpdatedAt":"2026-11-18T11:06:40.000000Z",
            "ExpiresAt":"2026-11-19T11:06:40.000000Z"}"#
        )
    );
}

#[test]
fn a_reference_is_echoed_when_it_was_the_choice() {
    let choice = BillingChoice::ByReference(Text::parse("", "ana-1").unwrap());
    let session = session(SMALLEST);
    let terms = session.terms.clone().edited(|terms| terms.billing_choice = choice).unwrap();
    let session = session.edited(|parts| parts.terms = terms).unwrap();
    assert!(
        text(&SessionBody::new(&session, None)).contains(r#"}},"BillingProfileReference":"ana-1","BillingProfileId":"#)
    );
}

#[test]
fn an_order_is_shown_once_its_session_is_completed() {
    let (_, order) = completed(SMALLEST);
    for session in [session(SMALLEST), failed(SMALLEST), expired(SMALLEST)] {
        let body = text(&SessionBody::new(&session, Some(&order)));
        assert!(!body.contains("\"Order\"") && !body.contains("PaymentMethod"), "{body}");
    }
}

#[test]
fn orders_with_amounts_and_reason() {
    let (_, order) = completed(SMALLEST);
    let full = r#"{"OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103","State":"PAYMENT_AUTHORIZED",
        "MerchantReference":"order-1","SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","UnderReview":false,
        "PaymentMethod":"VISA","Currency":"USD","AuthorizedAmount":29.90,"CapturedAmount":0.00,"RefundedAmount":0.00,
        "CreatedAt":"2026-11-18T11:06:40.000000Z","UpdatedAt":"2026-11-18T11:06:40.000000Z",
        "ExpiresAt":"2026-11-19T11:06:40.000000Z"}"#;
    assert_eq!(text(&OrderBody::full(&order)), lines(full));
    let reason = r#","Reason":{"Code":"PendingNotification","Retryable":false}}"#;
    let captured = format!("{}{reason}", lines(full).trim_end_matches('}'));
    assert_eq!(text(&OrderBody::captured(&order, "PendingNotification")), captured);
    let alone = order.edited(|parts| parts.session_id = None).unwrap();
    assert!(!text(&OrderBody::brief(&alone)).contains("SessionId"));
}

#[test]
fn capture_requests_are_empty_or_name_an_amount() {
    let amount =
        |body: Option<&[u8]>| OrderCaptureRequest::parse(body).map(|request| request.amount.map(|n| n.to_string()));
    assert_eq!(amount(None), Ok(None));
    assert_eq!(amount(Some(b"")), Ok(None));
    assert_eq!(amount(Some(b"{}")), Ok(None));
    assert_eq!(amount(Some(br#"{"Amount":12.50}"#)), Ok(Some("12.50".to_owned())));
    let refused = OrderCaptureRequest::parse(Some(br#"{"Amount":"12.50"}"#)).unwrap_err();
    assert_eq!(fields(refused), ["Amount FIELD_INVALID"]);
    assert!(OrderCaptureRequest::parse(Some(b"[]")).is_err() && OrderCaptureRequest::parse(Some(b" ")).is_err());
}

#[test]
fn order_events_carry_the_contracts_members_under_review_amounts_and_when_it_was_made() {
    let (_, order) = completed(SMALLEST);
    let order = order.edited(|parts| parts.state = OrderState::Processed).unwrap();
    assert_eq!(
        String::from_utf8(event::order_changed(OrderEvent::Processed, &order)).unwrap(),
        lines(
            r#"{"EventType":"ORDER_PROCESSED","Order":{"OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103","State":"PROCESSED",
            "MerchantReference":"order-1","SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","UnderReview":false,"Currency":"USD",
            "AuthorizedAmount":29.90,"CapturedAmount":0.00,"RefundedAmount":0.00,"CreatedAt":"2026-11-18T11:06:40.000000Z"}}"#
        )
    );
}

#[test]
fn session_events_carry_the_session_without_billing() {
    let (session, order) = completed(LARGEST);
    let body = String::from_utf8(event::session_completed(&session, &order)).unwrap();
    assert!(body.starts_with(r#"{"EventType":"SESSION_COMPLETED","Session":{"SessionId":"#), "{body}");
    assert!(body.contains(r#""State":"COMPLETED""#) && body.contains(r#""PaymentMethod":"VISA""#), "{body}");
    assert!(body.contains(r#"},"Order":{"OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103""#), "{body}");
    for personal in ["Billing", "Rua 1", "1980-05-04", "36.002.518", "Loja"] {
        assert!(!body.contains(personal), "{personal} in {body}");
    }
}

#[test]
fn sessions_that_ended_unpaid_tell_why_and_name_no_order() {
    let failed = String::from_utf8(event::session_failed(&failed(SMALLEST))).unwrap();
    assert!(
        failed.starts_with(r#"{"EventType":"SESSION_FAILED","Reason":"INSUFFICIENT_FUNDS","Session":{"#),
        "{failed}"
    );
    let expired = String::from_utf8(event::session_cancelled(&expired(SMALLEST))).unwrap();
    assert!(expired.starts_with(r#"{"EventType":"SESSION_CANCELLED","Reason":"EXPIRED","Session":{"#), "{expired}");
    assert!(!failed.contains("Order\"") && !expired.contains("Order\""));
}

fn view(session: &Session) -> String {
    let methods = Catalogue::of_sandbox().offers(&Ask {
        country: Some("DE"),
        currencies: &[session.terms.currency],
        amount: None,
        merchant: &MerchantMethods::default(),
        sandbox: true,
        recurring: false,
        capture_later: false,
        channel: SalesChannel::DropIn,
    });
    text(&ShopperViewBody::new(&ViewSource {
        session,
        merchant_name: "Mugs & more",
        origins: &["https://shop.example".to_owned()],
        methods: &methods[..1],
        token_methods: &[TokenMethodBody::apple_pay(
            "merchant.m",
            vec!["visa"],
            "DE",
            "https://pay.example/s".to_owned(),
        )],
        opens_contract: None,
        allows_contract: Some(ContractKind::OneClick),
        asked_postcode: None,
        saved_cards: &[],
        stash_url: "http://127.0.0.1:8080/stash",
        sandbox: true,
        failed_attempt: None,
        now: NOW,
    }))
}

#[test]
fn the_shoppers_view() {
    assert_eq!(
        view(&session(SMALLEST)),
        lines(
            r#"{"SessionId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809101","State":"CREATED","Version":1,
            "MerchantId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809102","MerchantName":"Mugs & more",
            "MerchantOrigins":["https://shop.example"],"Currency":"USD","MinorUnits":2,"TotalAmount":29.90,
            "Items":[{"Name":"Mug","Amount":29.90,"Quantity":1}],
            "PaymentMethods":[{"Id":"VISA","Name":"Visa","Class":"Card"}],
            "AllowsContract":"ONE_CLICK","SavedCards":[],
            "TokenMethods":[{"Type":"APPLEPAY","Parameters":{"MerchantIdentifier":"merchant.m","SupportedNetworks":["visa"],
            "MerchantCapabilities":["supports3DS"],"PaymentSessionUrl":"https://pay.example/s","CountryCode":"DE"}}],
            "StashUrl":"http://127.0.0.1:8080/stash","Sandbox":true,"ExpiresAt":"2026-11-19T11:06:40.000000Z",
            "ServerTime":"2026-11-18T11:06:40.000000Z","AttemptsLeft":5}"#
        )
    );
    let largest = view(&session(LARGEST));
    let amounts =
        r#""TaxAmount":3.10,"ShippingAmount":4.50,"DutyAmount":0.00,"Discounts":[{"Name":"Sale","Amount":5.00}]"#;
    assert!(largest.contains(amounts), "{largest}");
    for personal in ["Ana", "ana", "Billing", "Main St", "213"] {
        assert!(!largest.contains(personal), "{personal} in {largest}");
    }
}

fn submit(version: &str, means: &str) -> String {
    let attempt = id::<AttemptId>(4);
    format!(r#"{{"Version":{version},"AttemptId":"{attempt}",{means}"DeviceFingerprint":"f"}}"#)
}

#[track_caller]
fn refused_submit(body: &str) -> Vec<String> {
    fields(read_submit(body).unwrap_err())
}

fn read_submit(body: &str) -> Result<SubmitRequest, RequestError> {
    SubmitRequest::parse(body.as_bytes(), &Catalogue::of_sandbox())
}

#[test]
fn submits_name_a_version_an_attempt_and_a_stash() {
    let means = r#""StashId":"a.B_c~9-","#;
    let request = read_submit(&submit("3", means)).unwrap();
    assert_eq!((request.version, request.attempt), (Revision::new(3), id::<AttemptId>(4)));
    assert_eq!(
        (request.means, request.fingerprint.as_str()),
        (SubmitMeans::Stash { stash_id: "a.B_c~9-".to_owned(), scheme: None }, "f")
    );
    assert_eq!(refused_submit(&submit("1.5", means)), ["Version FIELD_INVALID"]);
    assert_eq!(refused_submit(&submit("\"3\"", means)), ["Version FIELD_INVALID"]);
    assert_eq!(
        refused_submit("{}"),
        [
            "AttemptId FIELD_MISSING",
            "DeviceFingerprint FIELD_MISSING",
            "StashId FIELD_MISSING",
            "Version FIELD_MISSING"
        ]
    );
    let wrong = r#"{"Version":1,"AttemptId":"x","StashId":"a b","DeviceFingerprint":"f\u0007"}"#;
    assert_eq!(
        refused_submit(wrong),
        ["AttemptId FIELD_INVALID", "DeviceFingerprint FIELD_INVALID", "StashId FIELD_INVALID"]
    );
}

#[test]
fn submits_name_a_card_or_another_method() {
    let means = |means: &str| read_submit(&submit("3", means)).unwrap().means;
    assert_eq!(means(r#""PaymentMethod":"PAYPAL","StashId":null,"#), SubmitMeans::Method("PAYPAL".to_owned()));
    assert_eq!(
        means(r#""PaymentMethod":"VISA","StashId":"s","#),
        SubmitMeans::Stash { stash_id: "s".to_owned(), scheme: Some("VISA".to_owned()) }
    );
    let refused = |means: &str| refused_submit(&submit("3", means));
    assert_eq!(refused(r#""PaymentMethod":"VISA","#), ["StashId FIELD_MISSING"]);
    assert_eq!(refused(r#""PaymentMethod":"BITCOIN","#), ["PaymentMethod VALUE_NOT_ALLOWED"]);
    assert_eq!(refused(r#""PaymentMethod":"BITCOIN","StashId":"s","#), ["PaymentMethod VALUE_NOT_ALLOWED"]);
    assert_eq!(refused(r#""PaymentMethod":"IDEAL","StashId":"s","#), ["PaymentMethod CONFLICT", "StashId CONFLICT"]);
    assert_eq!(refused(r#""PaymentMethod":7,"#), ["PaymentMethod FIELD_INVALID"]);
}

#[test]
fn submits_name_a_saved_card_and_where_its_code_waits() {
    let id = id::<ContractId>(7);
    let with = |members: &str| submit("3", &format!(r#""ContractId":"{id}",{members}"#));
    let saved = SubmitMeans::SavedCard { contract: id, stash_id: "s".to_owned() };
    assert_eq!(read_submit(&with(r#""StashId":"s","#)).unwrap().means, saved);
    assert_eq!(refused_submit(&with("")), ["StashId FIELD_MISSING"]);
    assert_eq!(refused_submit(&with(r#""StashId":"a b","#)), ["StashId FIELD_INVALID"]);
    let both = with(r#""StashId":"s","PaymentMethod":"VISA","#);
    assert_eq!(refused_submit(&both), ["ContractId CONFLICT", "PaymentMethod CONFLICT"]);
    assert_eq!(refused_submit(&submit("3", r#""ContractId":"x","StashId":"s","#)), ["ContractId FIELD_INVALID"]);
}

#[test]
fn submits_carry_what_the_shopper_agreed_to() {
    let with = |consent: &str| submit("3", &format!(r#""StashId":"s","Consent":{consent},"#));
    let consent = read_submit(&with(r#"{"TextVersion":"2026-11","Locale":"de_AT"}"#)).unwrap().consent.unwrap();
    assert_eq!((consent.text_version.as_str(), consent.locale.to_string().as_str()), ("2026-11", "de_AT"));
    assert_eq!(read_submit(&with("null")).unwrap().consent, None);
    for (wrong, fields) in [
        ("{}", vec!["Consent.Locale FIELD_MISSING", "Consent.TextVersion FIELD_MISSING"]),
        (r#"{"TextVersion":"1","Locale":"de"}"#, vec!["Consent.Locale FIELD_INVALID"]),
        (r#"{"TextVersion":"1","Locale":"de_AT","At":"now"}"#, vec!["Consent.At FIELD_UNKNOWN"]),
        ("7", vec!["Consent FIELD_INVALID"]),
    ] {
        assert_eq!(refused_submit(&with(wrong)), fields, "{wrong}");
    }
}

#[test]
fn submits_name_a_method_that_the_deployment_added() {
    let own = Method::builder("TIKKIE", "Tikkie", Class::Online).build().unwrap();
    let catalogue = Catalogue::of_sandbox().with([own]).unwrap();
    let body = submit("3", r#""PaymentMethod":"TIKKIE","#);
    let request = SubmitRequest::parse(body.as_bytes(), &catalogue).unwrap();
    assert_eq!(request.means, SubmitMeans::Method("TIKKIE".to_owned()));
    assert_eq!(refused_submit(&body), ["PaymentMethod VALUE_NOT_ALLOWED"], "another deployment");
}

#[test]
fn progress_tells_why_it_ended() {
    assert_eq!(text(&ProgressBody::new(SessionStateKind::Processing, None)), r#"{"State":"PROCESSING"}"#);
    let failed = text(&ProgressBody::new(SessionStateKind::Failed, Some("PAYMENT_DECLINED")));
    assert_eq!(failed, r#"{"State":"FAILED","ErrorCode":"PAYMENT_DECLINED"}"#, "the words are the drop-in's");
}

#[test]
fn progress_tells_of_failed_attempts_checks_and_orders() {
    let failed = FailedAttemptSource { attempt: id(4), code: ShopperCode::PageCancelled, attempts_left: 3 };
    assert_eq!(
        text(&ProgressBody::new(SessionStateKind::Created, None).with_failed_attempt(failed)),
        r#"{"State":"CREATED","Attempt":{"AttemptId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809104","ErrorCode":"PAGE_CANCELLED","AttemptsLeft":3}}"#
    );
    let progress = |checking| text(&ProgressBody::new(SessionStateKind::Processing, None).checking(checking));
    assert_eq!(progress(true), r#"{"State":"PROCESSING","Checking":true}"#);
    assert_eq!(progress(false), r#"{"State":"PROCESSING"}"#);
    let completed = ProgressBody::new(SessionStateKind::Completed, None);
    assert_eq!(
        text(&completed.with_order(id(3), OrderState::Processed, "PAYPAL")),
        r#"{"State":"COMPLETED","OrderId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809103","OrderState":"PROCESSED","PaymentMethod":"PAYPAL"}"#
    );
}

#[test]
fn the_merchant_reads_exactly_why_attempts_failed() {
    let session = session(SMALLEST);
    let running = started(Some(&session), "PAYPAL");
    let reason = FailureReason::InsufficientFunds;
    let failed = running.refused(reason, NOW).unwrap().change.next;
    let (_, shown) = completed(SMALLEST);
    let body =
        text(&SessionBody::new(&session, None).with_attempts([&failed, &shown, &running].map(|order| (order, None))));
    let at = r#""At":"2026-11-18T11:06:40.000000Z""#;
    let expected = format!(
        r#""Attempts":[{{{at},"PaymentMethod":"PAYPAL","Outcome":"FAILED","Code":"INSUFFICIENT_FUNDS"}},{{{at},"PaymentMethod":"VISA","Outcome":"COMPLETED"}},{{{at},"PaymentMethod":"PAYPAL","Outcome":"PROCESSING"}}]"#
    );
    assert!(body.contains(&expected), "{body}");
}

#[test]
fn paying_another_way_names_an_attempt() {
    let parsed = PayAnotherWayRequest::parse(br#"{"AttemptId":"6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809104"}"#);
    assert_eq!(parsed.unwrap().attempt, id(4));
    for (body, expected) in [
        ("{}", "AttemptId FIELD_MISSING"),
        (r#"{"AttemptId":7}"#, "AttemptId FIELD_INVALID"),
        (r#"{"AttemptId":"x"}"#, "AttemptId FIELD_INVALID"),
    ] {
        assert_eq!(fields(PayAnotherWayRequest::parse(body.as_bytes()).unwrap_err()), [expected]);
    }
}

#[test]
fn progress_leads_on_to_a_page_or_a_bank() {
    let id = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";
    let attempt = id.parse().expect("a UUID");
    let progress = ProgressBody::new(SessionStateKind::Redirected, None);
    assert_eq!(
        text(&progress.with_page("https://bank.example/3ds?a=1", true, attempt)),
        format!(
            r#"{{"State":"REDIRECTED","RedirectUrl":"https://bank.example/3ds?a=1","AttemptId":"{id}","Challenge":true}}"#
        )
    );
    let progress = ProgressBody::new(SessionStateKind::Redirected, None);
    assert_eq!(
        text(&progress.with_page("https://wallet.example", false, attempt)),
        format!(r#"{{"State":"REDIRECTED","RedirectUrl":"https://wallet.example","AttemptId":"{id}"}}"#)
    );
    let details = bank_details();
    assert_eq!(
        text(&ProgressBody::new(SessionStateKind::Completed, None).with_bank_details(&details)),
        r#"{"State":"COMPLETED","BankDetails":{"AccountHolder":"Ana's mugs","Iban":"DE02120300000000202051","PaymentReference":"order-1"}}"#
    );
}
