//! The style sheet, the icon and the script of live pages, under addresses that name their content: a browser keeps them for a year, and a new release has others.

use std::sync::LazyLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use actix_web::{HttpResponse, web};
use sha2::{Digest, Sha256};

/// A file of the panel.
pub(crate) struct Asset {
    /// Address that names its content, for example `/assets/9f86d081884c7d65.css`.
    pub(crate) path: String,
    content_type: &'static str,
    body: &'static str,
}

/// The style sheet.
pub(crate) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", include_str!("../assets/panel.css")));
/// The icon of the browser's tab.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("../assets/icon.svg")));
/// The script of live pages.
pub(crate) static LIVE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("js", "text/javascript; charset=utf-8", include_str!("../assets/live.js")));

impl Asset {
    fn new(extension: &str, content_type: &'static str, body: &'static str) -> Self {
        let hash: String = Sha256::digest(body).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { path: format!("/assets/{hash}.{extension}"), content_type, body }
    }

    fn response(&self) -> HttpResponse {
        HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, self.content_type))
            .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
            .insert_header((HeaderName::from_static("cross-origin-resource-policy"), "same-origin"))
            .body(self.body)
    }
}

/// Serves them; they say nothing that is not public.
pub(crate) fn mount(config: &mut web::ServiceConfig) {
    for asset in [&STYLE, &ICON, &LIVE] {
        let answer = move || async move { asset.response() };
        config.service(web::resource(&asset.path).route(web::get().to(answer)).route(web::head().to(answer)));
    }
}
