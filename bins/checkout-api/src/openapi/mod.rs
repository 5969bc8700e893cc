//! What the API documents say beyond the tables of operations and the types of the bodies: one of the checkout, one of the shopper's calls.

pub mod shopper;

use dropin_http::{ApiDocs, Exchange, OperationDocs, ResponseDocs, ServiceDocs};
use dropin_wire::ErrorCode;
use dropin_wire::catalogue::MethodsBody;
use dropin_wire::checkout::{
    CancelRequest, CheckoutActionBody, CheckoutBody, CheckoutCaptureRequest, CheckoutRefundRequest, CheckoutRequest,
    CloseContractRequest, OpenContractRequest, QueryRequest,
};
use dropin_wire::contract::{ContractBody, OpenedContractBody, QueryBody};
use dropin_wire::order::RefundBody;
use dropin_wire::schema::{AmountRequest, Country, CurrencyCode, Id, LocaleName, Text, WebUrl};
use dropin_wire::wallet::MerchantSession;

use crate::OPERATIONS;

/// The document and the page as they are served.
pub const DOCS: ApiDocs = ApiDocs {
    document: include_str!("../../../../docs/openapi/checkout-api.json"),
    page: include_str!("../../../../docs/openapi/checkout-api.html"),
    path_prefix: "",
};

const SERVICE: ServiceDocs = ServiceDocs {
    title: "Dropin: the checkout",
    server: ".",
    description: "Payments from server to server, below {checkout_url}, for merchants with a checkout of their own. The card comes from the stash: it does not pass \
        through the merchant's server.\n\n\
        - **Credentials**: HTTP Basic with the name and password of an API user, over TLS 1.2 or newer. MerchantId has to be that user's merchant.\n\
        - **JSON, amounts, errors and X-Request-Id** are as in the Session and Order API.\n\
        - **Notifications**: every change of the Order is told, as that of any other; MerchantReference is the ReferenceId, and there is no SessionId. The Order API \
        knows these Orders too.\n\
        - **Repeats**: send an Idempotency-Key with everything that moves money, and the same request again when no answer comes.",
};

/// The document, with these exchanges as its examples, as JSON text.
pub fn document(exchanges: &[Exchange]) -> String {
    let operations = [
        pay(),
        capture(),
        cancel(),
        refund(),
        query(),
        open_contract(),
        close_contract(),
        payment_methods(),
        wallet_session(),
    ];
    dropin_http::document(SERVICE, OPERATIONS, &operations, exchanges)
}

const TAG: &str = "Checkout";
const CONTRACTS: &str = "Contracts";

