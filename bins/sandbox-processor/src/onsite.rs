//! The pay-later provider's on-site messages: one script that merchants' pages load from the address of their region.

use actix_web::http::header;
use actix_web::{HttpResponse, web};

/// The regions of the provider: Europe, North America, Oceania. The script reads its own from the address.
const REGIONS: [&str; 3] = ["eu", "na", "oc"];

/// Mounts `/onsite` for merchants' pages.
pub(crate) fn mount(config: &mut web::ServiceConfig) {
    config.service(web::resource("/onsite/{region}/script.js").route(web::get().to(script)));
}

async fn script(region: web::Path<String>) -> HttpResponse {
    if !REGIONS.contains(&region.as_str()) {
        return HttpResponse::NotFound()
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .content_type("text/plain; charset=utf-8")
            .body(
                "There is no such region; getPaymentMethods tells the address of the script for a shopper's country.\n",
            );
    }
    HttpResponse::Ok()
        .content_type("text/javascript; charset=utf-8")
        .insert_header((header::CACHE_CONTROL, "public, max-age=300"))
        .insert_header((header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        // For pages that are isolated from other origins.
        .insert_header(("Cross-Origin-Resource-Policy", "cross-origin"))
        .body(include_str!("onsite/script.js"))
}
