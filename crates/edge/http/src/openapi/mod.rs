//! The API document of a service (OpenAPI 3.1): made from its table of operations, the types of its bodies, and words.

mod docs;
mod responses;
mod serve;

use dropin_wire::ErrorCode;
use serde_json::Value;
use utoipa::openapi::encoding::EncodingBuilder;
use utoipa::openapi::path::{
    HttpMethod, Operation as DocumentedOperation, OperationBuilder, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApiBuilder, PathItem, Paths, PathsBuilder,
    Required, ServerBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use crate::ApiOperation;
use responses::{Schemas, example};

pub use docs::{OperationDocs, ResponseDocs};
pub use serve::ApiDocs;

/// Name of the security scheme.
const BASIC: &str = "basic";

/// What a document says of its service as a whole.
#[derive(Debug, Clone, Copy)]
pub struct ServiceDocs {
    /// Title of the document.
    pub title: &'static str,
    /// Markdown; what an integrator has to know before the first call.
    pub description: &'static str,
    /// Where the service stands, seen from its document: `.` beside it.
    pub server: &'static str,
}

/// One call with its answer, as it happened. Request and answer have the same name in the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Name of the operation in its table.
    pub operation: String,
    /// Name of the example, for example `minimal`.
    pub name: String,
    /// What it shows, in one sentence.
    pub summary: String,
    /// The body that was sent.
    pub request: Option<Value>,
    /// HTTP status.
    pub status: u16,
    /// The body that came back.
    pub answer: Option<Value>,
}

/// The document of a service as JSON text: every row of `operations` that `docs` describes, and whatever `docs` describes without a row is left out; a
/// test compares the two. `exchanges` become the examples.
pub fn document(
    service: ServiceDocs,
    operations: &[ApiOperation],
    docs: &[OperationDocs],
    exchanges: &[Exchange],
) -> String {
    let mut schemas = Schemas::default();
    let paths = operations.iter().filter_map(|row| Some((row, docs.iter().find(|docs| docs.name == row.name)?))).fold(
        PathsBuilder::new().build(),
        |mut paths: Paths, (row, docs)| {
            let exchanges: Vec<&Exchange> = exchanges.iter().filter(|one| one.operation == row.name).collect();
            let item = PathItem::new(method_of(row), operation(row, docs, &exchanges, &mut schemas));
            match paths.paths.get_mut(row.path) {
                Some(known) => known.merge_operations(item),
                None => {
                    paths.paths.insert(row.path.to_owned(), item);
                }
            }
            paths
        },
    );
    let mut components = schemas.into_components(ComponentsBuilder::new());
    if operations.iter().any(|row| row.permission.is_some()) {
        let mut basic = Http::new(HttpAuthScheme::Basic);
        basic.description = Some(
            "User name and password of an API user, issued to the merchant. Never use them in a browser.".to_owned(),
        );
        components = components.security_scheme(BASIC, SecurityScheme::Http(basic));
    }
    let document = OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title(service.title)
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(service.description))
                .license(Some(
                    LicenseBuilder::new().name("MIT OR Apache-2.0").identifier(Some("MIT OR Apache-2.0")).build(),
                )),
        )
        // Seen from the document, wherever a deployment mounts it.
        .servers(Some([ServerBuilder::new()
            .url(service.server)
            .description(Some("Where this document is served"))
            .build()]))
        .paths(paths)
        .components(Some(components.build()))
        .build();
    document.to_pretty_json().expect("a document is strings, numbers and lists of them")
}

fn operation(
    row: &ApiOperation,
    docs: &OperationDocs,
    exchanges: &[&Exchange],
    schemas: &mut Schemas,
) -> DocumentedOperation {
    let mut built = OperationBuilder::new().operation_id(Some(row.name)).tag(docs.tag).summary(Some(docs.summary));
    let mut description = docs.description.to_owned();
    match row.permission {
        Some(permission) => {
            description += &format!("\n\nNeeds the permission `{permission}`.");
            built = built.security(SecurityRequirement::new(BASIC, [] as [&str; 0]));
        }
        None => description += "\n\nPublic: it takes no credentials.",
    }
    built = built.description(Some(description));
    for parameter in &docs.parameters {
        (parameter.schemas)(schemas);
        let location = if row.path.contains(&format!("{{{}}}", parameter.name)) {
            ParameterIn::Path
        } else {
            parameter.location.clone()
        };
        let required = location == ParameterIn::Path || parameter.required;
        let required = if required { Required::True } else { Required::False };
        built = built.parameter(
            ParameterBuilder::new()
                .name(parameter.name)
                .parameter_in(location)
                .required(required)
                .description(Some(parameter.description.as_ref()))
                .schema(Some(parameter.schema.clone())),
        );
    }
    if let Some(request) = &docs.request {
        (request.schemas)(schemas);
        built = built.request_body(Some(request_body(request, exchanges)));
    }
    for answer in &docs.answers {
        built =
            built.response(answer.status.to_string(), answer.response(row, docs.is_repeatable(), exchanges, schemas));
    }
    let codes = docs.codes(row);
    let mut statuses: Vec<u16> = codes.iter().map(|code| code.status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        let here: Vec<ErrorCode> = codes.iter().copied().filter(|code| code.status() == status).collect();
        built = built.response(status.to_string(), responses::refusal(status, &here, exchanges, schemas));
    }
    built.build()
}

fn request_body(request: &docs::Request, exchanges: &[&Exchange]) -> RequestBody {
    let shown = exchanges.iter().filter(|one| one.status < 400 && one.request.is_some());
    let examples = shown.map(|one| (one.name.clone(), example(&one.summary, one.request.clone())));
    let mut content = ContentBuilder::new().schema(Some(request.schema.clone())).examples_from_iter(examples);
    if let Some((field, media_types)) = &request.files {
        content = content.encoding(*field, EncodingBuilder::new().content_type(Some(media_types)).build());
    }
    let content = content.build();
    let required = if request.required { Required::True } else { Required::False };
    RequestBodyBuilder::new()
        .description(Some(request.description))
        .required(Some(required))
        .content(request.content_type, content)
        .build()
}

fn method_of(row: &ApiOperation) -> HttpMethod {
    match row.method.as_str() {
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "DELETE" => HttpMethod::Delete,
        "PATCH" => HttpMethod::Patch,
        "HEAD" => HttpMethod::Head,
        "OPTIONS" => HttpMethod::Options,
        _ => HttpMethod::Get,
    }
}

/// A reference to `T`, and how to add it with all that it refers to.
pub(crate) fn named<T: ToSchema + PartialSchema>()
-> (utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>, fn(&mut Schemas)) {
    (utoipa::openapi::Ref::from_schema_name(T::name()).into(), Schemas::add::<T>)
}
