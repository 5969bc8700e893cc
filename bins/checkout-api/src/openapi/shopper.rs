//! The shopper's calls.

use dropin_http::{ApiDocs, Exchange, OperationDocs, ResponseDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::schema::{Id, Seconds, SessionState};
use dropin_wire::shopper::{EmbeddableBody, PayAnotherWayRequest, ProgressBody, ShopperViewBody, SubmitRequest};

use crate::SHOPPER_OPERATIONS;

/// The document and the page as they are served, below the shopper's calls: the checkout's stand beside them in a program of its own.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../../docs/openapi/shopper-api.json"),
    page: include_str!("../../../../docs/openapi/shopper-api.html"),
    path_prefix: "/v1/shopper",
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
    let operations = [view(), submit(), remove_card(), pay_another_way(), progress(), embedding()];
    dropin_http::document(SERVICE, SHOPPER_OPERATIONS, &operations, exchanges)
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
            ResponseDocs::json::<ShopperViewBody<'_>>(200, "The Session.")
                .link("submit", "submitPayment", SESSION_ID.0, at)
                .link("progress", "paymentProgress", SESSION_ID.0, at),
        )
        .refuses(&[ErrorCode::SessionNotFound])
}

fn submit() -> OperationDocs {
    let text = "Pays the Session with a stashed card (StashId), a method without one (PaymentMethod) or a saved card (ContractId, with the StashId of its \
        verification code). It names no amount: what is paid is the total of the \
        Version that was shown. Repeating it with the same AttemptId is harmless and answers how the first one stands, or how it ended: an AttemptId \
        never starts a second attempt. While CREATED, Attempt tells of the attempt that failed last, and another may be made.";
    OperationDocs::new(TAG, "submitPayment", "Pay", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .takes::<SubmitRequest>("The version shown, and what to pay with.")
        .answers(ResponseDocs::json::<ProgressBody<'_>>(200, "How the attempt stands.").link(
            "progress",
            "paymentProgress",
            SESSION_ID.0,
            "$request.path.SessionId",
        ))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidSessionState, ErrorCode::SessionChanged])
}

fn remove_card() -> OperationDocs {
    let text = "Has a saved card forgotten that the view lists with Removable true: its contract is closed, and the processor deletes the card. Of a removal \
        and a submit with the card at the same time one wins.";
    OperationDocs::new(TAG, "removeSavedCard", "Remove a saved card", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .id("ContractId", "Identifier of the contract, from SavedCards.")
        .answers(ResponseDocs::empty(204, "It is gone."))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidSessionState, ErrorCode::ContractNotFound])
}

fn pay_another_way() -> OperationDocs {
    let text = "The shopper has left the hosted page of this attempt and wants to pay another way: the page is closed at the bank or provider first, and \
        that counts as an attempt. What was paid meanwhile wins, and the Session is COMPLETED. With Checking, it is not known yet whether the page was \
        closed. Repeating it is harmless, and so is naming an attempt that is over.";
    OperationDocs::new(TAG, "payAnotherWay", "Pay another way", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .takes::<PayAnotherWayRequest>("The attempt whose page shall be closed.")
        .answers(ResponseDocs::json::<ProgressBody<'_>>(200, "How the Session stands."))
        .refuses(&[ErrorCode::SessionNotFound])
}

fn progress() -> OperationDocs {
    let text = "How the attempt to pay stands: at once when the Session is not in the state `from`, else when that changes or the wait ends. While \
        REDIRECTED, RedirectUrl is where the shopper has to go.";
    OperationDocs::new(TAG, "paymentProgress", "Follow a payment", text)
        .id(SESSION_ID.0, SESSION_ID.1)
        .parameter::<Seconds>("wait", "How long to wait for a change; more than 25 counts as 25, and none as 0.")
        .parameter::<SessionState>("from", "The state that is known already; PROCESSING when left out.")
        .answers(ResponseDocs::json::<ProgressBody<'_>>(200, "How the attempt stands."))
        .refuses(&[ErrorCode::SessionNotFound, ErrorCode::InvalidRequest])
}

fn embedding() -> OperationDocs {
    let text = "Tells the page that asks (header Origin) whether it may embed the drop-in for the Session; pages of every origin may read the answer (CORS). \
        A page may when its origin is registered with the merchant, in a sandbox also when it is that of CompleteUrl or CancelUrl. Browsers refuse \
        the frame of any other without telling it why.";
    OperationDocs::new(TAG, "checkEmbedding", "May this page embed the drop-in?", text)
        .parameter::<Id>(SESSION_ID.0, SESSION_ID.1)
        .header("Origin", "^https?://", "The page's origin, set by browsers; without it that of {asset_url}.")
        .answers(ResponseDocs::json::<EmbeddableBody>(200, "It may."))
        .refuses(&[ErrorCode::OriginNotAllowed, ErrorCode::SessionNotFound])
}
