//! Reads that are open to pages of every origin: their query, who may read the answer, and how long it keeps.

use actix_web::dev::Payload;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW,
};
use actix_web::middleware::DefaultHeaders;
use actix_web::{FromRequest, HttpRequest, HttpResponse, Resource, web};
use dropin_kernel::{Violation, ViolationCode};
use dropin_wire::RequestError;

use crate::ApiError;
use crate::operation::{self, ApiOperation};

/// Most parameters that are looked through.
const MAX_PARAMETERS: usize = 32;

/// As [`mount`](crate::mount), and pages of every origin may read the answers at `public_paths`, refusals too, without credentials
/// (Fetch standard, CORS protocol): for public data only. Their browsers may ask in advance.
pub fn mount_with_cors(config: &mut web::ServiceConfig, operations: &'static [ApiOperation], public_paths: &[&str]) {
    for path in operation::paths(operations) {
        let resource = operation::resource(path, operations);
        if public_paths.contains(&path) {
            config.service(with_preflight(resource).wrap(headers()));
        } else {
            config.service(resource);
        }
    }
}

fn with_preflight(resource: Resource) -> Resource {
    resource.route(web::method(actix_web::http::Method::OPTIONS).to(preflight))
}

fn headers() -> DefaultHeaders {
    DefaultHeaders::new()
        .add((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .add((ACCESS_CONTROL_EXPOSE_HEADERS, "X-Request-Id, ETag, Retry-After, Warning"))
}

/// What a page may send, kept by its browser for ten minutes.
async fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((ALLOW, "GET, OPTIONS"))
        .insert_header((ACCESS_CONTROL_ALLOW_METHODS, "GET"))
        .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, "If-None-Match, X-Request-Id"))
        .insert_header((ACCESS_CONTROL_MAX_AGE, "600"))
        .finish()
}

/// The parameters of a read: those that its [`ApiOperation`] has. 400 INVALID_REQUEST when there are more than 32.
#[derive(Debug, Clone)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// The value of a parameter; an empty one counts as left out.
    ///
    /// # Errors
    /// 400 INVALID_REQUEST with CONFLICT when it is given more than once: one of them would be ignored.
    pub fn find(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut given = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let first = given.next();
        if given.next().is_some() {
            return Err(wrong(name, ViolationCode::Conflict, "is given more than once; give it once"));
        }
        Ok(first.filter(|value| !value.is_empty()))
    }

    /// The value of a parameter that has to be there.
    ///
    /// # Errors
    /// As [`Parameters::find`], and FIELD_MISSING.
    pub fn require(&self, name: &str) -> Result<&str, ApiError> {
        self.find(name)?.ok_or_else(|| wrong(name, ViolationCode::Missing, "is required in the query"))
    }
}

fn wrong(name: &str, code: ViolationCode, why: &str) -> ApiError {
    RequestError::from(Violation::new(name, code, why)).into()
}

impl FromRequest for Parameters {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(read(request.query_string()).and_then(|parameters| {
            operation::only_known_query(request)?;
            Ok(parameters)
        }))
    }
}

fn read(query: &str) -> Result<Parameters, ApiError> {
    let many = || {
        RequestError::Malformed("The query has more than 32 parameters; send those that this address takes.".to_owned())
    };
    if MAX_PARAMETERS < query.split('&').count() {
        return Err(many().into());
    }
    let pairs = web::Query::<Vec<(String, String)>>::from_query(query);
    let unreadable = |_| RequestError::Malformed("The query cannot be read; write it as name=value.".to_owned());
    Ok(Parameters(pairs.map_err(unreadable)?.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(query: &str) -> Result<Option<String>, String> {
        let parameters = read(query).map_err(|error| error.to_string())?;
        parameters
            .find("id")
            .map(|value| value.map(str::to_owned))
            .map_err(|error| error.field_errors[0].code.to_owned())
    }

    #[test]
    fn a_parameter_is_given_once() {
        for (query, value) in [
            ("", None),
            ("id=", None),
            ("ID=7&di=8", None),
            ("id", None),
            ("id=7", Some("7")),
            ("x=1&id=7&x=2&y", Some("7")),
            ("id=a%20b+c", Some("a b c")),
            ("%69d=7", Some("7")),
            ("id=%ff", Some("\u{fffd}")),
        ] {
            assert_eq!(find(query), Ok(value.map(str::to_owned)), "{query}");
        }
        for query in ["id=7&id=7", "id=&id=7", "id=7&%69d=8"] {
            assert_eq!(find(query), Err("CONFLICT".to_owned()), "{query}");
        }
        assert!(find(&"a=1&".repeat(MAX_PARAMETERS)).is_err());
        assert_eq!(read("").unwrap().require("id").unwrap_err().field_errors[0].code, "FIELD_MISSING");
    }
}
