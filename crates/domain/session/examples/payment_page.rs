//! A payment page and its attempts: a Session is created from a request, the first card is declined after 3-D Secure, the shopper pays with a second one.
//!
//! `cargo run -p dropin-session --example payment_page`

use std::error::Error;
use std::time::Duration;

use dropin_kernel::{
    AttemptId, BillingProfileId, Change, MerchantId, OrderId, Revision, SessionId, Timestamp, Violations, uuid::Uuid,
};
use dropin_money::Decimal;
use dropin_order::FailureReason;
use dropin_session::{
    DEFAULT_ATTEMPTS, DraftContext, RequestedBilling, RequestedRate, Session, SessionDraft, SessionEvent, SessionInput,
    SessionState, SessionTransition, SubmitRefused,
};
use dropin_validation::{AddressInput, BillingInput, BillingProfile, ItemInput, UrlPolicy};

/// A store of one Session, and what the merchant was told of it.
struct Stored {
    session: Session,
    told: Vec<SessionEvent>,
}

impl Stored {
    /// Writes a move where the Session still is as the move was decided on; else the program reads and decides again.
    fn write(&mut self, (change, row): (Change<Session>, SessionTransition)) -> Result<(), Box<dyn Error>> {
        if self.session.revision != change.expected {
            return Err("another program was faster".into());
        }
        println!("{:<14} {} -> {}", row.trigger, self.session.state.kind(), row.to);
        self.session = change.next;
        self.told.extend(row.event);
        Ok(())
    }
}

/// What the merchant's server sends.
fn request(price: &str) -> SessionInput {
    let address = AddressInput {
        street: "Unter den Linden 1".to_owned(),
        city: "Berlin".to_owned(),
        country: "DE".to_owned(),
        ..AddressInput::default()
    };
    let billing = BillingInput {
        name: "Ana".to_owned(),
        email: "ana@shop.example".to_owned(),
        address,
        ..BillingInput::default()
    };
    SessionInput {
        merchant_reference: "order-1001".to_owned(),
        auto_capture: true,
        complete_url: "https://shop.example/paid?session={SessionId}".to_owned(),
        cancel_url: "https://shop.example/cart".to_owned(),
        currency: Some("EUR".to_owned()),
        items: vec![ItemInput { name: "Mug".to_owned(), amount: Decimal::parse(price), ..ItemInput::default() }],
        billing_profile: Some(billing),
        billing_profile_reference: None,
        billing_profile_id: None,
        via_agent: None,
        shipping: None,
        tax: Some(Decimal::parse("1.90")),
        discounts: None,
        rate_offer_id: None,
        allow_contract: None,
        contract_id: None,
        open_contract: None,
    }
}

/// A new Session that lives for a day, or everything that is wrong with the request.
fn create(input: &SessionInput, now: Timestamp) -> Result<Session, Violations> {
    let context = DraftContext { url_policy: UrlPolicy::Production, today: now.to_offset_date_time().date() };
    let draft = SessionDraft::parse(input, context, &RequestedRate::None)?;
    let RequestedBilling::Supplied(details) = draft.billing.clone() else { unreachable!("the request supplies one") };
    let terms = draft.into_terms(BillingProfile { id: BillingProfileId::new(Uuid::from_u128(3)), details: *details });
    let (id, merchant) = (SessionId::new(Uuid::from_u128(1)), MerchantId::new(Uuid::from_u128(2)));
    let session = Session::create(id, merchant, terms, DEFAULT_ATTEMPTS, now, now.plus(Duration::from_secs(86_400)));
    Ok(session.expect("it ends after it began, and every merchant may allow the default"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let now: Timestamp = "2026-11-23T10:00:00.000000Z".parse()?;
    let after = |seconds| now.plus(Duration::from_secs(seconds));
    let [first, second] = [11, 12].map(|number| AttemptId::new(Uuid::from_u128(number)));
    let [first_order, second_order] = [21, 22].map(|number| OrderId::new(Uuid::from_u128(number)));
    let wrong = create(&SessionInput { cancel_url: "/cart".to_owned(), ..request("0.001") }, now)
        .expect_err("two members are wrong");
    assert_eq!(wrong.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["CancelUrl", "Items[0].Amount"]);

    let mut stored = Stored { session: create(&request("9.50"), now)?, told: Vec::new() };
    assert_eq!(stored.session.terms.total.to_string(), "11.40");
    // The shopper's page is drawn; then the merchant changes the price. A total that was not shown is never charged.
    let shown = stored.session.revision;
    let cheaper = create(&request("7.50"), after(10))?.terms.clone();
    stored.write(stored.session.as_created()?.replace(cheaper, after(10)))?;
    let refused =
        stored.session.as_created()?.submit(shown, first_order, first, after(20)).expect_err("another price was shown");
    assert_eq!(refused, SubmitRefused::Changed { current: Revision::new(2) });

    // The first attempt: the issuer sends the shopper to 3-D Secure, and declines when the shopper is back.
    stored.write(stored.session.as_created()?.submit(stored.session.revision, first_order, first, after(30))?)?;
    stored.write(stored.session.as_processing()?.redirected(after(31)))?;
    assert!(stored.session.as_created().is_err(), "nobody else may pay, replace or cancel it now");
    stored.write(stored.session.as_redirected()?.returned(after(90)))?;
    stored.write(stored.session.as_processing()?.attempt_failed(FailureReason::InsufficientFunds, after(91)))?;
    // It may be tried again, and the merchant was told nothing yet.
    assert_eq!((stored.session.state.clone(), stored.session.attempts.left()), (SessionState::Created, 4));
    assert!(stored.told.is_empty());

    // The second attempt is paid: from now on the Order exists, and the shopper goes where the merchant said.
    stored.write(stored.session.as_created()?.submit(stored.session.revision, second_order, second, after(120))?)?;
    stored.write(stored.session.as_processing()?.authorized(after(121)))?;
    assert_eq!(stored.session.state, SessionState::Completed { order: second_order, attempt: second });
    assert_eq!(stored.told, [SessionEvent::Completed]);
    let (complete_url, _) = stored.session.return_urls();
    assert_eq!(complete_url, "https://shop.example/paid?session=00000000-0000-0000-0000-000000000001");
    assert!(stored.session.as_created().is_err(), "it is paid once");
    Ok(())
}
