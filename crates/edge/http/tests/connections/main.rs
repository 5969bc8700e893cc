//! The server as clients on the wire meet it, well-meant and hostile.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;
mod default_actix;
mod hostile;
mod rate_limits;
mod server;
mod tls;
