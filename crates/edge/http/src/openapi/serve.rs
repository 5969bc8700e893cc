use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
};
use actix_web::{HttpResponse, Resource, web};

/// The page has no script, and what it may load is nothing: on the origin of the card frame nothing of it could run even if a document's text
/// broke out of its markup. `sandbox` takes the origin away from it as well.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// A new release of ours may change them.
const SOON: &str = "public, max-age=300";

/// The API document of a service and the page for people, as they are committed in docs/openapi.
#[derive(Debug, Clone, Copy)]
pub struct ApiDocs {
    /// The OpenAPI document.
    pub document: &'static str,
    /// The same as an HTML page that needs nothing else.
    pub page: &'static str,
    /// Below which path of the service both are served; empty for its root.
    pub below: &'static str,
}

impl ApiDocs {
    /// The routes of `service`, and when `shown` before them, since they may take any address, `/openapi.json` and `/docs/`.
    pub fn beside(
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
        let at = |path: &str| format!("{}{path}", self.below);
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
        .insert_header((CACHE_CONTROL, SOON))
        // Nothing in it is secret, and tools in a browser read it from elsewhere.
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .body(text)
}

fn page(text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .insert_header((CACHE_CONTROL, SOON))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .body(text)
}
