#![doc = include_str!("../README.md")]

mod body;
mod naive;
mod schema;
mod tuned;

use std::io;

use actix_web::{App, HttpResponse, HttpServer, web};
use diesel::PgConnection;
use diesel::r2d2::{ConnectionManager, Pool};

use body::Request;

/// Connections of each pool: as many as the service opens, and as pgbench has clients.
const CONNECTIONS: u32 = 8;

pub(crate) type PgPool = Pool<ConnectionManager<PgConnection>>;

/// The pool of the naive handlers: r2d2 as it comes, but for its size.
#[derive(Clone)]
pub(crate) struct Plain(pub(crate) PgPool);

/// The pool of the tuned handlers: connections are not tested with a query each time they are taken.
#[derive(Clone)]
pub(crate) struct Trusting(pub(crate) PgPool);

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: DATABASE_URL=postgres://… dropin-baseline ADDRESS");
    let address = std::env::args().nth(1).ok_or_else(usage)?;
    let url = std::env::var("DATABASE_URL").map_err(|_absent| usage())?;
    let pool = |tested: bool| {
        let builder = Pool::builder().max_size(CONNECTIONS).test_on_check_out(tested);
        builder.build(ConnectionManager::new(&url)).map_err(io::Error::other)
    };
    let (plain, trusting) = (Plain(pool(true)?), Trusting(pool(false)?));
    actix_web::rt::System::new().block_on(async {
        let app = move || {
            App::new()
                .app_data(web::Data::new(plain.clone()))
                .app_data(web::Data::new(trusting.clone()))
                .route("/bare", web::post().to(bare))
                .route("/naive", web::post().to(naive::create))
                .route("/naive/{id}", web::get().to(naive::find))
                .route("/tuned", web::post().to(tuned::create))
                .route("/tuned/{id}", web::get().to(tuned::find))
        };
        HttpServer::new(app).bind(address)?.run().await
    })
}

/// Reads the body as JSON and answers with as much: what HTTP and JSON alone cost.
async fn bare(body: web::Bytes) -> Result<HttpResponse, actix_web::Error> {
    let request = Request::parse(&body)?;
    Ok(HttpResponse::Created().json(request.answer()))
}
