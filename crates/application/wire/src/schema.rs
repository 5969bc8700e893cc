//! The words that the API documents (OpenAPI 3.1, JSON Schema 2020-12) share: one named schema for each kind of value.
//!
//! A schema says what its JSON type and form can say. What depends on several fields stands in the descriptions, and the answers' FieldErrors
//! tell it exactly.

use std::borrow::Cow;

use dropin_card::Scheme;
use dropin_catalogue::{Class, MAX_METHOD_ID_BYTES, Method, methods};
use dropin_contract::{CloseReason, ContractKind, ContractStateKind, SuspendReason};
use dropin_kernel::ViolationCode;
use dropin_money::Currency;
use dropin_order::{DisputeReason, DisputeState, FailureReason, OrderState, RefundState, ShopperCode};
use dropin_risk::{Decision, ScaExemption};
use dropin_session::SessionStateKind;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::event;
use crate::event_log::{DEFAULT_EVENT_LIMIT, MAX_EVENT_LIMIT};

/// Something before and after, and no control character between; what is trimmed may stand around it.
const TEXT: &str = r"^\s*[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?\s*$";

/// Names a schema that has no Rust type of its own on the wire.
macro_rules! named {
    ($($(#[doc = $doc:literal])* $name:ident = $build:expr;)+) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let build: fn(ObjectBuilder) -> ObjectBuilder = $build;
                    let described = ObjectBuilder::new().description(Some(concat!($($doc),*).trim()));
                    RefOr::T(build(described).into())
                }
            }

            impl ToSchema for $name {
                fn name() -> Cow<'static, str> {
                    Cow::Borrowed(stringify!($name))
                }
            }
        )+
    };
}

fn string(schema: ObjectBuilder) -> ObjectBuilder {
    schema.schema_type(Type::String)
}

fn format(schema: ObjectBuilder, format: &str) -> ObjectBuilder {
    string(schema).format(Some(SchemaFormat::Custom(format.to_owned())))
}

fn one_of(schema: ObjectBuilder, words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    string(schema).enum_values(Some(words))
}

