//! The drop-in's files, embedded in the program and identified by their content.

use actix_web::http::header::{self, ETag, EntityTag, HeaderName, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_http::ApiError;
use dropin_wire::ErrorCode;

/// The convenient address is checked again soon; its ETag makes that cheap.
const SOON: &str = "public, max-age=300";
/// An address that carries the version never changes its content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn resource() -> Resource {
    web::resource("/{version}/{path:.+\\.(js|css|json|ts)}").route(web::get().to(asset)).route(web::head().to(asset))
}

async fn asset(request: HttpRequest, path: web::Path<(String, String)>) -> Result<HttpResponse, ApiError> {
    let (version, name) = path.into_inner();
    let caching = match version.as_str() {
        "v1" => SOON,
        version if version == dropin_browser::VERSION => FOR_EVER,
        _ => return Err(unknown()),
    };
    let asset = dropin_browser::asset(&name).ok_or_else(unknown)?;
    let tag = EntityTag::new_strong(asset.sha384.replace(['+', '/', '='], "_"));
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, asset.content_type))
        .insert_header((header::CACHE_CONTROL, caching))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"))
        .insert_header(ETag(tag.clone()));
    let known = match header::Header::parse(&request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(&tag)),
        Err(_unreadable) => false,
    };
    if known {
        response.status(actix_web::http::StatusCode::NOT_MODIFIED);
        return Ok(response.finish());
    }
    Ok(response.body(asset.bytes))
}

fn unknown() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "There is no such file of the drop-in; its script is at {asset_url}/v1/dropin.js.",
    )
}
