//! What the API document says of the shopper's calls beyond their table of operations and the types of their bodies.

use dropin_http::{Answer, ApiDocs, Exchange, OperationDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::schema::Seconds;
use dropin_wire::shopper::{ProgressBody, ShopperViewBody, SubmitRequest};

use crate::OPERATIONS;

/// The document and the page as they are served.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../docs/openapi/checkout-api.json"),
    page: include_str!("../../../docs/openapi/checkout-api.html"),
};

const SERVICE: ServiceDocs = ServiceDocs {
    title: "Dropin: the shopper's calls",
    description: "What the drop-in's card frame asks, below {asset_url}. A merchant needs none of it: the drop-in makes these calls by itself.\n\n\
        Whoever knows a SessionId may make them; they show nothing of billing, and take no amount. The same origin serves the drop-in's files \
        (`/v1/dropin.js` and what it loads), which are not described here.",
};

/// The document, with these exchanges as its examples, as JSON text.
pub fn document(exchanges: &[Exchange]) -> String {
    dropin_http::document(SERVICE, OPERATIONS, &[view(), submit(), progress()], exchanges)
}

const TAG: &str = "Shopper";
const SESSION_ID: (&str, &str) =
    ("SessionId", "Identifier of the Session, given to the drop-in by the merchant's page.");

fn view() -> OperationDocs {
    let text = "The Session as its shopper may see it. Keep its Version for the submit.";
    let at = "$response.body#/SessionId";
    OperationDocs::new(TAG, "viewSession", "Show a Session to its shopper", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .answers(
            Answer::json::<ShopperViewBody<'_>>(200, "The Session.")
                .link("submit", "submitPayment", SESSION_ID.0, at)
                .link("progress", "paymentProgress", SESSION_ID.0, at),
        )
        .refuses(&[ErrorCode::SessionNotFound])
}

fn submit() -> OperationDocs {
    let text = "Pays the Session with a stashed card. It names no amount: what is paid is the total of the Version that was shown. Repeating it with the \
        same AttemptId is harmless and answers how the first one stands.";
    OperationDocs::new(TAG, "submitPayment", "Pay", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .takes::<SubmitRequest>("The version shown, and where the card waits.")
        .answers(Answer::json::<ProgressBody>(200, "How the attempt stands.").link(
            "progress",
            "paymentProgress",
            SESSION_ID.0,
            "$request.path.SessionId",
        ))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidSessionState, ErrorCode::SessionChanged])
}

fn progress() -> OperationDocs {
    let text = "How the attempt to pay stands: at once when the Session is not PROCESSING, else when that changes or the wait ends.";
    OperationDocs::new(TAG, "paymentProgress", "Follow a payment", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .parameter::<Seconds>("wait", "How long to wait for a change; more than 25 counts as 25, and none as 0.")
        .answers(Answer::json::<ProgressBody>(200, "How the attempt stands."))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidRequest])
}