named! {
    /// Free text: 1 to 255 characters after trimming, without control characters.
    Text = |schema| string(schema).min_length(Some(1)).pattern(Some(TEXT));
    /// An absolute http or https URL without userinfo. http only to loopback hosts, or when the deployment is a sandbox. `{SessionId}` in it is
    /// replaced by the Session's id.
    WebUrl = |schema| format(schema, "web-url").min_length(Some(1)).max_length(Some(2048));
    /// An e-mail address as HTML forms take it.
    Email = |schema| format(schema, "email").min_length(Some(1));
    /// A phone number of 5 to 15 digits, loosely E.164: spaces, dots, dashes, slashes and parentheses may stand between.
    Phone = |schema| format(schema, "phone").pattern(Some(r"^\s*\+?[0-9 ./()\-]{5,40}\s*$"));
    /// A day that exists and is past, `yyyy-MM-dd`.
    Day = |schema| string(schema).format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)));
    /// Upper-case ISO 3166-1 alpha-2 code of a country.
    Country = |schema| format(schema, "country").pattern(Some("^[A-Z]{2}$"));
    /// ISO 4217 code of the payment's currency. Its minor unit decides how many decimals amounts may have: none for JPY, KRW, CLP, ISK and VND, three
    /// for KWD, BHD and OMR, two for most.
    CurrencyCode = |schema| one_of(schema, Currency::ALL.iter().map(|currency| currency.code()));
    /// A UUID.
    Id = |schema| format(schema, "uuid");
    /// A moment in UTC (ISO 8601).
    Moment = |schema| string(schema).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    /// An exact decimal number in the currency of its Session, never a string: at most 12 digits before the point, and no more after it than the
    /// currency has.
    AmountRequest = |schema| schema.schema_type(Type::Number).minimum(Some(0)).maximum(Some(999_999_999_999.999));
    /// An exact decimal number with all decimals of its currency.
    Amount = |schema| schema.schema_type(Type::Number).minimum(Some(0));
    /// Units of the shopper's currency for one unit of the merchant's settlement currency: an exact decimal number above zero, with at most 15 significant
    /// digits.
    RateNumber = |schema| schema.schema_type(Type::Number).minimum(Some(0.00000001)).maximum(Some(1_000_000_000));
    /// How many; a whole number may be written `2.0`.
    Quantity = |schema| schema.schema_type(Type::Integer).minimum(Some(1)).maximum(Some(1_000_000));
    /// State of a Session; COMPLETED, CANCELLED and FAILED never change.
    SessionState = |schema| one_of(schema, SessionStateKind::ALL.map(SessionStateKind::as_str));
    /// State of an Order. The payment is complete when it is PROCESSED.
    OrderStateName = |schema| one_of(schema, OrderState::ALL.map(OrderState::as_str));
    /// State of a contract. Its card can be charged while it is ACTIVE; CLOSED never changes.
    ContractStateName = |schema| one_of(schema, ContractStateKind::ALL.map(ContractStateKind::as_str));
    /// Why a contract is SUSPENDED (CARD_EXPIRED, CARD_INVALID, ISSUER_STOPPED: another card mends it) or CLOSED (all others).
    ContractStateReason = |schema| {
        let suspended = SuspendReason::ALL.map(SuspendReason::as_str);
        one_of(schema, suspended.into_iter().chain(CloseReason::ALL.map(CloseReason::as_str)))
    };
    /// What a contract allows. ONE_CLICK: the shopper pays again without typing the card. RECURRING: the merchant charges at a regular interval.
    /// UNSCHEDULED: the merchant charges when something happens that was agreed on.
    ContractKindName = |schema| one_of(schema, ContractKind::ALL.map(ContractKind::as_str));
    /// What a contract that openContract makes allows. RECURRING: you charge at a regular interval. UNSCHEDULED: you charge when something happens
    /// that was agreed on.
    OpenContractKind = |schema| {
        let opened = ContractKind::ALL.into_iter().filter(|kind| kind.is_opened_by_server());
        one_of(schema, opened.map(ContractKind::as_str))
    };
    /// The scheme of a card.
    CardSchemeName = |schema| one_of(schema, Scheme::ALL.map(Scheme::as_str));
    /// What a notification tells. SESSION_CANCELLED tells of Sessions that expired.
    EventType = |schema| {
        one_of(schema, event::types())
    };
    /// Where to go on reading; it means something to the service alone.
    EventCursor = |schema| string(schema).pattern(Some("^(([0-7][0-9a-f]{15}){2})?$"));
    /// How many events an answer has at most.
    EventLimit = |schema| {
        schema.schema_type(Type::Integer).minimum(Some(1)).maximum(Some(MAX_EVENT_LIMIT)).default(Some(DEFAULT_EVENT_LIMIT.into()))
    };
    /// What is wrong with a field: FIELD_MISSING, FIELD_INVALID (wrong type or form), VALUE_NOT_ALLOWED (outside an enumeration), VALUE_TOO_LONG,
    /// VALUE_OUT_OF_RANGE, NOT_FOUND (a reference to something that does not exist), CONFLICT (fields that exclude each other), FIELD_UNKNOWN (no such member; the message names the nearest one).
    FieldErrorCode = |schema| one_of(schema, ViolationCode::ALL.map(ViolationCode::as_str));
    /// State of a refund. IN_PROGRESS is told by REFUND_SUCCEEDED or REFUND_FAILED.
    RefundStateName = |schema| one_of(schema, RefundState::ALL.map(RefundState::as_str));
    /// State of a dispute. NEEDS_RESPONSE: accept it or hand in evidence before DueAt. UNDER_REVIEW: the shopper's bank decides. WON: the money is back. LOST and
    /// ACCEPTED: it is gone for good.
    DisputeStateName = |schema| one_of(schema, DisputeState::ALL.map(DisputeState::as_str));
    /// Why the shopper disputes the payment, as the processor says it.
    DisputeReasonName = |schema| one_of(schema, DisputeReason::ALL.map(DisputeReason::as_str));
    /// Who caused a step: an API user of the merchant, the shopper, somebody who runs the service, or the service itself.
    Actor = |schema| one_of(schema, ["MERCHANT", "SHOPPER", "OPERATOR", "SYSTEM"]);
    /// What the shopper's browser hears of a failed attempt. Never the exact reason, which would tell card testers which cards work.
    ShopperErrorCode = |schema| one_of(schema, ShopperCode::ALL.map(ShopperCode::as_str));
    /// What became of an attempt to pay.
    AttemptOutcome = |schema| one_of(schema, ["PROCESSING", "COMPLETED", "FAILED"]);
    /// Why an attempt to pay failed.
    FailureCode = |schema| one_of(schema, FailureReason::ALL.map(FailureReason::as_str));
    /// What screening decided. CHALLENGE: the shopper had to authenticate. REVIEW: that too, and what is authorized waits for a person. BLOCK: the processor
    /// was not asked.
    ScreeningDecision = |schema| one_of(schema, Decision::ALL.map(Decision::as_str));
    /// An exemption from strong authentication. ONE_LEG_OUT: the card's issuer is outside the European Economic Area and the United Kingdom. LOW_VALUE: 30 euros at
    /// most, and few since the last authentication. TRANSACTION_RISK_ANALYSIS: the acquirer agreed to it.
    ExemptionName = |schema| one_of(schema, ScaExemption::ALL.into_iter().skip(1).map(ScaExemption::as_str));
    /// How suspicious a payment is.
    ScreeningScore = |schema| schema.schema_type(Type::Integer).minimum(Some(0)).maximum(Some(100));
    /// A display language: `language_COUNTRY`.
    LocaleName = |schema| string(schema).pattern(Some("^[a-z]{2,3}_[A-Z]{2}$"));
    /// How a method is paid with.
    MethodClass = |schema| one_of(schema, [Class::Card, Class::Online, Class::Offline].map(Class::as_str));
    /// What came of a capture or a cancel.
    CaptureReason = |schema| one_of(schema, ["Captured", "PendingNotification", "UnderReview"]);
    /// What is wrong with a card.
    CardWarning = |schema| {
        use dropin_card::Warning::{CardMonthInvalid, CardNumberInvalid, CardVerificationCodeInvalid};
        one_of(schema, [CardNumberInvalid, CardMonthInvalid, CardVerificationCodeInvalid].map(dropin_card::Warning::as_str))
    };
    /// 1 to 128 of `A-Z a-z 0-9 . _ ~ - : @ + = ,`, and not `.` or `..`.
    StashId = |schema| {
        let pattern = r"^([A-Za-z0-9_~:@+=,\-]|\.[A-Za-z0-9_~:@+=,\-]|\.\.[A-Za-z0-9._~:@+=,\-])[A-Za-z0-9._~:@+=,\-]*$";
        string(schema).pattern(Some(pattern)).max_length(Some(128))
    };
    /// A card as JSON text: an object with the strings Name, Number, VerificationCode and, in an object Expiry, Year (four digits) and Month. A
    /// card that is not valid, or not whole, is kept all the same, and the answer's Warnings tell.
    Card = |schema| format(schema, "card").content_media_type("application/json");
    /// A wallet's token as JSON text: an object with Type, the wallet (APPLEPAY or GOOGLEPAY), and Data, the payment object from the wallet's authorization
    /// callback, which reaches the processor as it is; both are required. Data has at most 16 KiB.
    Token = |schema| format(schema, "wallet-token").content_media_type("application/json");
    /// Whole seconds.
    Seconds = |schema| schema.schema_type(Type::Integer).minimum(Some(0)).maximum(Some(u32::MAX));
    /// The Version that the view gave.
    Version = |schema| schema.schema_type(Type::Integer).minimum(Some(0)).maximum(Some(u32::MAX));
}

