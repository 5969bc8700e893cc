use std::collections::BTreeMap;

use dropin_wire::{ErrorBody, ErrorCode};
use serde_json::Value;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::schema::{ComponentsBuilder, Schema};
use utoipa::openapi::{
    AllOfBuilder, Content, ContentBuilder, Object, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::Exchange;
use super::docs::ResponseDocs;
use crate::ApiOperation;

/// The schemas that a document refers to, by name.
#[derive(Default)]
pub(crate) struct Schemas(BTreeMap<String, RefOr<Schema>>);

impl Schemas {
    /// Adds `T` and everything that it refers to.
    pub(super) fn add<T: ToSchema + PartialSchema>(&mut self) {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        self.0.extend(found);
    }

    pub(super) fn into_components(self, components: ComponentsBuilder) -> ComponentsBuilder {
        self.0.into_iter().fold(components, |components, (name, schema)| components.schema(name, schema))
    }
}

impl ResponseDocs {
    pub(super) fn response(
        &self,
        row: &ApiOperation,
        repeatable: bool,
        exchanges: &[&Exchange],
        schemas: &mut Schemas,
    ) -> Response {
        let mut response = ResponseBuilder::new().description(self.description).header("X-Request-Id", request_id());
        if repeatable && (200..300).contains(&self.status) {
            response = response.header(
                "Idempotent-Replayed",
                text_header("`true` when this is the stored answer to an earlier request."),
            );
        }
        for (name, description) in &self.headers {
            response = response.header(*name, text_header(description));
        }
        for link in &self.links {
            let expression = link.expression;
            let built = LinkBuilder::new().operation_id(link.operation).parameter(link.parameter, expression);
            let described = built.description(format!("From {} to {}.", row.name, link.operation));
            response = response.link(link.name, described.build());
        }
        if let Some((schema, add)) = &self.body {
            add(schemas);
            response = response.content("application/json", content(schema.clone(), self.status, exchanges));
        }
        response.build()
    }
}

/// The answer of one status that refuses.
pub(super) fn refusal(status: u16, codes: &[ErrorCode], exchanges: &[&Exchange], schemas: &mut Schemas) -> Response {
    schemas.add::<ErrorBody>();
    let lines: Vec<String> = codes.iter().map(|code| format!("- `{}`: {}", code.as_str(), code.meaning())).collect();
    let mut response = ResponseBuilder::new().description(lines.join("\n")).header("X-Request-Id", request_id());
    if let Some((name, description)) = header_of(status, codes) {
        response = response.header(name, text_header(description));
    }
    let code = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes.iter().map(|code| code.as_str())));
    let schema = AllOfBuilder::new()
        .item(Ref::from_schema_name(ErrorBody::name()))
        .item(ObjectBuilder::new().schema_type(Type::Object).property("Code", code));
    response.content("application/json", content(Schema::from(schema).into(), status, exchanges)).build()
}

/// The header that answers of this status carry.
fn header_of(status: u16, codes: &[ErrorCode]) -> Option<(&'static str, &'static str)> {
    match status {
        401 => Some(("WWW-Authenticate", "`Basic realm=\"...\"`")),
        409 if codes.contains(&ErrorCode::DuplicateRequest) => {
            Some(("Retry-After", "Seconds to wait when the first request with the same Idempotency-Key still runs."))
        }
        415 => Some(("Accept", "The content type that is taken.")),
        429 | 503 => Some(("Retry-After", "Whole seconds to wait before another try.")),
        _ => None,
    }
}

fn content(schema: RefOr<Schema>, status: u16, exchanges: &[&Exchange]) -> Content {
    let shown = exchanges.iter().filter(|one| one.status == status);
    let examples = shown.map(|one| (one.name.clone(), example(&one.summary, one.answer.clone())));
    ContentBuilder::new().schema(Some(schema)).examples_from_iter(examples).build()
}

pub(super) fn example(summary: &str, value: Option<Value>) -> Example {
    ExampleBuilder::new().summary(summary).value(value).build()
}

fn request_id() -> Header {
    text_header(
        "Names the request in our logs: the caller's own X-Request-Id when it is 1 to 128 of `A-Za-z0-9._-`, else a new one.",
    )
}

fn text_header(description: &str) -> Header {
    HeaderBuilder::new().schema(Some(Object::with_type(Type::String))).description(Some(description)).build()
}
