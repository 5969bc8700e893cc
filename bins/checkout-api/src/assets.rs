//! The drop-in's files, embedded in the program, compressed when they were built, and identified by their content.

use actix_web::http::header::{self, AcceptEncoding, ETag, Encoding, EntityTag, HeaderName, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_browser::Asset;
use dropin_http::ApiError;
use dropin_wire::ErrorCode;
use serde_json::{Value, json};

/// The convenient address is checked again soon; its ETag makes that cheap.
const CACHE_FIVE_MINUTES: &str = "public, max-age=300";
/// What is at an address that carries the version, or the file's own fingerprint as its query, never changes.
const CACHE_IMMUTABLE: &str = "public, max-age=31536000, immutable";

pub(crate) fn resource() -> Resource {
    web::resource("/{version}/{path:.+\\.(js|css|json|map|ts)}")
        .route(web::get().to(asset))
        .route(web::head().to(asset))
}

/// Where the inventory of the scripts is, below {asset_url}.
pub const INVENTORY_PATH: &str = "/.well-known/dropin-scripts.json";

pub(crate) fn inventory_resource() -> Resource {
    web::resource(INVENTORY_PATH).route(web::get().to(inventory)).route(web::head().to(inventory))
}

async fn inventory() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, CACHE_FIVE_MINUTES))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"))
        .json(script_inventory())
}

/// The scripts that a page with the drop-in runs, each with its digest and its purpose: what PCI DSS 6.4.3 wants a merchant to keep of them.
#[must_use]
pub fn script_inventory() -> Value {
    let scripts = dropin_browser::scripts().map(|script| {
        json!({
            "Path": script.asset.path,
            "Integrity": script.asset.integrity(),
            "Bytes": script.asset.bytes.len(),
            "Documents": script.documents.iter().map(|document| document.as_str()).collect::<Vec<_>>(),
            "Purpose": script.purpose,
        })
    });
    json!({ "Version": dropin_browser::VERSION, "Scripts": scripts.collect::<Vec<_>>() })
}

async fn asset(request: HttpRequest, path: web::Path<(String, String)>) -> Result<HttpResponse, ApiError> {
    let (version, name) = path.into_inner();
    let asset = dropin_browser::asset(&name).ok_or_else(unknown)?;
    let caching = match version.as_str() {
        version if version == dropin_browser::VERSION => CACHE_IMMUTABLE,
        "v1" if request.query_string() == asset.fingerprint => CACHE_IMMUTABLE,
        "v1" => CACHE_FIVE_MINUTES,
        _ => return Err(unknown()),
    };
    let (encoding, bytes) = encoded(asset, &request);
    // A strong tag names bytes: each encoding has its own.
    let tag = format!("{}{}", asset.sha384.replace(['+', '/', '='], "_"), encoding.map_or("", |(_, suffix)| suffix));
    let tag = EntityTag::new_strong(tag);
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, asset.content_type))
        .insert_header((header::CACHE_CONTROL, caching))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"))
        .insert_header((header::VARY, "Accept-Encoding"))
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
    if let Some((name, _)) = encoding {
        response.insert_header((header::CONTENT_ENCODING, name));
    }
    Ok(response.body(bytes))
}

/// Name of an encoding, and what its tags end with.
type Named = (&'static str, &'static str);

/// The encoding of the file that the client likes best, Brotli before gzip where it likes both; as it is, where neither is there or welcome.
fn encoded(asset: &'static Asset, request: &HttpRequest) -> (Option<Named>, &'static [u8]) {
    let plain = (None, asset.bytes);
    let Ok(accepted) = <AcceptEncoding as header::Header>::parse(request) else { return plain };
    let (Some(brotli), Some(gzip)) = (asset.brotli, asset.gzip) else { return plain };
    let supported = [Encoding::brotli(), Encoding::gzip(), Encoding::identity()];
    match accepted.negotiate(supported.iter()) {
        Some(chosen) if chosen == Encoding::brotli() => (Some(("br", "-br")), brotli),
        Some(chosen) if chosen == Encoding::gzip() => (Some(("gzip", "-gz")), gzip),
        _ => plain,
    }
}

fn unknown() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        "There is no such file of the drop-in; its script is at {asset_url}/v1/dropin.js.",
    )
}
