use std::borrow::Cow;

use actix_web::http::Method;
use dropin_wire::ErrorCode;
use dropin_wire::schema::Id;
use utoipa::ToSchema;
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Object, RefOr, Type};

use super::named;
use super::responses::Schemas;
use crate::ApiOperation;
use crate::idempotency::NOT_STORED_STATUSES;

/// `*`, or entity tags with commas between (RFC 9110 sections 8.8.3 and 13.1).
const ENTITY_TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"([ \t]*,[ \t]*(W/)?"[!#-~]*")*)$"#;
const ETAG: &str = "Entity tag of what is shown, for If-Match and If-None-Match.";

type AddSchemas = fn(&mut Schemas);

/// What the API document says of one operation beyond its row of the table.
pub struct OperationDocs {
    pub(super) name: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) request: Option<Request>,
    pub(super) answers: Vec<ResponseDocs>,
    refusals: Vec<ErrorCode>,
}

pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// Where it stands unless it is a part of the path.
    pub(super) location: ParameterIn,
    /// Whether a query has to have it; a part of the path always has to be there.
    pub(super) required: bool,
    pub(super) description: Cow<'static, str>,
    pub(super) schema: RefOr<Schema>,
    pub(super) schemas: AddSchemas,
}

pub(super) struct Request {
    pub(super) content_type: &'static str,
    pub(super) required: bool,
    pub(super) description: &'static str,
    pub(super) schema: RefOr<Schema>,
    pub(super) schemas: AddSchemas,
    /// The field of a form that has files, and their media types.
    pub(super) files: Option<(&'static str, String)>,
}

/// An answer that is a success.
pub struct ResponseDocs {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) body: Option<(RefOr<Schema>, AddSchemas)>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) links: Vec<Link>,
}

pub(super) struct Link {
    pub(super) name: &'static str,
    pub(super) operation: &'static str,
    pub(super) parameter: &'static str,
    pub(super) expression: &'static str,
}

impl ResponseDocs {
    /// An answer with a JSON body of type `T`.
    pub fn json<T: ToSchema>(status: u16, description: &'static str) -> Self {
        Self { body: Some(named::<T>()), ..Self::empty(status, description) }
    }

    /// An answer without a body.
    pub fn empty(status: u16, description: &'static str) -> Self {
        Self { status, description, body: None, headers: Vec::new(), links: Vec::new() }
    }

    /// Says that the answer carries the ETag of what it shows.
    #[must_use]
    pub fn with_etag(self) -> Self {
        self.header("ETag", ETAG)
    }

    /// Names a header that the answer carries; X-Request-Id is on every answer and is not named here.
    #[must_use]
    pub fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.headers.push((name, description));
        self
    }

    /// Says that the value at `expression` (OpenAPI, runtime expressions) is the `parameter` of another `operation`.
    #[must_use]
    pub fn link(
        mut self,
        name: &'static str,
        operation: &'static str,
        parameter: &'static str,
        expression: &'static str,
    ) -> Self {
        self.links.push(Link { name, operation, parameter, expression });
        self
    }
}

