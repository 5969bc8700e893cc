//! Merchants are isolated: another merchant's id answers exactly as one that does not exist (docs/SPECIFICATION.md#isolation). Every operation of every
//! service's table has a row here, asked with every kind of id that it takes; an operation without a row fails.

mod rows;

use std::collections::BTreeSet;

use dropin_http::ApiOperation;
use dropin_tests::{Merchant, Response, Stashed, World, cards};
use serde_json::{Value, json};
use uuid::Uuid;

use self::rows::{ROWS, to_open};

/// Ids of a tenant, or of nobody.
struct Ids {
    merchant: String,
    session: String,
    order: String,
    /// An Order with a refund.
    refunded: String,
    refund: String,
    profile: String,
    profile_reference: String,
    merchant_reference: String,
    /// Another one.
    reference_id: String,
    stash: Stashed,
    contract: String,
    contract_reference: String,
    /// A card that waits to be stored.
    stash_to_store: Stashed,
}

impl Ids {
    fn of_nobody() -> Self {
        let some = || Uuid::new_v4().to_string();
        let stash = || Stashed { attempt: String::new(), stash_id: some(), fingerprint: some() };
        Self {
            merchant: some(),
            session: some(),
            order: some(),
            refunded: some(),
            refund: some(),
            profile: some(),
            profile_reference: some(),
            merchant_reference: some(),
            reference_id: some(),
            stash: stash(),
            contract: some(),
            contract_reference: some(),
            stash_to_store: stash(),
        }
    }
}

/// One question that an operation is asked twice: with another tenant's ids, and with ids that do not exist.
#[derive(Clone, Copy)]
struct Ask {
    /// Which id is the stranger's.
    about: &'static str,
    /// What the answer to both is.
    status: u16,
    body: fn(&Merchant, &Ids) -> Option<Value>,
}

/// How an operation is tested.
enum Row {
    /// Asked by another merchant.
    Asked(&'static [Ask]),
    /// Whoever knows the SessionId may call it, and it takes no other id (docs/SPECIFICATION.md#shopper-api).
    BySessionAlone,
    /// Has a case of its own below.
    Case,
    /// Asked by another merchant where its own tests are: in disputes.rs.
    Elsewhere,
    /// Takes no id, and answers what is the caller's own; has a case of its own below.
    Own,
}

fn all_operations() -> impl Iterator<Item = &'static ApiOperation> {
    let merchants = session_api::OPERATIONS.iter().chain(checkout_api::OPERATIONS);
    merchants.chain(checkout_api::SHOPPER_OPERATIONS).chain(stash_api::OPERATIONS)
}

#[test]
fn every_operation_has_a_row() {
    let rows: BTreeSet<_> = ROWS.iter().map(|(name, _)| *name).collect();
    let operations: BTreeSet<_> = all_operations().map(|operation| operation.name).collect();
    assert_eq!(rows.len(), ROWS.len(), "a row stands twice");
    assert_eq!(operations, rows, "operations on the left, rows on the right");
    for operation in all_operations() {
        let asked = ROWS
            .iter()
            .any(|(name, row)| *name == operation.name && matches!(row, Row::Asked(_) | Row::Elsewhere | Row::Own));
        assert_eq!(asked, operation.permission.is_some(), "{}: a caller's operation has to be asked", operation.name);
    }
    // Every parameter of an address is asked about.
    for operation in session_api::OPERATIONS {
        let Some((_, Row::Asked(asks))) = ROWS.iter().find(|(name, _)| *name == operation.name) else { continue };
        for parameter in operation.path.split(['{', '}']).skip(1).step_by(2) {
            assert!(asks.iter().any(|ask| ask.about.starts_with(parameter)), "{} and {parameter}", operation.name);
        }
    }
}

