use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use serde::Serialize;

/// An answer with a JSON body.
///
/// A body that cannot be serialised is a defect of ours and becomes the 500 Error object.
pub fn json<T: Serialize + ?Sized>(status: StatusCode, body: &T) -> HttpResponse {
    match serde_json::to_vec(body) {
        Ok(bytes) => HttpResponse::build(status).content_type(ContentType::json()).body(bytes),
        Err(error) => {
            HttpResponse::from_error(crate::ApiError::internal(format!("cannot serialise an answer: {error}")))
        }
    }
}