fn pay() -> OperationDocs {
    let text = "Pays for the shopper: with a stashed card (PaymentMethod of class Card and StashId), with a wallet's stashed token (StashId alone), by a redirect (class Online: send the shopper to \
        Action.Redirect, who comes back to Return) or by bank transfer (class Offline: Action.Redirect is a page of ours that shows the account), or, while the shopper is away, by a contract (ContractId alone). A card may need Action.Redirect too, for 3-D Secure. \
        An outcome that is not known yet is answered 200 with Authorized, Completed and Captured false: notifications tell, and so does the query.";
    OperationDocs::new(TAG, "checkout", "Pay", text)
        .repeatable()
        .takes::<CheckoutRequest>("The payment.")
        .answers(ResponseDocs::json::<CheckoutBody<'_>>(200, "How the payment stands."))
        .refuses(&[
            ErrorCode::InvalidCurrency,
            ErrorCode::PaymentDeclined,
            ErrorCode::ShopperAuthenticationRequired,
            ErrorCode::MerchantNotFound,
            ErrorCode::DuplicateMerchantReferenceId,
            ErrorCode::InvalidContractState,
        ])
}

fn capture() -> OperationDocs {
    let text = "Takes the money of an Order that is authorized: all of it, or once a part (the rest is released). Completed false: it is under way, or \
        under review and captured when that is approved; ORDER_PROCESSED tells.";
    OperationDocs::new(TAG, "captureCheckout", "Capture", text)
        .repeatable()
        .takes::<CheckoutCaptureRequest>("Which Order, and how much.")
        .answers(ResponseDocs::json::<CheckoutActionBody>(200, "What came of it."))
        .refuses(&[
            ErrorCode::CaptureFailed,
            ErrorCode::MerchantNotFound,
            ErrorCode::OrderNotFound,
            ErrorCode::InvalidOrderState,
        ])
}

fn cancel() -> OperationDocs {
    let text = "Ends an Order before its money is captured. Completed false: the processor has not confirmed it yet; ORDER_CANCELLED tells.";
    OperationDocs::new(TAG, "cancelCheckout", "Cancel", text)
        .repeatable()
        .takes::<CancelRequest>("Which Order.")
        .answers(ResponseDocs::json::<CheckoutActionBody>(200, "What came of it."))
        .refuses(&[ErrorCode::MerchantNotFound, ErrorCode::OrderNotFound, ErrorCode::InvalidOrderState])
}

fn refund() -> OperationDocs {
    let text = "Gives captured money back: all that is left, or a part, several times up to what was captured. The same RefundReference with no or the \
        same Amount answers 200 with the first refund.";
    OperationDocs::new(TAG, "refundCheckout", "Refund", text)
        .repeatable()
        .takes::<CheckoutRefundRequest>("Which Order, and what to give back under which name.")
        .answers(ResponseDocs::json::<RefundBody<'_>>(201, "The refund was taken on; State says what became of it."))
        .answers(ResponseDocs::json::<RefundBody<'_>>(
            200,
            "The refund that was made under this RefundReference before.",
        ))
        .refuses(&[
            ErrorCode::MerchantNotFound,
            ErrorCode::OrderNotFound,
            ErrorCode::InvalidOrderState,
            ErrorCode::DuplicateRefundReference,
            ErrorCode::RefundExceedsCaptured,
        ])
}

fn open_contract() -> OperationDocs {
    let text = "Has a stashed card stored, so that you charge it later without the shopper: the issuer verifies it, and nothing is charged. While State is OPENING the shopper \
        goes to Action.Redirect, the bank's page, and comes back to Return; CONTRACT_OPENED or CONTRACT_CLOSED tells what came of it. No card number is kept: the processor has it.";
    OperationDocs::new(CONTRACTS, "openContract", "Open a contract", text)
        .repeatable()
        .takes::<OpenContractRequest>("The contract.")
        .answers(ResponseDocs::json::<OpenedContractBody<'_>>(200, "How the contract stands."))
        .refuses(&[
            ErrorCode::InvalidCurrency,
            ErrorCode::PaymentDeclined,
            ErrorCode::MerchantNotFound,
            ErrorCode::DuplicateMerchantReferenceId,
        ])
}

fn close_contract() -> OperationDocs {
    let text = "Ends a contract for good: nobody charges it any more, and the processor deletes the card. A charge that is under way goes on.";
    OperationDocs::new(CONTRACTS, "closeContract", "Close a contract", text)
        .repeatable()
        .takes::<CloseContractRequest>("Which contract.")
        .answers(ResponseDocs::json::<ContractBody<'_>>(200, "The contract as it stands now."))
        .refuses(&[ErrorCode::MerchantNotFound, ErrorCode::InvalidContractState])
}

fn query() -> OperationDocs {
    let text = "How a payment stands, by its OrderId or its ReferenceId; a contract by its ContractId or the ReferenceId that opened it, in a member Contract.";
    OperationDocs::new(TAG, "queryCheckout", "Look up a payment", text)
        .takes::<QueryRequest>("Which Order or contract.")
        .answers(ResponseDocs::json::<QueryBody<'_>>(200, "How the payment or the contract stands."))
        .refuses(&[ErrorCode::MerchantNotFound, ErrorCode::OrderNotFound])
}

fn wallet_session() -> OperationDocs {
    let text = "Called by a page with the wallet's button, from the wallet's merchant-validation callback; hand the answer to its completion function unchanged. \
        The address is the PaymentSessionUrl of the wallet's entry in TokenMethods. A page of an origin that the merchant registered may read the answers (CORS); the \
        session is for its domain, which has to be registered for the wallet and verified. Nothing is called but the wallet provider's own servers.";
    OperationDocs::new("Wallet", "startWalletSession", "Start a wallet's payment session", text)
        .id("MerchantId", "The merchant's id; no secret.")
        .required_parameter::<WebUrl>("validationURL", "As the wallet gave it to the page, unchanged.")
        .required_parameter::<Text>(
            "displayName",
            "The merchant's name as the shopper shall see it; at most 64 characters.",
        )
        .parameter::<Text>("domainName", "The page's domain, for callers without an Origin; of a page, Origin tells.")
        .answers(ResponseDocs::json::<MerchantSession>(
            200,
            "The provider's answer, byte for byte; it may have more members.",
        ))
        .refuses(&[
            ErrorCode::InvalidRequest,
            ErrorCode::NotAuthorized,
            ErrorCode::MerchantNotFound,
            ErrorCode::NotFound,
            ErrorCode::WalletProviderFailed,
        ])
}

fn payment_methods() -> OperationDocs {
    let text = "What a merchant's checkout takes: what is listed is accepted with the same country, currency and amount, and what is not is refused. Public, and \
        pages of every origin may read it; keep the answer for as long as Cache-Control says. What is left out does not narrow the list. The pay-later \
        method's Parameters need one of Country, Currency and Locale, in this order of weight.";
    OperationDocs::new("Payment methods", "getPaymentMethods", "List payment methods", text)
        .required_parameter::<Id>("MerchantId", "Whose.")
        .parameter::<Country>("Country", "The shopper's billing country.")
        .parameter::<CurrencyCode>(
            "Currency",
            "The currency to pay in; the lists are empty when it is not enabled for the merchant.",
        )
        .parameter::<AmountRequest>(
            "Amount",
            "How much is to be paid, in Currency, which has to be there too: methods have limits.",
        )
        .parameter::<LocaleName>("Locale", "In which language the names are wanted.")
        .reads_a_version()
        .answers(
            ResponseDocs::json::<MethodsBody>(200, "The methods; either list may be empty.")
                .with_etag()
                .header("Cache-Control", "For how long the list may be kept."),
        )
        .refuses(&[ErrorCode::MerchantNotFound])
}
