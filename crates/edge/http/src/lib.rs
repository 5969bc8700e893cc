#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answer;
mod body;
mod body_guard;
mod caller;
mod client;
mod connections;
mod door;
mod error;
mod error_map;
mod flows;
mod head;
mod health;
mod kept;
mod limits;
mod metrics;
mod observe;
mod open;
mod openapi;
mod operation;
mod path;
mod rates;
mod refusal;
mod repeat;
mod request_id;
mod server;
mod tls;
mod watched;
mod wire;

pub use answer::json;
pub use body::{BodyLimit, FormBody, JsonBody, OptionalJsonBody};
pub use caller::{Authenticated, Caller, Gate};
pub use error::ApiError;
pub use flows::{FlowError, Flows};
pub use kept::kept;
pub use limits::Limits;
pub use observe::{client_key, count_for, count_page};
pub use open::{Parameters, mount_open};
pub use openapi::{Answer, ApiDocs, Exchange, OperationDocs, ServiceDocs, document};
pub use operation::{Operation, mount};
pub use path::{PathId, PathIds};
pub use repeat::{IdempotencyKey, IfMatch, IfNoneMatch, stored, tell};
pub use request_id::RequestId;
pub use server::{Running, ServeError, Server};
pub use tls::{TlsError, TlsFiles};
