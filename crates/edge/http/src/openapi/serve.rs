use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
};
use actix_web::{HttpResponse, Resource, web};

/// The page has no script, and what it may load is nothing: on the origin of the card frame nothing of it could run even if a document's text
/// broke out of its markup. `sandbox` takes the origin away from it as well.
const PAGE_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// A new release of ours may change them.
const CACHE_FIVE_MINUTES: &str = "public, max-age=300";

/// The API document of a service and the page for people, as they are committed in docs/openapi.
#[derive(Debug, Clone, Copy)]
pub struct ApiDocs {
    /// The OpenAPI document.
    pub document: &'static str,
    /// The same as an HTML page that needs nothing else.
    pub page: &'static str,
    /// The path of the service below which both are served; empty for its root.
    pub path_prefix: &'static str,
}

impl ApiDocs {
    /// The routes of `service`, and when `shown` before them, since they may take any address, `/openapi.json` and `/docs/`.
    pub fn added_to(
        self,
        shown: bool,
        service: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    ) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
        move |config| {
            if shown {
                self.mount(config);
            }
            service(config);
        }
    }

    fn mount(self, config: &mut web::ServiceConfig) {
        let folder = || async { HttpResponse::PermanentRedirect().insert_header((LOCATION, "docs/")).finish() };
        let at = |path: &str| format!("{}{path}", self.path_prefix);
        config
            .service(read_only(&at("/openapi.json"), move || document(self.document)))
            .service(read_only(&at("/docs/"), move || page(self.page)))
            .service(web::resource(at("/docs")).route(web::get().to(folder)).route(web::head().to(folder)));
    }
}

fn read_only(path: &str, answer: impl Fn() -> HttpResponse + Clone + 'static) -> Resource {
    let handler = move || {
        let answer = answer();
        async move { answer }
    };
    web::resource(path).route(web::get().to(handler.clone())).route(web::head().to(handler))
}

fn document(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .insert_header((CACHE_CONTROL, CACHE_FIVE_MINUTES))
        // Nothing in it is secret, and tools in a browser read it from elsewhere.
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .body(text)
}

fn page(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CACHE_CONTROL, CACHE_FIVE_MINUTES))
        .insert_header((CONTENT_SECURITY_POLICY, PAGE_SECURITY_POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .body(text)
}
