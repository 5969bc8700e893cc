//! What happens in the examples, in this order, in one deployment: a merchant's and a shopper's scenarios.

use std::time::Duration;

use actix_web::http::Method;
use dropin_http::Exchange;
use dropin_tests::{World, cards, until};
use serde_json::{Value, json};

use crate::record::{Call, FILES, FORM, JSON, Recorder};

mod checkout;
mod contracts;
mod events;
mod listings;
mod orders;
mod wallet;

const UNKNOWN: &str = "6f1c3b2a-1d2e-4f3a-8b4c-5d6e7f809112";

/// Makes every call that a document shows.
pub(crate) async fn run(world: &World) -> Vec<Exchange> {
    let authorization = world.merchant.authorization();
    let hosts = vec![
        (world.stash.clone(), "https://stash.example"),
        (world.checkout.clone(), "https://checkout.example"),
        (world.processor.clone(), "https://processor.example"),
        (world.receiver.origin(), "https://shop.example"),
    ];
    let mut scenarios = ScenarioRun { world, authorization, recorder: Recorder::with_hosts(hosts) };
    let session = scenarios.sessions_are_created().await;
    scenarios.a_session_is_read_replaced_and_cancelled(&session).await;
    scenarios.a_shopper_pays().await;
    scenarios.a_shopper_pays_elsewhere().await;
    scenarios.a_shopper_returns().await;
    scenarios.orders_are_captured().await;
    scenarios.orders_are_cancelled_and_refunded().await;
    scenarios.disputes_are_answered().await;
    scenarios.a_server_pays().await;
    scenarios.a_server_charges_a_contract().await;
    scenarios.a_wallet_is_opened().await;
    scenarios.pages_list().await;
    scenarios.events_are_read().await;
    scenarios.recorder.exchanges
}

struct ScenarioRun<'a> {
    world: &'a World,
    authorization: String,
    recorder: Recorder,
}

fn request(reference: &str) -> Value {
    json!({
        "MerchantReference": reference, "AutoCapture": true, "Currency": "EUR",
        "CompleteUrl": "https://shop.example/paid?session={SessionId}", "CancelUrl": "https://shop.example/checkout",
        "Items": [{"Name": "Notebook", "Amount": 24.95, "Quantity": 2}],
        "BillingProfile": {
            "Name": "Robin Example", "Email": "robin@example.com",
            "Address": {"Street": "7 Harbour Lane", "City": "Dublin", "Country": "IE"},
        },
    })
}

fn with(mut request: Value, change: Value) -> Value {
    for (name, value) in change.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name} in {value}")).to_owned()
}

