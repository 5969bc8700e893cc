//! As fast as this shape goes: no test query when a connection is taken, and both rows in one prepared statement.

use actix_web::error::ErrorInternalServerError;
use actix_web::{HttpResponse, web};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types;
use uuid::Uuid;

use crate::body::{self, MERCHANT, Request, TOTAL_MINOR};
use crate::{PgPool, Trusting, naive};

/// Writes profile and Session by one statement, which is its own transaction.
pub(crate) async fn create(pool: web::Data<Trusting>, body: web::Bytes) -> Result<HttpResponse, actix_web::Error> {
    let request = Request::parse(&body)?;
    let request =
        web::block(move || insert(&pool.0, &request).map(|()| request)).await?.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Created().json(request.answer()))
}

fn insert(pool: &PgPool, request: &Request) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = pool.get()?;
    BothRows(request).execute(&mut connection)?;
    Ok(())
}

/// The statement; it has the same text each time, so diesel prepares it once per connection.
struct BothRows<'r>(&'r Request);

impl QueryId for BothRows<'_> {
    type QueryId = BothRows<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<PgConnection> for BothRows<'_> {}

impl QueryFragment<Pg> for BothRows<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Request { id, profile, reference, currency, details, terms } = self.0;
        out.push_sql("WITH new AS (INSERT INTO profile (id, merchant_id, details) VALUES (");
        out.push_bind_param::<sql_types::Uuid, _>(profile)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::Uuid, _>(&MERCHANT)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::Jsonb, _>(details)?;
        out.push_sql(
            ") RETURNING id) INSERT INTO session (id, merchant_id, reference, state, currency, total_minor, terms, \
             profile_id) SELECT ",
        );
        out.push_bind_param::<sql_types::Uuid, _>(id)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::Uuid, _>(&MERCHANT)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::Text, _>(reference)?;
        out.push_sql(", 'CREATED', ");
        out.push_bind_param::<sql_types::Text, _>(currency)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::BigInt, _>(&TOTAL_MINOR)?;
        out.push_sql(", ");
        out.push_bind_param::<sql_types::Jsonb, _>(terms)?;
        out.push_sql(", id FROM new");
        Ok(())
    }
}

/// Finds a Session with its profile by its id.
pub(crate) async fn find(pool: web::Data<Trusting>, id: web::Path<Uuid>) -> Result<HttpResponse, actix_web::Error> {
    let id = id.into_inner();
    let found = web::block(move || naive::load(&pool.0, id)).await?.map_err(ErrorInternalServerError)?;
    Ok(match found {
        Some((state, profile, details, terms)) => {
            HttpResponse::Ok().json(body::answer(id, &state, profile, details, terms))
        }
        None => HttpResponse::NotFound().finish(),
    })
}
