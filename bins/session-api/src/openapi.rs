//! What the API document says of the Session and Order API beyond its table of operations and the types of its bodies.

use dropin_http::{ApiDocs, Exchange, OperationDocs, ResponseDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::contract::{ContractBody, ContractListBody};
use dropin_wire::dispute::{DisputeBody, DisputeEvidenceForm, DisputeListBody};
use dropin_wire::event_log::EventsBody;
use dropin_wire::order::{OrderBody, OrderCaptureRequest, OrderRefundRequest, RefundBody, RefundListBody};
use dropin_wire::rates::RatesBody;
use dropin_wire::schema::{EventCursor, EventLimit, Id, Text};
use dropin_wire::session::{SessionBody, SessionRequest};

use crate::OPERATIONS;

/// The document and the page as they are served.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../docs/openapi/session-api.json"),
    page: include_str!("../../../docs/openapi/session-api.html"),
    path_prefix: "",
};

const SERVICE: ServiceDocs = ServiceDocs {
    title: "Dropin: Session and Order API",
    server: ".",
    description: "For the merchant's server, below {base_url}.\n\n\
        - **Credentials**: HTTP Basic with the name and password of an API user, over TLS 1.2 or newer. Each operation names the permission it needs.\n\
        - **JSON**: PascalCase members. A member that the operation does not know is refused (FIELD_UNKNOWN) with the nearest known one; null counts as left out. The same key twice, invalid UTF-8 and more than 32 \
        levels of nesting are refused. Bodies have at most 256 KiB, a form with evidence 2.5 MiB.\n\
        - **Amounts** are JSON numbers and exact decimals end to end: at most 12 digits before the point, and after it no more than the currency's minor \
        unit has (ISO 4217: none for JPY, two for USD, three for KWD). A whole number may be written `2.0`.\n\
        - **Errors**: every 4xx and 5xx answer carries an Error object. Programs decide by Code; FieldErrors name fields by their path, such as \
        `Items[2].Amount`: first every wrong type and missing member at once, then every wrong meaning at once.\n\
        - **X-Request-Id** names a request in answers and logs. Send your own, 1 to 128 of `A-Za-z0-9._-`, or read ours.",
};

/// The document, with these exchanges as its examples, as JSON text.
pub fn document(exchanges: &[Exchange]) -> String {
    dropin_http::document(SERVICE, OPERATIONS, &operations(), exchanges)
}

fn operations() -> Vec<OperationDocs> {
    vec![
        create(),
        get(),
        replace(),
        cancel(),
        list_contracts(),
        get_contract(),
        find_order(),
        get_order(),
        capture(),
        cancel_order(),
        refund(),
        list_refunds(),
        get_refund(),
        list_disputes(),
        accept_dispute(),
        hand_in_evidence(),
        list_events(),
        get_rates(),
    ]
}

const SESSIONS: &str = "Sessions";
const CONTRACTS: &str = "Contracts";
const ORDERS: &str = "Orders";
const EVENTS: &str = "Events";
const RATES: &str = "Rates";
const SESSION_ID: (&str, &str) = ("SessionId", "Identifier of the Session, from the answer that created it.");
const ORDER_ID: (&str, &str) = ("OrderId", "Identifier of the Order, from a notification or from Session.Order.");

const DISPUTE_ID: (&str, &str) = ("DisputeId", "Identifier of the dispute, from a notification or the list.");
const REFUND_ID: (&str, &str) =
    ("RefundId", "Identifier of the refund, from the answer to it, the list or a notification.");

fn created(status: u16, description: &'static str) -> ResponseDocs {
    let at = "$response.body#/SessionId";
    ResponseDocs::json::<SessionBody<'_>>(status, description)
        .with_etag()
        .link("get", "getSession", "SessionId", at)
        .link("replace", "replaceSession", "SessionId", at)
        .link("cancel", "cancelSession", "SessionId", at)
}

