#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answer;
mod body;
mod body_guard;
mod caller;
mod error;
mod error_map;
mod flows;
mod health;
mod metrics;
mod observe;
mod operation;
mod path;
mod request_id;
mod server;
mod tls;

pub use answer::json;
pub use body::{BodyLimit, FormBody, JsonBody, OptionalJsonBody};
pub use caller::{Authenticated, Caller, Gate};
pub use error::ApiError;
pub use flows::{FlowError, Flows};
pub use operation::{Operation, mount};
pub use path::PathId;
pub use request_id::RequestId;
pub use server::{Limits, Running, ServeError, Server};
pub use tls::{TlsError, TlsFiles};