/// A paid Session of the merchant's with everything that has an id.
async fn tenant(world: &World, merchant: &Merchant) -> Ids {
    let (profile_reference, merchant_reference) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let mut request =
        merchant.session_request(json!({"AutoCapture": false, "MerchantReference": merchant_reference.clone()}));
    request["BillingProfile"]["BillingProfileReference"] = profile_reference.clone().into();
    let created = merchant.post_session(request.to_string().into_bytes()).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let created = created.json();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("an id in {created}")).to_owned();
    let session = text(&created["SessionId"]);
    assert_eq!(world.pay(&session, cards::VISA).await["State"], "COMPLETED");
    let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
    world.receiver.expect(&paid.session, &crate::PAID).await;
    let refund = merchant.refund(&paid.order, "r", Some("1.00")).await;
    assert_eq!(refund.status, 201, "{}", refund.text());
    world.receiver.expect(&paid.session, &[&crate::PAID[..], &["REFUND_SUCCEEDED"]].concat()).await;
    let contract_reference = Uuid::new_v4().to_string();
    let card = world.stash(merchant, cards::VISA).await;
    let request = to_open(
        merchant,
        &card,
        json!({"ReferenceId": contract_reference, "BillingProfileReference": profile_reference}),
    );
    let opened = merchant.post_checkout("/openContract", None, &request).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    Ids {
        contract: text(&opened.json()["ContractId"]),
        contract_reference,
        stash_to_store: world.stash(merchant, cards::VISA).await,
        merchant: merchant.id.clone(),
        refunded: text(&paid.order["OrderId"]),
        refund: text(&refund.json()["RefundId"]),
        reference_id: text(&paid.order["MerchantReference"]),
        stash: world.stash(merchant, cards::VISA).await,
        order: text(&merchant.order_of(&session).await["OrderId"]),
        profile: text(&created["BillingProfileId"]),
        session,
        profile_reference,
        merchant_reference,
    }
}

async fn ask(operation: &ApiOperation, by: &Merchant, ids: &Ids, ask: &Ask) -> Response {
    let order = if operation.path.contains("{RefundId}") { &ids.refunded } else { &ids.order };
    let path = operation.path.replace("{SessionId}", &ids.session).replace("{OrderId}", order);
    let mut path = path.replace("{RefundId}", &ids.refund).replace("{ContractId}", &ids.contract);
    assert!(!path.contains('{'), "{path}: say what stands for it");
    let body = (ask.body)(by, ids);
    if let Some(what) = path.strip_prefix("/v2.21") {
        return by.post_checkout(what, None, &body.expect("a checkout has a body")).await;
    }
    if operation.name == "findOrder" {
        path += &format!("?MerchantReference={}", ids.merchant_reference);
    }
    by.call(operation.method.as_str(), &path, body.map(|body| body.to_string().into_bytes())).await
}

/// All that an answer tells but what is new each time.
fn comparable(answer: &Response) -> (u16, BTreeSet<String>, String) {
    let own = |name: &str| name == "x-request-id" || name == "date";
    let headers = answer.headers.iter().filter(|(name, _)| !own(name.as_str()));
    (answer.status, headers.map(|(name, value)| format!("{name}: {value:?}")).collect(), answer.text())
}

