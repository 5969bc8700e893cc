//! Everything that can be done with a card number, right and wrong.

use std::cell::RefCell;

use actix_web::http::Method;
use dropin_tests::{Http, Response, World, cards};
use serde_json::{Value, json};
use url::form_urlencoded;

const FORM: &str = "application/x-www-form-urlencoded";

/// A browser and a merchant who do it, and note all answers.
pub(super) struct Flows<'a> {
    world: &'a World,
    http: Http,
    said: RefCell<Vec<u8>>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        Self { world, http: Http::default(), said: RefCell::default() }
    }

    /// Every answer so far, heads included.
    pub(super) fn said(&self) -> Vec<u8> {
        self.said.borrow().clone()
    }

    /// Everything that is refused or never paid with.
    pub(super) async fn everything_wrong(&self, at: usize, number: &str) {
        self.stashed_wrongly(at, number).await;
        self.where_no_card_belongs(at, number).await;
        self.in_heads(number).await;
    }

    /// A payment with it, one way or another in turn.
    pub(super) async fn payment(&self, at: usize, number: &str) {
        match at % 6 {
            0 => self.checkout(number, json!({})).await,
            1 => self.drop_in(number).await,
            2 => self.checkout_with_a_fault(number, "error_500").await,
            3 => self.checkout_with_a_fault(number, "timeout_after_work").await,
            4 => self.checkout_with_a_fault(number, "duplicate").await,
            _ => self.in_a_wallets_token(number).await,
        }
    }

    fn hear(&self, answer: Response) -> Response {
        let mut said = self.said.borrow_mut();
        for (name, value) in &answer.headers {
            said.extend(format!("{name}: ").bytes());
            said.extend(value.as_bytes());
            said.push(b'\n');
        }
        said.extend(&answer.bytes);
        said.push(b'\n');
        answer
    }

    #[track_caller]
    fn expect(&self, answer: Response, statuses: &[u16]) -> Response {
        assert!(statuses.contains(&answer.status), "{statuses:?}: {} {}", answer.status, answer.text());
        self.hear(answer)
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
        statuses: &[u16],
    ) -> Response {
        let answer = self.http.send(method, url, headers, body.as_bytes().to_vec()).await;
        self.expect(answer.unwrap_or_else(|error| panic!("{error}")), statuses)
    }

    fn stash_address(&self, stash_id: &str) -> String {
        format!("{}/{}/{stash_id}", self.world.stash, self.world.merchant.id)
    }

    async fn post_form(&self, stash_id: &str, form: &str, statuses: &[u16]) -> Response {
        self.send(Method::POST, &self.stash_address(stash_id), &[("content-type", FORM)], form, statuses).await
    }

    /// Stashes a right card; its place.
    async fn stash(&self, number: &str) -> String {
        let stash_id = uuid::Uuid::new_v4().to_string();
        let answer = self.post_form(&stash_id, &form("card", &card(number)), &[200]).await;
        assert_eq!(answer.json()["Warnings"], json!([]), "{}", answer.text());
        stash_id
    }

    async fn stashed_wrongly(&self, at: usize, number: &str) {
        let right = card(number);
        let change = |change: &dyn Fn(&mut Value)| {
            let mut card = right.clone();
            change(&mut card);
            form("card", &card)
        };
        // Kept as it is, with warnings, and never used.
        self.post_form("late", &change(&|card| card["Expiry"]["Year"] = json!("2001")), &[200]).await;
        self.post_form("code", &change(&|card| card["VerificationCode"] = json!(number)), &[200]).await;
        self.post_form("name", &change(&|card| card["Number"] = json!(format!("{number} x"))), &[200]).await;
        self.post_form("type", &change(&|card| card["Number"] = json!([number])), &[200]).await;
        // Refused, each for another reason.
        self.post_form("field", &form("token_data", &right), &[400]).await;
        self.post_form("both", &format!("{}&token_data={number}", change(&|_| ())), &[400]).await;
        self.post_form("twice", &format!("{0}&{0}", change(&|_| ())), &[400]).await;
        self.post_form("cut", &format!("DeviceFingerprint=f&card={{\"Number\":\"{number}"), &[400]).await;
        self.post_form("escape", &format!("DeviceFingerprint=f&card=%{number}"), &[400]).await;
        self.post_form("large", &format!("{}&x={}", change(&|_| ()), "x".repeat(64 * 1024)), &[413]).await;
        let (whole, json) = (change(&|_| ()), [("content-type", "application/json")]);
        self.send(Method::POST, &self.stash_address("json"), &json, &right.to_string(), &[415]).await;
        let nobody = format!("{}/{}/cart", self.world.stash, uuid::Uuid::new_v4());
        self.send(Method::POST, &nobody, &[("content-type", FORM)], &whole, &[404]).await;
        let stranger = [("content-type", FORM), ("origin", "https://evil.example")];
        self.send(Method::POST, &self.stash_address("page"), &stranger, &whole, &[403]).await;
        self.send(Method::PUT, &self.stash_address("put"), &[("content-type", FORM)], &whole, &[405]).await;
        // In the address, in a spelling that is no StashId.
        let spelled: String = number.bytes().map(|digit| format!("%{digit:02X}")).collect();
        self.post_form(&spelled, &whole, &[400]).await;
        self.post_form(&format!("{at}/{number}"), &whole, &[400]).await;
        self.post_form(&format!("?card={number}"), &whole, &[400]).await;
    }

    async fn where_no_card_belongs(&self, at: usize, number: &str) {
        let (world, merchant) = (self.world, &self.world.merchant);
        let id = merchant.create_session(json!({})).await;
        // A member that the operation does not know is refused and kept nowhere.
        let session = merchant.session_request(json!({"Card": card(number), "Number": number}));
        self.expect(merchant.post_session(session.to_string().into_bytes()).await, &[400]);
        self.expect(merchant.replace(&id, json!({"Card": card(number)})).await, &[400]);
        for body in [format!("{{\"Card\": \"{number}\""), number.to_owned(), format!("{{\"Items\": {number}}}")] {
            self.expect(merchant.post_session(body.into_bytes()).await, &[400]);
        }
        let amount = json!({"Items": [{"Name": "Mug", "Amount": number, "Quantity": number}], "Currency": number});
        let wrong = merchant.session_request(amount).to_string().into_bytes();
        self.expect(merchant.post_session(wrong).await, &[400]);
        let form = [("content-type", FORM), ("authorization", &merchant.authorization())];
        let address = format!("{}/v1/session", world.base);
        self.send(Method::POST, &address, &form, &format!("card={number}"), &[415]).await;
        // A checkout with the card itself in place of a StashId.
        let mut raw = merchant.checkout_request(json!({"PaymentMethod": "VISA", "Card": card(number)}));
        self.expect(merchant.post_checkout("", None, &raw).await, &[400]);
        raw["StashId"] = card(number);
        self.expect(merchant.post_checkout("", None, &raw).await, &[400]);
        // The drop-in's submit with the card in it.
        let submit = json!({
            "Version": 2, "AttemptId": number, "StashId": card(number), "DeviceFingerprint": "f", "Card": number,
        });
        let shopper = format!("{}/v1/shopper/session/{id}/submit", world.asset);
        let json = [("content-type", "application/json")];
        self.send(Method::POST, &shopper, &json, &submit.to_string(), &[400]).await;
        self.send(Method::POST, &shopper, &json, &submit.to_string()[..at % 40 + 60], &[400]).await;
        // Addresses.
        for (base, path) in [
            (&world.base, format!("/{number}")),
            (&world.base, format!("/v1/session/{number}")),
            (&world.base, format!("/v1/order?MerchantReference={number}")),
            (&world.asset, format!("/v1/{number}.js")),
            (&world.asset, format!("/v1/shopper/session/{number}?card={number}")),
            (&world.stash, format!("/{number}/{number}")),
        ] {
            self.send(Method::GET, &format!("{base}{path}"), &[], "", &[400, 401, 404, 405]).await;
            let known = [("authorization", merchant.authorization())];
            let known = known.each_ref().map(|(name, value)| (*name, value.as_str()));
            self.send(Method::GET, &format!("{base}{path}"), &known, "", &[200, 400, 401, 404, 405]).await;
        }
    }

    async fn in_heads(&self, number: &str) {
        let basic = |user: &str, password: &str| {
            use base64::Engine as _;
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
        };
        let own = self.world.merchant.authorization();
        let address = format!("{}/v1/session/{}", self.world.base, uuid::Uuid::new_v4());
        for (name, value, status) in [
            ("authorization", basic(number, "x"), 401),
            ("authorization", basic("x", number), 401),
            ("authorization", format!("Bearer {number}"), 401),
            ("cookie", format!("card={number}"), 404),
            ("referer", format!("https://shop.example/?card={number}"), 404),
            ("user-agent", format!("Mozilla {number}"), 404),
            ("x-card-number", number.to_owned(), 404),
            ("x-request-id", format!("card {number}"), 404),
            ("if-none-match", format!("\"{number}\""), 404),
            ("x-forwarded-for", number.to_owned(), 404),
        ] {
            let mut headers = vec![(name, value.as_str())];
            headers.extend((name != "authorization").then_some(("authorization", own.as_str())));
            self.send(Method::GET, &address, &headers, "", &[status]).await;
        }
        let request = self.world.merchant.session_request(json!({})).to_string().into_bytes();
        let keyed = self.world.merchant.keyed("POST", "/v1/session", number, Some(request)).await;
        self.expect(keyed, &[201]);
    }

    /// From server to server; what comes of it depends on the number.
    async fn checkout(&self, number: &str, change: Value) {
        let stash_id = self.stash(number).await;
        let scheme = cards::SCHEMES.iter().find(|(_, known)| *known == number).map_or("VISA", |(scheme, _)| scheme);
        let card = json!({"PaymentMethod": scheme, "StashId": stash_id, "DeviceFingerprint": "f"});
        let mut request = self.world.merchant.checkout_request(card);
        for (name, value) in change.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.expect(self.world.merchant.post_checkout("", Some(&stash_id), &request).await, &[200, 402]);
        // Again: by its key, and with a card that is gone.
        self.expect(self.world.merchant.post_checkout("", Some(&stash_id), &request).await, &[200, 402]);
        request["ReferenceId"] = json!(uuid::Uuid::new_v4());
        self.expect(self.world.merchant.post_checkout("", None, &request).await, &[400]);
    }

    async fn checkout_with_a_fault(&self, number: &str, mode: &str) {
        let fault = json!({"Mode": mode, "DelayMs": 100, "Remaining": 1, "Kinds": ["AUTHORIZE"]});
        self.world.faults(fault).await;
        self.checkout(number, json!({"Capture": false})).await;
        self.world.faults(json!({"Mode": "none"})).await;
    }

    /// Through the drop-in's own calls.
    async fn drop_in(&self, number: &str) {
        let session = self.world.merchant.create_session(json!({})).await;
        let shopper = self.world.shopper(&session);
        let (stashed, answer) = shopper.stash_raw("canary", number, "2031").await;
        self.expect(answer, &[200]);
        let answer = self.expect(shopper.submit(1, &stashed).await, &[200]);
        assert!(
            ["COMPLETED", "CREATED", "FAILED", "REDIRECTED", "PROCESSING"]
                .contains(&answer.json()["State"].as_str().unwrap())
        );
        self.hear(shopper.submit(1, &stashed).await);
        let shown = self.world.merchant.call("GET", &format!("/v1/session/{session}"), None).await;
        self.expect(shown, &[200]);
    }

    /// A token that holds a number, as some wallets' do in clear for a test.
    async fn in_a_wallets_token(&self, number: &str) {
        let token = json!({"Type": "APPLEPAY", "Data": {"token": {"paymentData": {"applicationPrimaryAccountNumber": number}}}});
        self.post_form("wallet", &form("token_data", &token), &[200]).await;
        let other = json!({"Type": number, "Data": {"Number": number}});
        self.post_form("no-wallet", &form("token_data", &other), &[400]).await;
        let text = json!({"Type": "APPLEPAY", "Data": number});
        self.post_form("no-object", &form("token_data", &text), &[400]).await;
    }
}

/// A right card.
fn card(number: &str) -> Value {
    let code = if number.len() == 15 { "1234" } else { "123" };
    json!({"Name": "Ada", "Number": number, "VerificationCode": code, "Expiry": {"Year": "2031", "Month": "12"}})
}

fn form(field: &str, value: &Value) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("DeviceFingerprint", "f").append_pair(field, &value.to_string()).finish()
}