impl OperationDocs {
    /// Describes the operation with this name; the description is Markdown.
    pub fn new(tag: &'static str, name: &'static str, summary: &'static str, description: &'static str) -> Self {
        let (parameters, answers, refusals) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, tag, summary, description, parameters, request: None, answers, refusals }
    }

    /// A part of the address that is one of our ids; what is no UUID is refused with VALIDATION_ERROR.
    #[must_use]
    pub fn id(self, name: &'static str, description: &'static str) -> Self {
        self.parameter::<Id>(name, description).refuses(&[ErrorCode::ValidationError])
    }

    /// A part of the address, or else a query parameter that may be left out.
    #[must_use]
    pub fn parameter<T: ToSchema>(mut self, name: &'static str, description: &'static str) -> Self {
        let (schema, schemas) = named::<T>();
        let (location, required, description) = (ParameterIn::Query, false, description.into());
        self.parameters.push(Parameter { name, location, required, description, schema, schemas });
        self
    }

    /// A query parameter that has to be there.
    #[must_use]
    pub fn required_parameter<T: ToSchema>(mut self, name: &'static str, description: &'static str) -> Self {
        let (schema, schemas) = named::<T>();
        let (location, required, description) = (ParameterIn::Query, true, description.into());
        self.parameters.push(Parameter { name, location, required, description, schema, schemas });
        self.refuses(&[ErrorCode::InvalidRequest])
    }

    /// A header that may be left out, as text of this form.
    #[must_use]
    pub fn header(
        mut self,
        name: &'static str,
        pattern: &'static str,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut schema = Object::with_type(Type::String);
        schema.pattern = Some(pattern.to_owned());
        self.parameters.push(Parameter {
            name,
            location: ParameterIn::Header,
            required: false,
            description: description.into(),
            schema: schema.into(),
            schemas: |_| {},
        });
        self
    }

    /// Says that the operation honours Idempotency-Key (docs/SPECIFICATION.md#idempotency).
    #[must_use]
    pub fn repeatable(self) -> Self {
        let not_kept = NOT_STORED_STATUSES.map(|status| status.to_string()).join(", ");
        let description = format!(
            "A name of your own for this request, a UUID for example. Sent again with the same key and the same body, the stored answer comes \
             back byte for byte, marked `Idempotent-Replayed: true`, for 24 hours; with another body it is refused. Not stored: {not_kept} and 5xx."
        );
        self.header("Idempotency-Key", "^[!-~]([ -~]{0,253}[!-~])?$", description).refuses(&[
            ErrorCode::InvalidRequest,
            ErrorCode::DuplicateRequest,
            ErrorCode::IdempotencyKeyReused,
        ])
    }

    /// Says that the operation honours If-Match.
    #[must_use]
    pub fn changes_a_version(self) -> Self {
        let description = "Change it only if it still is what an ETag named: `*` or a list of entity tags.";
        self.header("If-Match", ENTITY_TAGS, description)
            .refuses(&[ErrorCode::InvalidRequest, ErrorCode::PreconditionFailed])
    }

    /// Says that the operation honours If-None-Match.
    #[must_use]
    pub fn reads_a_version(self) -> Self {
        let description = "The versions you have already, by their ETags: `*` or a list of entity tags.";
        self.header("If-None-Match", ENTITY_TAGS, description)
            .answers(ResponseDocs::empty(304, "You have this version already.").header("ETag", ETAG))
            .refuses(&[ErrorCode::InvalidRequest])
    }

    /// The JSON body, whose schema is that of `T`.
    #[must_use]
    pub fn takes<T: ToSchema>(self, description: &'static str) -> Self {
        self.body::<T>("application/json", true, description)
    }

    /// A JSON body that may be left out.
    #[must_use]
    pub fn may_take<T: ToSchema>(self, description: &'static str) -> Self {
        self.body::<T>("application/json", false, description)
    }

    /// The form.
    #[must_use]
    pub fn takes_form<T: ToSchema>(self, description: &'static str) -> Self {
        self.body::<T>("application/x-www-form-urlencoded", true, description)
    }

    /// The form with files: the field that has them, and the media types that each may have.
    #[must_use]
    pub fn takes_files<T: ToSchema>(self, files: (&'static str, String), description: &'static str) -> Self {
        let mut documented = self.body::<T>("multipart/form-data", true, description);
        documented.request = documented.request.map(|request| Request { files: Some(files), ..request });
        documented
    }

    /// Adds an answer that is a success.
    #[must_use]
    pub fn answers(mut self, answer: ResponseDocs) -> Self {
        self.answers.push(answer);
        self
    }

    /// Adds codes that the operation may refuse with. Those that every operation of its kind may give are there already.
    #[must_use]
    pub fn refuses(mut self, codes: &[ErrorCode]) -> Self {
        self.refusals.extend_from_slice(codes);
        self
    }

    fn body<T: ToSchema>(mut self, content_type: &'static str, required: bool, description: &'static str) -> Self {
        let (schema, schemas) = named::<T>();
        self.request = Some(Request { content_type, required, description, schema, schemas, files: None });
        self
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == "Idempotency-Key")
    }

    /// Every code that the operation may refuse with, sorted as the table of errors.
    pub(super) fn codes(&self, row: &ApiOperation) -> Vec<ErrorCode> {
        use ErrorCode::{
            AuthenticationRequired, InternalServerError, InvalidRequest, NotAuthorized, OutcomeUnknown,
            PayloadTooLarge, RateLimited, RequestTimeout, ServiceUnavailable, UnsupportedMediaType,
        };
        let mut codes = vec![RateLimited, InternalServerError, ServiceUnavailable];
        if row.permission.is_some() {
            codes.extend([AuthenticationRequired, NotAuthorized]);
        }
        if self.request.is_some() {
            codes.extend([InvalidRequest, PayloadTooLarge, UnsupportedMediaType, RequestTimeout]);
        }
        if row.method != Method::GET {
            codes.push(OutcomeUnknown);
        }
        codes.extend_from_slice(&self.refusals);
        ErrorCode::ALL.iter().copied().filter(|code| codes.contains(code)).collect()
    }
}