crate::both! {
    /// Every operation that asks for a caller, with every id of somebody else's.
    async fn another_tenants_ids_are_as_ids_that_do_not_exist(world: &World) {
        let (victim, stranger) = (&world.merchant, world.another_merchant().await);
        let unpaid = Ids { session: victim.create_session(json!({})).await, ..tenant(world, victim).await };
        let (session, order) = (format!("/v1/session/{}", unpaid.session), format!("/v1/order/{}", unpaid.order));
        let before = (victim.call("GET", &session, None).await.text(), victim.call("GET", &order, None).await.text());
        for operation in all_operations() {
            let Some((_, Row::Asked(asks))) = ROWS.iter().find(|(name, _)| *name == operation.name) else { continue };
            for one in *asks {
                let of_another = ask(operation, &stranger, &unpaid, one).await;
                let of_nobody = ask(operation, &stranger, &Ids::of_nobody(), one).await;
                let name = format!("{} with another tenant's {}", operation.name, one.about);
                assert_eq!(of_nobody.status, one.status, "{name}: {}", of_nobody.text());
                if one.status < 300 {
                    // A new thing of the stranger's own.
                    assert_eq!(of_another.status, one.status, "{name}: {}", of_another.text());
                } else {
                    assert_eq!(comparable(&of_another), comparable(&of_nobody), "{name}");
                }
            }
        }
        let after = (victim.call("GET", &session, None).await.text(), victim.call("GET", &order, None).await.text());
        assert_eq!(before, after, "nothing of the victim's has changed");
        assert!(before.0.contains("CREATED") && before.1.contains("PAYMENT_AUTHORIZED"), "they were real: {before:?}");
        // The same questions from whose ids they are: a matrix of ids that lead nowhere would prove nothing.
        for operation in all_operations() {
            let Some((_, Row::Asked(asks))) = ROWS.iter().find(|(name, _)| *name == operation.name) else { continue };
            for one in *asks {
                let own = ask(operation, victim, &unpaid, one).await;
                assert_ne!(own.status, one.status, "{} with its own {}: {}", operation.name, one.about, own.text());
            }
        }
    }

    /// listEvents: whoever goes on where another merchant was reads its own.
    async fn another_tenants_events_are_not_read(world: &World) {
        let (victim, stranger) = (&world.merchant, world.another_merchant().await);
        let paid = world.paid(cards::VISA, json!({"AutoCapture": true})).await;
        world.receiver.expect(&paid.session, &crate::PAID).await;
        let all = crate::events::pulled(victim, 3).await;
        let first = victim.call("GET", "/v1/event?limit=1", None).await.json();
        assert_eq!(first["Events"][0], all[0]);
        for after in [String::new(), format!("&after={}", first["Next"].as_str().unwrap())] {
            let read = stranger.call("GET", &format!("/v1/event?limit=200{after}"), None).await;
            assert_eq!((read.status, &read.json()["Events"], &read.json()["More"]), (200, &json!([]), &json!(false)), "{}", read.text());
        }
    }

    /// listContracts: two merchants may name a customer alike.
    async fn another_tenants_contracts_are_not_listed(world: &World) {
        let (victim, stranger) = (&world.merchant, world.another_merchant().await);
        let ids = tenant(world, victim).await;
        let path = format!("/v1/contract?BillingProfileReference={}", ids.profile_reference);
        let own = victim.call("GET", &path, None).await.json();
        assert_eq!(own["Contracts"][0]["ContractId"], json!(ids.contract), "{own}");
        let read = stranger.call("GET", &path, None).await;
        assert_eq!((read.status, read.json()), (200, json!({"Contracts": []})), "{}", read.text());
    }

    /// stashCard: the same StashId and fingerprint at two merchants are two entries.
    async fn a_stashed_card_belongs_to_its_merchant(world: &World) {
        let stranger = world.another_merchant().await;
        let (session, strange) = (world.merchant.create_session(json!({})).await, stranger.create_session(json!({})).await);
        let (shopper, other) = (world.shopper(&session), world.shopper(&strange));
        let (view, strange_view) = (shopper.view().await, other.view().await);
        assert_ne!(view["MerchantId"], strange_view["MerchantId"]);
        let card = shopper.stash("victim", cards::VISA).await;
        let replaced = other.stash_as(&card, cards::DECLINED).await;
        assert_eq!(replaced.status, 200, "{}", replaced.text());
        let submitted = shopper.submit(view["Version"].as_i64().unwrap(), &card).await;
        assert_eq!(submitted.status, 200, "{}", submitted.text());
        assert_eq!(shopper.rest().await["State"], "COMPLETED", "with its own card");
    }

    /// submitPayment: a card that waits for another merchant is as one that was never stashed.
    async fn another_tenants_card_is_as_one_that_was_never_stashed(world: &World) {
        let stranger = world.another_merchant().await;
        let victim = world.shopper(&world.merchant.create_session(json!({})).await);
        let card = victim.stash("victim", cards::VISA).await;
        let mut responses = Vec::new();
        for stash_id in [card.stash_id.clone(), Uuid::new_v4().to_string()] {
            let shopper = world.shopper(&stranger.create_session(json!({})).await);
            let version = shopper.view().await["Version"].as_i64().unwrap();
            let attempt = Uuid::new_v4().to_string();
            let stolen = Stashed { attempt, stash_id, ..card.clone() };
            responses.push(comparable(&shopper.submit(version, &stolen).await));
        }
        assert_eq!(responses[0], responses[1]);
        assert_eq!(responses[0].0, 400, "{responses:?}");
        let version = victim.view().await["Version"].as_i64().unwrap();
        assert_eq!(victim.submit(version, &card).await.status, 200, "its owner still can");
        assert_eq!(victim.rest().await["State"], "COMPLETED");
    }
}
