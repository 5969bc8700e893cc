//! Statements written as text, prepared once: what diesel builds for an UPDATE, an upsert or a savepoint SQLite would compile each time.

/// Declares a statement with its binds, in the order of the `?` in its text.
macro_rules! statement {
    ($(#[$doc:meta])* $name:ident$(<$life:lifetime>)? { $($field:ident: $rust:ty => $sql:ty,)* } $text:expr;
        $(returns $row:ty;)?
    ) => {
        $(#[$doc])*
        struct $name$(<$life>)? { $($field: $rust,)* }

        $crate::statement::statement!(@id $name $($life)?);

        $crate::statement::statement!(@fragment ($name $(<$life>)?) ($($life)?) { $($field: $sql,)* } $text);

        impl$(<$life>)? diesel::RunQueryDsl<diesel::SqliteConnection> for $name$(<$life>)? {}

        $(impl diesel::query_builder::Query for $name {
            type SqlType = $row;
        })?
    };
    (@id $name:ident) => {
        impl diesel::query_builder::QueryId for $name {
            type QueryId = Self;

            const HAS_STATIC_QUERY_ID: bool = true;
        }
    };
    (@id $name:ident $life:lifetime) => {
        impl diesel::query_builder::QueryId for $name<'_> {
            type QueryId = $name<'static>;

            const HAS_STATIC_QUERY_ID: bool = true;
        }
    };
    (@fragment ($of:ty) ($($life:lifetime)?) { $($field:ident: $sql:ty,)* } $text:expr) => {
        impl$(<$life>)? diesel::query_builder::QueryFragment<diesel::sqlite::Sqlite> for $of {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, diesel::sqlite::Sqlite>,
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

pub(crate) use statement;
