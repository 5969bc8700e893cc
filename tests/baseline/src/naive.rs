//! As a first version is written: a pool with its defaults, `web::block` for each request, one statement per round trip.

use actix_web::error::ErrorInternalServerError;
use actix_web::{HttpResponse, web};
use diesel::prelude::*;
use serde_json::Value;
use uuid::Uuid;

use crate::body::{self, MERCHANT, Request, TOTAL_MINOR};
use crate::schema::{profile, session};
use crate::{PgPool, Plain};

/// Writes profile and Session in a transaction: BEGIN, two INSERTs, COMMIT.
pub(crate) async fn create(pool: web::Data<Plain>, body: web::Bytes) -> Result<HttpResponse, actix_web::Error> {
    let request = Request::parse(&body)?;
    let request =
        web::block(move || insert(&pool.0, &request).map(|()| request)).await?.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Created().json(request.answer()))
}

fn insert(pool: &PgPool, request: &Request) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = pool.get()?;
    connection.transaction::<_, diesel::result::Error, _>(|connection| {
        diesel::insert_into(profile::table)
            .values((
                profile::id.eq(request.profile),
                profile::merchant_id.eq(MERCHANT),
                profile::details.eq(&request.details),
            ))
            .execute(connection)?;
        diesel::insert_into(session::table)
            .values((
                session::id.eq(request.id),
                session::merchant_id.eq(MERCHANT),
                session::reference.eq(&request.reference),
                session::state.eq("CREATED"),
                session::currency.eq(&request.currency),
                session::total_minor.eq(TOTAL_MINOR),
                session::profile_id.eq(request.profile),
                session::terms.eq(&request.terms),
            ))
            .execute(connection)?;
        Ok(())
    })?;
    Ok(())
}

/// Finds a Session with its profile by its id.
pub(crate) async fn find(pool: web::Data<Plain>, id: web::Path<Uuid>) -> Result<HttpResponse, actix_web::Error> {
    let id = id.into_inner();
    let found = web::block(move || load(&pool.0, id)).await?.map_err(ErrorInternalServerError)?;
    Ok(match found {
        Some((state, profile, details, terms)) => {
            HttpResponse::Ok().json(body::answer(id, &state, profile, details, terms))
        }
        None => HttpResponse::NotFound().finish(),
    })
}

/// State, profile's id, profile, terms.
pub(crate) type Found = (String, Uuid, Value, Value);

pub(crate) fn load(pool: &PgPool, id: Uuid) -> Result<Option<Found>, Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = pool.get()?;
    let found = session::table
        .inner_join(profile::table)
        .filter(session::id.eq(id))
        .select((session::state, profile::id, profile::details, session::terms))
        .first(&mut connection)
        .optional()?;
    Ok(found)
}
