//! Statements written per dialect as text, prepared once per connection.

/// Declares a statement with its binds, in the order of the `?` in its text; a value that is used twice stands twice.
#[macro_export]
macro_rules! statement {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $rust:ty => $sql:ty,)* } postgres $postgres:expr; sqlite $sqlite:expr;
        $(returns $row:ty;)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, diesel::query_builder::QueryId)]
        struct $name { $($field: $rust,)* }

        $crate::statement!(@fragment ($name) { $($field: $sql,)* } diesel::pg::Pg, $postgres);
        $crate::statement!(@fragment ($name) { $($field: $sql,)* } diesel::sqlite::Sqlite, $sqlite);

        impl diesel::RunQueryDsl<diesel::PgConnection> for $name {}
        impl diesel::RunQueryDsl<diesel::SqliteConnection> for $name {}

        $(impl diesel::query_builder::Query for $name {
            type SqlType = $row;
        })?
    };
    // With values that are borrowed.
    ($(#[$doc:meta])* $name:ident<$life:lifetime> { $($field:ident: $rust:ty => $sql:ty,)* } postgres $postgres:expr; sqlite $sqlite:expr;
        $(returns $row:ty;)?
    ) => {
        $crate::statement! {
            $(#[$doc])*
            $name<$life> { $($field: $rust => $sql,)* } on diesel::pg::Pg, diesel::PgConnection, $postgres;
            $(returns $row;)?
        }

        $crate::statement!(@fragment ($name<'_>) { $($field: $sql,)* } diesel::sqlite::Sqlite, $sqlite);

        impl diesel::RunQueryDsl<diesel::SqliteConnection> for $name<'_> {}
    };
    // For one dialect, with values that are borrowed.
    ($(#[$doc:meta])* $name:ident<$life:lifetime> { $($field:ident: $rust:ty => $sql:ty,)* } on $backend:ty, $connection:ty, $text:expr;
        $(returns $row:ty;)?
    ) => {
        $(#[$doc])*
        struct $name<$life> { $($field: $rust,)* }

        impl diesel::query_builder::QueryId for $name<'_> {
            type QueryId = $name<'static>;

            const HAS_STATIC_QUERY_ID: bool = true;
        }

        $crate::statement!(@fragment ($name<'_>) { $($field: $sql,)* } $backend, $text);

        impl diesel::RunQueryDsl<$connection> for $name<'_> {}

        $(impl diesel::query_builder::Query for $name<'_> {
            type SqlType = $row;
        })?
    };
    (@fragment ($of:ty) { $($field:ident: $sql:ty,)* } $backend:ty, $text:expr) => {
        impl diesel::query_builder::QueryFragment<$backend> for $of {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, $backend>,
            ) -> diesel::QueryResult<()> {
                let text: &'static str = $text;
                let mut parts = text.split('?');
                out.push_sql(parts.next().unwrap_or_default());
                $(
                    out.push_bind_param::<$sql, _>(&self.$field)?;
                    out.push_sql(parts.next().unwrap_or_default());
                )*
                Ok(())
            }
        }
    };
}

/// Runs the same expression on whichever connection it is.
#[macro_export]
macro_rules! on_each {
    ($connection:expr, $inner:ident => $run:expr) => {
        match $connection {
            $crate::connection::AnyConnection::Postgres($inner) => $run,
            $crate::connection::AnyConnection::Sqlite($inner) => $run,
        }
    };
}

/// Declares rows that are sent as one array per column, for PostgreSQL to put together again: in a text they stand as
/// `unnest(...) AS alias (columns)`.
#[macro_export]
macro_rules! rows {
    ($(#[$doc:meta])* $rows:ident of $row:ident<$life:lifetime> as $alias:literal { $($field:ident: $rust:ty => $sql:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $row<$life> { $(pub(crate) $field: $rust,)* }

        #[doc = concat!("Each a [`", stringify!($row), "`].")]
        #[derive(Default)]
        pub(crate) struct $rows<$life> { $($field: Vec<$rust>,)* }

        impl<$life> FromIterator<$row<$life>> for $rows<$life> {
            fn from_iter<I: IntoIterator<Item = $row<$life>>>(rows: I) -> Self {
                let mut columns = Self::default();
                for row in rows {
                    $(columns.$field.push(row.$field);)*
                }
                columns
            }
        }

        impl diesel::query_builder::QueryFragment<diesel::pg::Pg> for $rows<'_> {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                let mut before = "unnest(";
                $(
                    out.push_sql(std::mem::replace(&mut before, ", "));
                    out.push_bind_param::<diesel::sql_types::Array<$sql>, _>(&self.$field)?;
                )*
                let mut before = concat!(") AS ", $alias, " (");
                $(
                    out.push_sql(std::mem::replace(&mut before, ", "));
                    out.push_sql(stringify!($field));
                )*
                debug_assert_eq!(before, ", ", "rows have columns");
                out.push_sql(")");
                Ok(())
            }
        }
    };
}

/// Declares a statement of PostgreSQL about [`rows!`], each in the place of a `?` of its text.
#[macro_export]
macro_rules! statement_about {
    ($(#[$doc:meta])* $name:ident<$life:lifetime> { $($field:ident: $rows:ty,)* } $text:expr; $(returns $row:ty;)?) => {
        $(#[$doc])*
        struct $name<$life> { $($field: $rows,)* }

        impl diesel::query_builder::QueryId for $name<'_> {
            type QueryId = $name<'static>;

            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl diesel::query_builder::QueryFragment<diesel::pg::Pg> for $name<'_> {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                let text: &'static str = $text;
                let mut parts = text.split('?');
                out.push_sql(parts.next().unwrap_or_default());
                $(
                    diesel::query_builder::QueryFragment::<diesel::pg::Pg>::walk_ast(&self.$field, out.reborrow())?;
                    out.push_sql(parts.next().unwrap_or_default());
                )*
                Ok(())
            }
        }

        impl diesel::RunQueryDsl<diesel::PgConnection> for $name<'_> {}

        $(impl diesel::query_builder::Query for $name<'_> {
            type SqlType = $row;
        })?
    };
}