impl ScenarioRun<'_> {
    /// A call of the merchant's server.
    async fn merchant(
        &mut self,
        (operation, name, summary): (&'static str, &'static str, &'static str),
        (method, path): (Method, &str),
        body: Option<Value>,
        status: u16,
    ) -> Value {
        let authorization = self.authorization.clone();
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(body.is_some().then_some(JSON));
        let url = format!("{}{path}", self.world.base);
        self.recorder.make(Call { operation, name, summary, method, url, headers, body }, status).await
    }

    /// A call of the shopper's browser.
    async fn shopper(
        &mut self,
        (operation, name, summary): (&'static str, &'static str, &'static str),
        (method, path): (Method, &str),
        body: Option<Value>,
        status: u16,
    ) -> Value {
        let headers = body.iter().map(|_| JSON).collect();
        let url = format!("{}/v1/shopper/session/{path}", self.world.asset);
        self.recorder.make(Call { operation, name, summary, method, url, headers, body }, status).await
    }

    async fn stash(
        &mut self,
        name: &'static str,
        summary: &'static str,
        path: &str,
        form: Value,
        status: u16,
    ) -> Value {
        let url = format!("{}/{path}", self.world.stash);
        let (operation, headers) = ("stashCard", vec![FORM]);
        let call = Call { operation, name, summary, method: Method::POST, url, headers, body: Some(form) };
        self.recorder.make(call, status).await
    }

    async fn sessions_are_created(&mut self) -> String {
        let create = (Method::POST, "/v1/session");
        let created = self
            .merchant(
                ("createSession", "minimal", "As little as a Session needs"),
                create.clone(),
                Some(request("order-1001")),
                201,
            )
            .await;
        let shipped = with(
            request("order-1002"),
            json!({
                "AutoCapture": false, "Currency": "USD", "ViaAgent": false, "TaxAmount": 1.75,
                "Items": [{"Name": "Notebook", "Amount": 24.95, "Quantity": 2}, {"Name": "Pencil", "Amount": 1.05, "Quantity": 1}],
                "Discounts": [{"Name": "Welcome", "Amount": 2.5}],
                "BillingProfile": {
                    "BillingProfileReference": "customer-7", "Name": "Robin Example", "Email": "robin@example.com", "Phone": "+1 213 373 4253",
                    "Address": {"Street": "7 Harbour Lane", "City": "Los Angeles", "Region": "CA", "Country": "US", "Postcode": "90012"},
                },
                "ShippingDetails": {
                    "ShippingAmount": 4.95, "DutyAmount": 0, "Name": "Robin Example", "Email": "robin@example.com", "Phone": "+1 213 373 4253",
                    "Address": {"Street": "7 Harbour Lane", "City": "Los Angeles", "Region": "US-CA", "Country": "US", "Postcode": "90012"},
                },
            }),
        );
        self.merchant(
            ("createSession", "shipped", "Shipped, taxed and discounted, charged when it ships"),
            create.clone(),
            Some(shipped),
            201,
        )
        .await;
        let mut known = with(request("order-1003"), json!({"BillingProfileReference": "customer-7"}));
        known.as_object_mut().unwrap().remove("BillingProfile");
        self.merchant(
            ("createSession", "knownCustomer", "For a billing profile of an earlier Session"),
            create.clone(),
            Some(known),
            201,
        )
        .await;
        let wrong = with(
            request("order-1004"),
            json!({"Items": [{"Name": "Notebook", "Amount": "24.95", "Quantity": 2}], "Currency": null}),
        );
        self.merchant(
            ("createSession", "fieldErrors", "An amount in quotes, and no currency"),
            create.clone(),
            Some(wrong),
            400,
        )
        .await;
        let summary = "The MerchantReference was used before";
        self.merchant(("createSession", "duplicateReference", summary), create, Some(request("order-1001")), 409).await;
        let url = format!("{}/v1/session", self.world.base);
        let (operation, method) = ("createSession", Method::POST);
        let stranger = Call {
            operation,
            name: "noCredentials",
            summary: "Without credentials",
            method: method.clone(),
            url: url.clone(),
            headers: vec![JSON],
            body: Some(request("order-1005")),
        };
        self.recorder.make(stranger, 401).await;
        let authorization = self.authorization.clone();
        let headers = vec![("authorization", authorization.as_str()), ("content-type", "text/plain")];
        let plain = Call {
            operation,
            name: "mediaType",
            summary: "Sent as text/plain",
            method,
            url,
            headers,
            body: Some(request("order-1005")),
        };
        self.recorder.make(plain, 415).await;
        text(&created, "SessionId")
    }

    async fn a_session_is_read_replaced_and_cancelled(&mut self, session: &str) {
        let path = format!("/v1/session/{session}");
        self.merchant(("getSession", "created", "Before anybody paid"), (Method::GET, &path), None, 200).await;
        self.merchant(
            ("getSession", "notAnId", "The identifier is not a UUID"),
            (Method::GET, "/v1/session/1001"),
            None,
            400,
        )
        .await;
        let nowhere = format!("/v1/session/{UNKNOWN}");
        self.merchant(("getSession", "unknown", "No such Session"), (Method::GET, &nowhere), None, 404).await;
        let more = with(request("order-1001"), json!({"Items": [{"Name": "Notebook", "Amount": 49.9, "Quantity": 4}]}));
        let replaced = ("replaceSession", "moreItems", "The shopper changed the cart");
        self.merchant(replaced, (Method::PUT, &path), Some(more.clone()), 200).await;
        self.merchant(("cancelSession", "cancelled", "The Session is cancelled"), (Method::DELETE, &path), None, 204)
            .await;
        self.merchant(("cancelSession", "again", "It is CANCELLED already"), (Method::DELETE, &path), None, 409).await;
        self.merchant(("replaceSession", "tooLate", "The Session is CANCELLED"), (Method::PUT, &path), Some(more), 409)
            .await;
    }

    async fn a_shopper_pays(&mut self) {
        let session = self.world.merchant.create_session(request("order-2001")).await;
        let view = self.shopper(("viewSession", "created", "To be paid"), (Method::GET, &session), None, 200).await;
        self.shopper(("viewSession", "unknown", "No such Session"), (Method::GET, UNKNOWN), None, 404).await;
        let mine = self.world.receiver.origin();
        self.embedding("allowed", "A page of a registered origin", &session, &mine, 200).await;
        self.embedding("otherOrigin", "A page of another origin", &session, "https://elsewhere.example", 403).await;
        self.embedding("unknown", "No such Session", UNKNOWN, &mine, 404).await;
        let attempt = uuid::Uuid::new_v4().to_string();
        let address = format!("{}/{attempt}", text(&view, "MerchantId"));
        self.stashing(&address, &attempt).await;
        let submit = json!({"Version": view["Version"], "AttemptId": attempt, "StashId": attempt, "DeviceFingerprint": "b7c41f"});
        let old = with(submit.clone(), json!({"Version": 7}));
        let path = format!("{session}/submit");
        let changed = ("submitPayment", "changed", "The Session is not the one that was shown");
        self.shopper(changed, (Method::POST, &path), Some(old), 409).await;
        let unseen = with(submit.clone(), json!({"StashId": "never-stashed"}));
        self.shopper(("submitPayment", "noCard", "No card waits there"), (Method::POST, &path), Some(unseen), 400)
            .await;
        self.shopper(("submitPayment", "paid", "The card is charged"), (Method::POST, &path), Some(submit), 200).await;
        // How far an automatic capture is at this moment depends on the machine.
        until("it is captured", Duration::from_secs(30), async || {
            (self.world.merchant.session(&session).await["Order"]["State"] == "PROCESSED").then_some(())
        })
        .await;
        let path = format!("{session}/progress?wait=25");
        self.shopper(("paymentProgress", "completed", "Paid"), (Method::GET, &path), None, 200).await;
        let declined = self.world.merchant.create_session(request("order-2002")).await;
        self.world.pay(&declined, cards::DECLINED).await;
        let path = format!("{declined}/progress");
        self.shopper(("paymentProgress", "declined", "Refused by the card's bank"), (Method::GET, &path), None, 200)
            .await;
        let path = format!("{declined}/progress?wait=soon");
        self.shopper(("paymentProgress", "badWait", "The wait is no number"), (Method::GET, &path), None, 400).await;
        let path = format!("/v1/session/{session}");
        self.merchant(("getSession", "completed", "Paid, with its Order"), (Method::GET, &path), None, 200).await;
    }

    /// On a hosted page, or by a bank transfer.
    async fn a_shopper_pays_elsewhere(&mut self) {
        for (reference, method, name, summary) in [
            ("order-2003", "PAYPAL", "redirected", "The shopper has to go on at the wallet's page"),
            ("order-2004", "BANKTRANSFER", "transfer", "The shopper has to transfer the money"),
        ] {
            let session = self.world.merchant.create_session(request(reference)).await;
            let version = self.world.shopper(&session).view().await["Version"].clone();
            let attempt = uuid::Uuid::new_v4().to_string();
            let submit = json!({"Version": version, "AttemptId": attempt, "PaymentMethod": method, "DeviceFingerprint": "b7c41f"});
            let path = format!("{session}/submit");
            self.shopper(("submitPayment", name, summary), (Method::POST, &path), Some(submit), 200).await;
            let path = format!("{session}/progress?from=PROCESSING");
            self.shopper(("paymentProgress", name, summary), (Method::GET, &path), None, 200).await;
            let path = format!("/v1/session/{session}");
            self.merchant(("getSession", name, summary), (Method::GET, &path), None, 200).await;
            if method == "PAYPAL" {
                self.another_way(&session, &attempt).await;
            }
        }
    }

    /// With a card that was saved before.
    async fn a_shopper_returns(&mut self) {
        let world = self.world;
        world.programs.run_dropin(&["merchant", "set", &world.merchant.id, "--saved-cards", "on"]);
        // Running services follow within two seconds.
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        let mut first = with(request("order-2005"), json!({"AllowContract": true}));
        first["BillingProfile"]["BillingProfileReference"] = json!("customer-8");
        let first = world.merchant.create_session(first).await;
        let shopper = world.shopper(&first);
        assert_eq!(shopper.submit_agreeing(&shopper.stash("saver", cards::VISA).await).await.status, 200);
        let contract = text(&world.merchant.order_of(&first).await, "ContractId");
        let again = |reference| {
            with(request(reference), json!({"BillingProfile": null, "BillingProfileReference": "customer-8"}))
        };
        let session = world.merchant.create_session(again("order-2006")).await;
        let view = ("viewSession", "savedCard", "A saved card may pay it");
        let view = self.shopper(view, (Method::GET, &session), None, 200).await;
        let attempt = uuid::Uuid::new_v4().to_string();
        let form = json!({"DeviceFingerprint": "b7c41f", "card": json!({"VerificationCode": "123"}).to_string()});
        let address = format!("{}/{attempt}", text(&view, "MerchantId"));
        self.stash("code", "The verification code of a saved card", &address, form, 200).await;
        let submit = json!({
            "Version": view["Version"], "AttemptId": attempt, "ContractId": contract, "StashId": attempt, "DeviceFingerprint": "b7c41f",
        });
        let path = format!("{session}/submit");
        let other = with(submit.clone(), json!({"ContractId": UNKNOWN}));
        let unknown = ("submitPayment", "noSavedCard", "The Session is not offered this card");
        self.shopper(unknown, (Method::POST, &path), Some(other), 400).await;
        let paid = ("submitPayment", "savedCard", "The saved card is charged");
        self.shopper(paid, (Method::POST, &path), Some(submit), 200).await;
        self.removing("over", "The Session is paid already", &session, &contract, 409).await;
        let session = world.merchant.create_session(again("order-2007")).await;
        self.removing(
            "removed",
            "The contract is closed, and its card deleted at the processor",
            &session,
            &contract,
            204,
        )
        .await;
        self.removing("again", "It is gone already", &session, &contract, 404).await;
    }

    async fn removing(
        &mut self,
        name: &'static str,
        summary: &'static str,
        session: &str,
        contract: &str,
        status: u16,
    ) {
        let url = format!("{}/v1/session/{session}/contract/{contract}", self.world.asset);
        let (operation, method) = ("removeSavedCard", Method::DELETE);
        self.recorder.make(Call { operation, name, summary, method, url, headers: vec![], body: None }, status).await;
    }

    async fn another_way(&mut self, session: &str, attempt: &str) {
        let path = format!("{session}/pay-another-way");
        let bad = ("payAnotherWay", "badAttempt", "The AttemptId is no UUID");
        self.shopper(bad, (Method::POST, &path), Some(json!({"AttemptId": "the-first"})), 400).await;
        let closed = ("payAnotherWay", "closed", "The page is closed, and the Session may be paid another way");
        self.shopper(closed, (Method::POST, &path), Some(json!({"AttemptId": attempt})), 200).await;
    }

    async fn embedding(&mut self, name: &'static str, summary: &'static str, session: &str, origin: &str, status: u16) {
        let url = format!("{}/v1/session/{session}/embeddable", self.world.asset);
        let headers = vec![("origin", origin)];
        let (operation, method) = ("checkEmbedding", Method::GET);
        self.recorder.make(Call { operation, name, summary, method, url, headers, body: None }, status).await;
    }

    async fn stashing(&mut self, address: &str, attempt: &str) {
        let card = |year: &str| json!({"Name": "Robin Example", "Number": cards::VISA, "VerificationCode": "123", "Expiry": {"Year": year, "Month": "12"}});
        let form = |card: Value| json!({"DeviceFingerprint": "b7c41f", "card": card.to_string()});
        self.stash(
            "expired",
            "A card whose month is over",
            &address.replace(attempt, "cart-1"),
            form(card("2020")),
            200,
        )
        .await;
        self.stash("good", "A card that can be charged", address, form(card("2031")), 200).await;
        self.world.set_wallet_up().await;
        let token = json!({"Type": "APPLEPAY", "Data": {"token": {"paymentData": {"version": "EC_v1", "data": "…"}}}});
        let token = json!({"DeviceFingerprint": "b7c41f", "token_data": token.to_string()});
        let summary = "What a wallet gave, with a payment object much shortened";
        self.stash("walletToken", summary, &address.replace(attempt, "cart-2"), token, 200).await;
        let summary = "A card that is no JSON object";
        self.stash("fieldErrors", summary, address, form(json!(["2031", "12"])), 400).await;
        let nobody = format!("{UNKNOWN}/{attempt}");
        self.stash("unknownMerchant", "No such merchant", &nobody, form(card("2031")), 404).await;
    }
}
