//! The shopper's calls.

use dropin_http::{Answer, ApiDocs, Exchange, OperationDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::schema::{Seconds, SessionState};
use dropin_wire::shopper::{ProgressBody, ShopperViewBody, SubmitRequest};

use crate::SHOPPER_OPERATIONS;

/// The document and the page as they are served, below the shopper's calls: the checkout's stand beside them in a program of its own.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../../docs/openapi/shopper-api.json"),
    page: include_str!("../../../../docs/openapi/shopper-api.html"),
    below: "/v1/shopper",
};

const SERVICE: ServiceDocs = ServiceDocs {
    title: "Dropin: the shopper's calls",
    server: "../..",
    description: "What the drop-in's card frame asks, below {asset_url}. A merchant needs none of it: the drop-in makes these calls by itself.\n\n\
        Whoever knows a SessionId may make them; they show nothing of billing, and take no amount. The same origin serves the drop-in's files \
        (`/v1/dropin.js` and what it loads) and the page that shoppers come back to from hosted pages, which are not described here.",
};

/// The document, with these exchanges as its examples, as JSON text.
pub fn document(exchanges: &[Exchange]) -> String {
    dropin_http::document(SERVICE, SHOPPER_OPERATIONS, &[view(), submit(), progress()], exchanges)
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
    let text = "Pays the Session with a stashed card (StashId) or a method without one (PaymentMethod). It names no amount: what is paid is the total of the \
        Version that was shown. Repeating it with the same AttemptId is harmless and answers how the first one stands.";
    OperationDocs::new(TAG, "submitPayment", "Pay", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .takes::<SubmitRequest>("The version shown, and what to pay with.")
        .answers(Answer::json::<ProgressBody<'_>>(200, "How the attempt stands.").link(
            "progress",
            "paymentProgress",
            SESSION_ID.0,
            "$request.path.SessionId",
        ))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidSessionState, ErrorCode::SessionChanged])
}

fn progress() -> OperationDocs {
    let text = "How the attempt to pay stands: at once when the Session is not in the state `from`, else when that changes or the wait ends. While \
        REDIRECTED, RedirectUrl is where the shopper has to go.";
    OperationDocs::new(TAG, "paymentProgress", "Follow a payment", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .parameter::<Seconds>("wait", "How long to wait for a change; more than 25 counts as 25, and none as 0.")
        .parameter::<SessionState>("from", "The state that is known already; PROCESSING when left out.")
        .answers(Answer::json::<ProgressBody<'_>>(200, "How the attempt stands."))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidRequest])
}
