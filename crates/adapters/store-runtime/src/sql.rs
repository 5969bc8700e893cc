//! The three SQL types that the two databases spell differently, and the Rust types that stand for them.
//!
//! PostgreSQL's own types are named by their fixed numbers: looked up by name, each would cost a question to the server per connection, and on
//! one that has just been lost the failed question would look like a defect of ours.

use std::fmt;
use std::io::Write;

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::query_builder::QueryId;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{BigInt, HasSqlType, SqlType, Text};
use diesel::sqlite::Sqlite;
use dropin_kernel::Timestamp;
use uuid::Uuid;

use crate::connection::MultiBackend;

/// UUID on PostgreSQL, lower-case hyphenated TEXT on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 2950, array_oid = 2951), sqlite_type(name = "Text"))]
pub struct SqlId;

/// TIMESTAMPTZ on PostgreSQL, INTEGER microseconds since 1970 on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 1184, array_oid = 1185), sqlite_type(name = "Long"))]
pub struct SqlInstant;

impl diesel::sql_types::SqlOrd for SqlInstant {}

/// JSONB on PostgreSQL, TEXT on SQLite.
#[derive(Debug, Clone, Copy, Default, SqlType, QueryId)]
#[diesel(postgres_type(oid = 3802, array_oid = 3807), sqlite_type(name = "Text"))]
pub struct SqlDocument;

/// An identifier in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = SqlId)]
pub struct Id(
    /// The UUID.
    pub Uuid,
);

/// An instant in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = SqlInstant)]
pub struct Instant(
    /// Within the years 1 to 9999 where it is stored.
    pub Timestamp,
);

/// A JSON text in a row.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = SqlDocument)]
pub struct JsonDocument(
    /// The text.
    pub String,
);

/// Lets the type pass through the connection that is one of two.
macro_rules! on_either {
    ($sql:ty, $rust:ty) => {
        impl HasSqlType<$sql> for MultiBackend {
            fn metadata(lookup: &mut Self::MetadataLookup) -> Self::TypeMetadata {
                MultiBackend::lookup_sql_type::<$sql>(lookup)
            }
        }

        impl FromSql<$sql, MultiBackend> for $rust {
            fn from_sql(raw: <MultiBackend as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
                raw.from_sql::<$rust, $sql>()
            }
        }

        impl ToSql<$sql, MultiBackend> for $rust {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, MultiBackend>) -> serialize::Result {
                out.set_value((<$sql>::default(), self));
                Ok(IsNull::No)
            }
        }
    };
}

on_either!(SqlId, Id);
on_either!(SqlInstant, Instant);
on_either!(SqlDocument, JsonDocument);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Ids or numbers as statements take a list of them.
pub fn listed(items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// Ids as a list in JSON; they need no escaping.
pub fn json_list(ids: &[impl fmt::Display]) -> String {
    format!("[{}]", listed(ids.iter().map(|id| format!("\"{id}\""))))
}

impl FromSql<SqlId, Pg> for Id {
    fn from_sql(raw: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        FromSql::<diesel::sql_types::Uuid, Pg>::from_sql(raw).map(Self)
    }
}

impl ToSql<SqlId, Pg> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<diesel::sql_types::Uuid, Pg>::to_sql(&self.0, out)
    }
}

impl FromSql<SqlId, Sqlite> for Id {
    fn from_sql(raw: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let text = <String as FromSql<Text, Sqlite>>::from_sql(raw)?;
        let id = Uuid::try_parse(&text).map_err(|_invalid| "not a UUID")?;
        // Only one spelling is ever written: another one would not be found by its id.
        if *id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == *text {
            Ok(Self(id))
        } else {
            Err("a UUID in another spelling".into())
        }
    }
}

impl ToSql<SqlId, Sqlite> for Id {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.hyphenated().to_string());
        Ok(IsNull::No)
    }
}

/// Microseconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const YEAR_2000_MICROS: i64 = 946_684_800_000_000;
/// 0001-01-01T00:00:00Z.
const FIRST_MICROS: i64 = -62_135_596_800_000_000;
/// 9999-12-31T23:59:59.999999Z.
const LAST_MICROS: i64 = 253_402_300_799_999_999;

impl Instant {
    /// The years 1 to 9999, on both databases alike: what is outside cannot be shown to anybody either.
    fn in_range(micros: i64) -> Result<i64, &'static str> {
        if (FIRST_MICROS..=LAST_MICROS).contains(&micros) {
            Ok(micros)
        } else {
            Err("an instant outside the years 1 to 9999")
        }
    }
}

impl FromSql<SqlInstant, Pg> for Instant {
    fn from_sql(raw: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let since_2000 = <i64 as FromSql<BigInt, Pg>>::from_sql(raw)?;
        let micros = Self::in_range(since_2000.saturating_add(YEAR_2000_MICROS))?;
        Ok(Self(Timestamp::from_micros(micros)))
    }
}

impl ToSql<SqlInstant, Pg> for Instant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let since_2000 = Self::in_range(self.0.micros())? - YEAR_2000_MICROS;
        ToSql::<BigInt, Pg>::to_sql(&since_2000, &mut out.reborrow())
    }
}

impl FromSql<SqlInstant, Sqlite> for Instant {
    fn from_sql(raw: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let micros = Self::in_range(<i64 as FromSql<BigInt, Sqlite>>::from_sql(raw)?)?;
        Ok(Self(Timestamp::from_micros(micros)))
    }
}

impl ToSql<SqlInstant, Sqlite> for Instant {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(Self::in_range(self.0.micros())?);
        Ok(IsNull::No)
    }
}

/// PostgreSQL puts the version of its binary format before the text.
const JSONB_VERSION: u8 = 1;

impl FromSql<SqlDocument, Pg> for JsonDocument {
    fn from_sql(raw: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        match raw.as_bytes() {
            [JSONB_VERSION, text @ ..] => Ok(Self(std::str::from_utf8(text)?.to_owned())),
            _ => Err("an unknown version of jsonb".into()),
        }
    }
}

impl ToSql<SqlDocument, Pg> for JsonDocument {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(&[JSONB_VERSION])?;
        out.write_all(self.0.as_bytes())?;
        Ok(IsNull::No)
    }
}

impl FromSql<SqlDocument, Sqlite> for JsonDocument {
    fn from_sql(raw: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <String as FromSql<Text, Sqlite>>::from_sql(raw).map(Self)
    }
}

impl ToSql<SqlDocument, Sqlite> for JsonDocument {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}