/// Id of a payment method: one of the table of methods, or one that the deployment's file adds.
#[derive(Debug)]
pub enum MethodId {}

impl PartialSchema for MethodId {
    fn schema() -> RefOr<Schema> {
        let own = string(ObjectBuilder::new()).pattern(Some(format!("^[A-Z0-9]{{1,{MAX_METHOD_ID_BYTES}}}$")));
        let described = "Id of a payment method of the catalogue. A deployment may have methods of its own beside these; getPaymentMethods lists what there is.";
        let either = AnyOfBuilder::new()
            .description(Some(described))
            .item(one_of(ObjectBuilder::new(), methods().map(Method::id)))
            .item(own.description(Some("1 to 32 capital letters and digits")));
        RefOr::T(either.into())
    }
}

impl ToSchema for MethodId {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("MethodId")
    }
}

/// What a browser stashes: either a card or a token.
#[derive(Debug)]
pub enum StashForm {}

impl PartialSchema for StashForm {
    fn schema() -> RefOr<Schema> {
        let form = ObjectBuilder::new()
            .description(Some("What a browser stashes: the browser, exactly one of card and token_data, and the Session that it is for when there is one: while strangers flood a merchant's stash, posts that name a live Session of the merchant are taken on."))
            .schema_type(Type::Object);
        let form =
            form.property("DeviceFingerprint", Ref::from_schema_name(Text::name())).required("DeviceFingerprint");
        let form = form.property("SessionId", Ref::from_schema_name(Id::name()));
        let said = |what: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(what));
        let form = form.property("TimeZone", said("For screening: the browser's time zone, as Intl.DateTimeFormat().resolvedOptions().timeZone names it. What is no such name is left out, and nothing is refused for it."));
        let form = form.property(
            "Language",
            said("For screening: the browser's first language, as navigator.language names it; left out likewise."),
        );
        let form = form.property("card", Ref::from_schema_name(Card::name()));
        let form = form.additional_properties(Some(AdditionalProperties::FreeForm(false)));
        RefOr::T(form.property("token_data", Ref::from_schema_name(Token::name())).into())
    }
}

impl ToSchema for StashForm {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((Text::name().into_owned(), Text::schema()));
        schemas.push((Id::name().into_owned(), Id::schema()));
        schemas.push((Card::name().into_owned(), Card::schema()));
        schemas.push((Token::name().into_owned(), Token::schema()));
    }
}

/// Lets a request that is kept as what it means be documented as what is sent.
macro_rules! sent_as {
    ($($request:ty => $dto:ty;)+) => {
        $(
            impl utoipa::PartialSchema for $request {
                fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                    <$dto as utoipa::PartialSchema>::schema()
                }
            }

            impl utoipa::ToSchema for $request {
                fn name() -> std::borrow::Cow<'static, str> {
                    <$dto as utoipa::ToSchema>::name()
                }

                fn schemas(
                    schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>,
                ) {
                    <$dto as utoipa::ToSchema>::schemas(schemas);
                }
            }
        )+
    };
}
pub(crate) use sent_as;