fn create() -> OperationDocs {
    let text = "Creates a Session, CREATED. Start the drop-in in the shopper's browser with its SessionId.";
    OperationDocs::new(SESSIONS, "createSession", "Create a Session", text)
        .repeatable()
        .takes::<SessionRequest>("The Session.")
        .answers(created(201, "The Session, CREATED."))
        .refuses(&[ErrorCode::InvalidCurrency, ErrorCode::DuplicateMerchantReferenceId])
}

fn get() -> OperationDocs {
    let text = "The Session in its current state; once it is COMPLETED, with its Order.";
    let order = "$response.body#/Order/OrderId";
    OperationDocs::new(SESSIONS, "getSession", "Retrieve a Session", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .reads_a_version()
        .answers(
            ResponseDocs::json::<SessionBody<'_>>(200, "The Session.")
                .with_etag()
                .link("getOrder", "getOrder", ORDER_ID.0, order)
                .link("capture", "captureOrder", ORDER_ID.0, order),
        )
        .refuses(&[ErrorCode::SessionNotFound])
}

fn replace() -> OperationDocs {
    let text = "Puts a whole new request in the place of a Session that is CREATED: what is left out is gone, and a billing profile that is sent gets \
        a new BillingProfileId. A shopper who already looks at the old total is shown the new one and asked again.";
    OperationDocs::new(SESSIONS, "replaceSession", "Replace a Session", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .repeatable()
        .changes_a_version()
        .takes::<SessionRequest>("The Session as it shall be.")
        .answers(created(200, "The Session as it is now."))
        .refuses(&[
            ErrorCode::InvalidCurrency,
            ErrorCode::SessionNotFound,
            ErrorCode::DuplicateMerchantReferenceId,
            ErrorCode::InvalidSessionState,
        ])
}

fn cancel() -> OperationDocs {
    let text =
        "Cancels a Session that is CREATED. It stays there to be read, CANCELLED; its MerchantReference is not freed.";
    OperationDocs::new(SESSIONS, "cancelSession", "Cancel a Session", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .repeatable()
        .changes_a_version()
        .answers(ResponseDocs::empty(204, "The Session is CANCELLED."))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidSessionState])
}

fn list_contracts() -> OperationDocs {
    let text = "The contracts of a billing profile, oldest first, at most 100: the cards that you may charge, or that the shopper may pay with.";
    OperationDocs::new(CONTRACTS, "listContracts", "List contracts", text)
        .required_parameter::<Text>("BillingProfileReference", "As the contract was opened with it.")
        .answers(ResponseDocs::json::<ContractListBody<'_>>(200, "The contracts; the list may be empty."))
}

fn get_contract() -> OperationDocs {
    let text = "A contract with the newest 100 Orders made under it, oldest first.";
    OperationDocs::new(CONTRACTS, "getContract", "Retrieve a contract", text)
        .id("ContractId", "Identifier of the contract, from the answer that opened it or a notification.")
        .answers(ResponseDocs::json::<ContractBody<'_>>(200, "The contract."))
        .refuses(&[ErrorCode::ContractNotFound])
}

fn find_order() -> OperationDocs {
    let text = "The Order of the payment that you gave this reference, also of one made server to server. Of a Session that nobody has paid there is none.";
    let at = "$response.body#/OrderId";
    OperationDocs::new(ORDERS, "findOrder", "Find an Order by its reference", text)
        .required_parameter::<Text>(
            "MerchantReference",
            "The MerchantReference of the Session, or the ReferenceId of the checkout.",
        )
        .reads_a_version()
        .answers(
            ResponseDocs::json::<OrderBody<'_>>(200, "The Order.").with_etag().link("get", "getOrder", ORDER_ID.0, at),
        )
        .refuses(&[ErrorCode::OrderNotFound])
}

fn get_order() -> OperationDocs {
    let text = "The Order of a payment with its amounts, its refunds and every step of its life. Its id comes with the notifications and with the Session \
        once that is COMPLETED.";
    let at = "$response.body#/OrderId";
    OperationDocs::new(ORDERS, "getOrder", "Retrieve an Order", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .reads_a_version()
        .answers(
            ResponseDocs::json::<OrderBody<'_>>(200, "The Order.")
                .with_etag()
                .link("cancel", "cancelOrder", ORDER_ID.0, at)
                .link("refund", "refundOrder", ORDER_ID.0, at),
        )
        .refuses(&[ErrorCode::OrderNotFound])
}

fn capture() -> OperationDocs {
    let text = "Takes the money of an Order that is PAYMENT_AUTHORIZED: all of it, or once a part (the rest is released). Reason.Code says how it \
        went: `Captured`; `PendingNotification` and `UnderReview` are completed later and told by ORDER_PROCESSED. Asked again with no or the same \
        Amount it answers 200 and nothing moves twice.";
    OperationDocs::new(ORDERS, "captureOrder", "Capture an Order", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .repeatable()
        .may_take::<OrderCaptureRequest>("Nothing, or how much.")
        .answers(ResponseDocs::json::<OrderBody<'_>>(200, "The Order with the Reason."))
        .refuses(&[ErrorCode::CaptureFailed, ErrorCode::OrderNotFound, ErrorCode::InvalidOrderState])
}

fn cancel_order() -> OperationDocs {
    let text = "Ends an Order before its money is captured: voids an authorization, or stops a bank transfer or a pay-later review that still waits. Cancelled \
        again it answers 200. While the processor has not confirmed, the Reason is `PendingNotification` and ORDER_CANCELLED tells. After a capture, or \
        while one is in flight, it is refused: refund instead.";
    OperationDocs::new(ORDERS, "cancelOrder", "Cancel an Order", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .repeatable()
        .answers(ResponseDocs::json::<OrderBody<'_>>(200, "The Order, CANCELLED or about to be."))
        .refuses(&[ErrorCode::OrderNotFound, ErrorCode::InvalidOrderState])
}

fn refund() -> OperationDocs {
    let text = "Gives money back of an Order that is PROCESSED: all that is left, or a part, several times up to what was captured. A refund that is \
        IN_PROGRESS is told by REFUND_SUCCEEDED or REFUND_FAILED. The same RefundReference with no or the same Amount answers 200 with the first refund.";
    OperationDocs::new(ORDERS, "refundOrder", "Refund an Order", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .repeatable()
        .takes::<OrderRefundRequest>("What to give back, under which name.")
        .answers(ResponseDocs::json::<RefundBody<'_>>(201, "The refund was taken on; State says what became of it."))
        .answers(ResponseDocs::json::<RefundBody<'_>>(
            200,
            "The refund that was made under this RefundReference before.",
        ))
        .refuses(&[
            ErrorCode::OrderNotFound,
            ErrorCode::InvalidOrderState,
            ErrorCode::DuplicateRefundReference,
            ErrorCode::RefundExceedsCaptured,
        ])
}

fn list_refunds() -> OperationDocs {
    OperationDocs::new(ORDERS, "listRefunds", "List the refunds of an Order", "The refunds of an Order, oldest first.")
        .id(ORDER_ID.0, ORDER_ID.1)
        .answers(ResponseDocs::json::<RefundListBody<'_>>(200, "The refunds."))
        .refuses(&[ErrorCode::OrderNotFound])
}

fn get_refund() -> OperationDocs {
    OperationDocs::new(ORDERS, "getRefund", "Retrieve a refund", "A refund in its current state.")
        .id(ORDER_ID.0, ORDER_ID.1)
        .id(REFUND_ID.0, REFUND_ID.1)
        .answers(ResponseDocs::json::<RefundBody<'_>>(200, "The refund."))
        .refuses(&[ErrorCode::OrderNotFound, ErrorCode::RefundNotFound])
}

fn list_disputes() -> OperationDocs {
    let text = "The disputes of an Order, oldest first: what shoppers want back through their bank. DISPUTE_OPENED, DISPUTE_UPDATED and DISPUTE_CLOSED tell \
        of each. What is disputed cannot be refunded, unless the dispute is WON.";
    OperationDocs::new(ORDERS, "listDisputes", "List the disputes of an Order", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .answers(ResponseDocs::json::<DisputeListBody>(200, "The disputes; the list may be empty."))
        .refuses(&[ErrorCode::OrderNotFound])
}

const ANSWER_REFUSALS: &[ErrorCode] = &[
    ErrorCode::OrderNotFound,
    ErrorCode::DisputeNotFound,
    ErrorCode::InvalidDisputeState,
    ErrorCode::DuplicateRequest,
    ErrorCode::DisputeAnswerRefused,
];

fn accept_dispute() -> OperationDocs {
    let text = "Accepts a dispute that NEEDS_RESPONSE: its money stays with the shopper, and DISPUTE_CLOSED tells. Accepted again it answers 200.";
    OperationDocs::new(ORDERS, "acceptDispute", "Accept a dispute", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .id(DISPUTE_ID.0, DISPUTE_ID.1)
        .repeatable()
        .answers(ResponseDocs::json::<DisputeBody>(200, "The dispute, ACCEPTED or with AnswerPending."))
        .refuses(ANSWER_REFUSALS)
}

fn hand_in_evidence() -> OperationDocs {
    let text = "Hands in evidence that the payment was right, once, while the dispute NEEDS_RESPONSE: it is then UNDER_REVIEW, and the shopper's bank decides. \
        Send all of it in one form, and nothing of the card.";
    OperationDocs::new(ORDERS, "handInEvidence", "Hand in evidence", text)
        .id(ORDER_ID.0, ORDER_ID.1)
        .id(DISPUTE_ID.0, DISPUTE_ID.1)
        .repeatable()
        .takes_files::<DisputeEvidenceForm>(DisputeEvidenceForm::files(), "Text, Files or both.")
        .answers(ResponseDocs::json::<DisputeBody>(200, "The dispute, UNDER_REVIEW or with AnswerPending."))
        .refuses(ANSWER_REFUSALS)
}

fn list_events() -> OperationDocs {
    let text = "What you are notified of, oldest first: to catch up after your endpoint was away, or instead of having one. Begin without `after` at the \
        oldest event that is kept; then go on with the Next of each answer, at once while More is true and later otherwise. Nothing is ever added before a \
        Next that you were given, so that nothing is missed, and an event shows a moment after its change. EventId is the `webhook-id` of the notification: \
        do nothing for one that you have seen. Bodies of SESSION_* carry the shopper's name, e-mail, phone and delivery address.";
    OperationDocs::new(EVENTS, "listEvents", "Read events", text)
        .parameter::<EventCursor>(
            "after",
            "The Next of an earlier answer; the oldest event comes first when it is left out or empty.",
        )
        .parameter::<EventLimit>("limit", "Fewer come when they are large.")
        .answers(ResponseDocs::json::<EventsBody<'_>>(200, "The events that come next."))
        .refuses(&[ErrorCode::InvalidRequest])
}

fn get_rates() -> OperationDocs {
    let text = "The exchange rates of a merchant, to build a currency selector with and to convert prices: Rate is how many units of Currency one unit of the \
        merchant's settlement currency costs. A merchant with spot rates gets Rates, which are indications; one with guaranteed rates gets RateOffers, by \
        whose Id a Session is priced. Called from pages of any origin; it takes no secret. A currency that no rate is known of is left out. Keep the answer \
        as long as Cache-Control says.";
    OperationDocs::new(RATES, "getRates", "Retrieve exchange rates", text)
        .required_parameter::<Id>("merchantId", "The merchant's id; no secret.")
        .reads_a_version()
        .answers(
            ResponseDocs::json::<RatesBody>(200, "Rates, or RateOffers.")
                .with_etag()
                .header("Cache-Control", "`public`, and in max-age the seconds until something may change.")
                .header(
                    "Warning",
                    "`110`, and the day that spot rates are of, when they are older than they should be.",
                ),
        )
        .refuses(&[ErrorCode::MerchantNotFound, ErrorCode::RatesStale])
}
