//! What the API document says of the stash beyond its table of operations and the types of its bodies.

use dropin_http::{ApiDocs, Exchange, OperationDocs, ResponseDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::schema::{Id, StashForm, StashId};
use dropin_wire::stash::StashBody;

use crate::OPERATIONS;

/// The document and the page as they are served.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../docs/openapi/stash-api.json"),
    page: include_str!("../../../docs/openapi/stash-api.html"),
    path_prefix: "",
};

const SERVICE: ServiceDocs = ServiceDocs {
    title: "Dropin: the stash",
    server: ".",
    description: "Keeps card data or a wallet's token for 30 minutes and one use, so that it does not pass through the merchant's server. Below {stash_url}; called by browsers.\n\n\
        Pages of the merchant's registered origins and of {asset_url} may read the answers (CORS), pages of others are refused with NOT_AUTHORIZED, and a \
        request without Origin passes.",
};

/// The document, with these exchanges as its examples, as JSON text.
pub fn document(exchanges: &[Exchange]) -> String {
    dropin_http::document(SERVICE, OPERATIONS, &[stash()], exchanges)
}

fn stash() -> OperationDocs {
    let text = "Stashes a card, or what a wallet gave in its place, under a StashId of your choice, such as a cart or an order. It can be paid with once, by whoever sends the same StashId and the \
        same DeviceFingerprint. Card data that is not valid does not fail the call: Warnings tell.";
    OperationDocs::new("Stash", "stashCard", "Stash a card or a wallet's token", text)
        .parameter::<Id>("MerchantId", "The merchant's id; no secret.")
        .parameter::<StashId>(
            "StashId",
            "Your name for the entry, exactly these characters without any percent-encoding.",
        )
        .takes_form::<StashForm>(
            "The browser's fingerprint, and either card or token_data. The form has at most 32 KiB.",
        )
        .answers(ResponseDocs::json::<StashBody<'_>>(200, "Stashed."))
        .refuses(&[ErrorCode::NotAuthorized, ErrorCode::MerchantNotFound])
}
