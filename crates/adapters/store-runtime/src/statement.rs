//! Statements written as text, prepared once per connection.
//!
//! A text is SQL as psql or sqlite3 takes it: its parameters are `$1`, `$2`, … in the order of the statement's fields, the first of each in that
//! order. It may begin with comments and end with a semicolon, which are not sent. A parameter that is missing, or has no field, stops the build.

/// A text cut at the first place of each parameter, where diesel writes the parameter itself.
#[derive(Debug, Clone, Copy)]
pub struct Pieces<const BINDS: usize> {
    /// What stands before the first place of each.
    pub before: [&'static str; BINDS],
    /// What stands behind the last of them. Parameters that come again stand in the pieces.
    pub rest: &'static str,
}

impl<const BINDS: usize> Pieces<BINDS> {
    /// Cuts a text whose parameters begin with `sigil`.
    ///
    /// # Panics
    /// When the parameters are not 1 to `BINDS`, the first of each in that order.
    #[must_use]
    pub const fn cut(text: &'static str, sigil: u8) -> Self {
        let text = without_frame(text);
        let bytes = text.as_bytes();
        let mut before = [""; BINDS];
        let (mut from, mut at, mut bound) = (0, 0, 0);
        let (mut is_quoted, mut is_comment) = (false, false);
        while at < bytes.len() {
            let byte = bytes[at];
            if is_comment {
                is_comment = byte != b'\n';
            } else if byte == b'\'' {
                is_quoted = !is_quoted;
            } else if is_quoted {
                assert!(byte != sigil || !is_digit(bytes, at + 1), "what stands in quotes is no parameter");
            } else if byte == b'-' && begins(bytes, at, b"--") {
                is_comment = true;
            } else if byte == sigil && is_digit(bytes, at + 1) {
                let (number, end) = read_number(bytes, at + 1);
                if number == bound + 1 {
                    assert!(bound < BINDS, "the text has a parameter without a field");
                    before[bound] = slice(text, from, at);
                    (bound, from) = (number, end);
                } else {
                    assert!(1 <= number && number <= bound, "parameters stand in the order of the fields");
                }
                at = end;
                continue;
            } else {
                assert!(byte != b'?', "a parameter is written as $1");
                assert!(byte != b';', "a text is one statement: SQLite would run the first alone");
            }
            at += 1;
        }
        assert!(bound == BINDS, "the text has no parameter for a field");
        Self { before, rest: slice(text, from, text.len()) }
    }

    /// The same, where each group of parameters is cast to the types of its columns and followed by their names, as in
    /// `unnest($1::uuid[], $2::text[]) AS alias (id, state)`.
    ///
    /// # Panics
    /// When the text names other columns or other types.
    #[must_use]
    pub const fn with_rows(self, groups: &[&[Column]]) -> Self {
        let (mut group, mut bound) = (0, 0);
        while group < groups.len() {
            let columns = groups[group];
            let mut column = 0;
            while column < columns.len() {
                bound += 1;
                let cast = array_of(columns[column].1);
                assert!(
                    begins(self.behind(bound).as_bytes(), 0, cast.as_bytes()),
                    "a parameter is cast to another type"
                );
                column += 1;
            }
            assert!(lists(self.behind(bound).as_bytes(), columns), "the text names other columns than the rows have");
            group += 1;
        }
        self
    }

    const fn behind(&self, bound: usize) -> &'static str {
        if bound < BINDS { self.before[bound] } else { self.rest }
    }
}

/// The name of a column of rows, and how diesel calls its type.
pub type Column = (&'static str, &'static str);

/// How PostgreSQL is told of an array of that type.
const fn array_of(sql: &str) -> &'static str {
    const TYPES: [Column; 8] = [
        ("BigInt", "::bigint[]"),
        ("Integer", "::integer[]"),
        ("Text", "::text[]"),
        ("Bool", "::boolean[]"),
        ("Binary", "::bytea[]"),
        ("SqlId", "::uuid[]"),
        ("SqlInstant", "::timestamptz[]"),
        ("SqlDocument", "::jsonb[]"),
    ];
    let from = if begins(sql.as_bytes(), 0, b"Nullable<") { "Nullable<".len() } else { 0 };
    let name = slice(sql, from, if 0 < from { sql.len() - 1 } else { sql.len() }).as_bytes();
    let mut at = 0;
    while at < TYPES.len() {
        if TYPES[at].0.len() == name.len() && begins(name, 0, TYPES[at].0.as_bytes()) {
            return TYPES[at].1;
        }
        at += 1;
    }
    panic!("nobody has said how PostgreSQL calls this type")
}

/// The text of a statement as SQLite numbers parameters: `?1` for `$1`, of the same length.
#[must_use]
pub const fn for_sqlite<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let bytes = text.as_bytes();
    let mut numbered = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        numbered[at] = if bytes[at] == b'$' && is_digit(bytes, at + 1) { b'?' } else { bytes[at] };
        at += 1;
    }
    numbered
}

/// Bytes of a text as a text again.
///
/// # Panics
/// When they are none.
#[must_use]
pub const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("the text is not UTF-8"),
    }
}

/// Without the comments before it and the semicolon behind it.
const fn without_frame(text: &str) -> &str {
    let mut rest = text.trim_ascii();
    while begins(rest.as_bytes(), 0, b"--") {
        let mut at = 0;
        while at < rest.len() && rest.as_bytes()[at] != b'\n' {
            at += 1;
        }
        rest = slice(rest, at, rest.len()).trim_ascii();
    }
    match rest.as_bytes() {
        [.., b';'] => slice(rest, 0, rest.len() - 1),
        _ => rest,
    }
}

const fn slice(text: &str, from: usize, to: usize) -> &str {
    text.split_at(to).0.split_at(from).1
}

const fn is_digit(bytes: &[u8], at: usize) -> bool {
    at < bytes.len() && bytes[at].is_ascii_digit()
}

/// The number that begins there, and where it ends.
const fn read_number(bytes: &[u8], from: usize) -> (usize, usize) {
    let (mut number, mut at) = (0, from);
    while is_digit(bytes, at) {
        number = 10 * number + (bytes[at] - b'0') as usize;
        at += 1;
    }
    (number, at)
}

const fn begins(bytes: &[u8], from: usize, with: &[u8]) -> bool {
    let mut at = 0;
    while at < with.len() {
        if bytes.len() <= from + at || bytes[from + at] != with[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether the first parentheses of a text hold these names.
const fn lists(text: &[u8], columns: &[Column]) -> bool {
    let (mut at, mut name) = (0, 0);
    while at < text.len() && text[at] != b'(' {
        at += 1;
    }
    while name < columns.len() {
        at += 1;
        while at < text.len() && text[at].is_ascii_whitespace() {
            at += 1;
        }
        if !begins(text, at, columns[name].0.as_bytes()) {
            return false;
        }
        at += columns[name].0.len();
        name += 1;
        while at < text.len() && text[at].is_ascii_whitespace() {
            at += 1;
        }
        if !begins(text, at, if name == columns.len() { b")" } else { b"," }) {
            return false;
        }
    }
    true
}

/// Declares a statement: its fields are the parameters of its text, which is one for `both` databases, or one for each or either of them.
#[macro_export]
macro_rules! statement {
    (@texts $of:tt $fields:tt) => {};
    (@texts $of:tt $fields:tt both $text:expr; $($rest:tt)*) => {
        $crate::statement!(@texts $of $fields postgres $text; sqlite $text; $($rest)*);
    };
    (@texts $of:tt $fields:tt postgres $text:expr; $($rest:tt)*) => {
        $crate::statement!(@run $of $fields diesel::pg::Pg, diesel::PgConnection, {
            $crate::statement::Pieces::cut($text, b'$')
        });
        $crate::statement!(@texts $of $fields $($rest)*);
    };
    (@texts $of:tt $fields:tt sqlite $text:expr; $($rest:tt)*) => {
        $crate::statement!(@run $of $fields diesel::sqlite::Sqlite, diesel::SqliteConnection, {
            const NUMBERED: &[u8] = &$crate::statement::for_sqlite::<{ str::len($text) }>($text);
            $crate::statement::Pieces::cut($crate::statement::text(NUMBERED), b'?')
        });
        $crate::statement!(@texts $of $fields $($rest)*);
    };
    (@texts [$name:ident $($life:lifetime)?] $fields:tt returns $row:ty;) => {
        impl$(<$life>)? diesel::query_builder::Query for $name$(<$life>)? {
            type SqlType = $row;
        }
    };
    (@run [$name:ident $($life:lifetime)?] { $($field:ident: $rust:ty => $sql:ty,)* } $backend:ty, $connection:ty, $cut:expr) => {
        impl$(<$life>)? diesel::query_builder::QueryFragment<$backend> for $name$(<$life>)? {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, $backend>,
            ) -> diesel::QueryResult<()> {
                static PIECES: $crate::statement::Pieces<{ <[&str]>::len(&[$(stringify!($field)),*]) }> = $cut;
                let [$($field),*] = PIECES.before;
                $(
                    out.push_sql($field);
                    out.push_bind_param::<$sql, _>(&self.$field)?;
                )*
                out.push_sql(PIECES.rest);
                Ok(())
            }
        }

        impl$(<$life>)? diesel::RunQueryDsl<$connection> for $name$(<$life>)? {}
    };
    (@static [$name:ident]) => { $name };
    (@static [$name:ident $life:lifetime]) => { $name<'static> };
    ($(#[$doc:meta])* $name:ident$(<$life:lifetime>)? { $($field:ident: $rust:ty => $sql:ty,)* } $($texts:tt)+) => {
        $(#[$doc])*
        struct $name$(<$life>)? { $($field: $rust,)* }

        impl$(<$life>)? diesel::query_builder::QueryId for $name$(<$life>)? {
            type QueryId = $crate::statement!(@static [$name $($life)?]);

            const HAS_STATIC_QUERY_ID: bool = true;
        }

        $crate::statement!(@texts [$name $($life)?] { $($field: $rust => $sql,)* } $($texts)+);
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
/// `unnest($1::uuid[], $2::text[]) AS alias (id, state)`.
#[macro_export]
macro_rules! rows {
    ($(#[$doc:meta])* $rows:ident of $row:ident<$life:lifetime> { $($field:ident: $rust:ty => $sql:ty,)* }) => {
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

        impl $rows<'_> {
            /// Its columns.
            pub(crate) const COLUMNS: &'static [$crate::statement::Column] = &[$((stringify!($field), stringify!($sql))),*];

            /// Binds each column, behind the piece that stands before it.
            pub(crate) fn bind<'b>(
                &'b self,
                pieces: &mut std::slice::Iter<'_, &str>,
                out: &mut diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                $(
                    out.push_sql(pieces.next().copied().unwrap_or_default());
                    out.push_bind_param::<diesel::sql_types::Array<$sql>, _>(&self.$field)?;
                )*
                Ok(())
            }
        }
    };
}

/// Declares a statement of PostgreSQL about [`rows!`], whose columns are the parameters of its text.
#[macro_export]
macro_rules! statement_about {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $rows:ident,)* } $text:expr; $(returns $row:ty;)?) => {
        $(#[$doc])*
        struct $name<'a> { $($field: $rows<'a>,)* }

        impl diesel::query_builder::QueryId for $name<'_> {
            type QueryId = $name<'static>;

            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl diesel::query_builder::QueryFragment<diesel::pg::Pg> for $name<'_> {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, diesel::pg::Pg>,
            ) -> diesel::QueryResult<()> {
                static PIECES: $crate::statement::Pieces<{ 0 $(+ $rows::COLUMNS.len())* }> =
                    $crate::statement::Pieces::cut($text, b'$').with_rows(&[$($rows::COLUMNS),*]);
                let mut pieces = PIECES.before.iter();
                $(self.$field.bind(&mut pieces, &mut out)?;)*
                out.push_sql(PIECES.rest);
                Ok(())
            }
        }

        impl diesel::RunQueryDsl<diesel::PgConnection> for $name<'_> {}

        $(impl diesel::query_builder::Query for $name<'_> {
            type SqlType = $row;
        })?
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_the_first_place_of_each_parameter() {
        let text = "-- $1: a key, $2: a text\n\nSELECT '$2' || $2 -- not $1\n FROM t WHERE a = $1 OR b = $2;\n";
        let swapped = "-- about $1\nSELECT $1, '?' || $1 -- what? $7\n WHERE a = $2 AND b = $1 AND c = '$.d';\n";
        let pieces = Pieces::<2>::cut(swapped, b'$');
        assert_eq!(pieces.before, ["SELECT ", ", '?' || $1 -- what? $7\n WHERE a = "]);
        assert_eq!(pieces.rest, " AND b = $1 AND c = '$.d'");
        assert!(std::panic::catch_unwind(|| Pieces::<2>::cut(text, b'$')).is_err(), "out of order");
        assert!(std::panic::catch_unwind(|| Pieces::<3>::cut(swapped, b'$')).is_err(), "a field too many");
        assert!(std::panic::catch_unwind(|| Pieces::<1>::cut(swapped, b'$')).is_err(), "a field too few");
        for refused in ["SELECT ?", "SELECT '$1'", "DELETE FROM a; DELETE FROM b"] {
            assert!(std::panic::catch_unwind(|| Pieces::<0>::cut(refused, b'$')).is_err(), "{refused}");
        }
    }

    #[test]
    fn sqlite_numbers_parameters_with_question_marks() {
        let numbered = for_sqlite::<50>("SELECT json_extract($1, '$.a'), $12 FROM t;  /* x ");
        let expected = "SELECT json_extract(?1, '$.a'), ?12 FROM t;  /* x ";
        assert_eq!(text(&numbered), expected);
    }

    #[test]
    fn rows_have_the_columns_that_the_text_names() {
        let pieces = Pieces::<3>::cut(
            "SELECT 1 FROM unnest($1::bigint[], $2::text[]) AS a (id, state ), unnest($3::uuid[]) AS b (\n c)",
            b'$',
        );
        let (id, state, c) = (("id", "BigInt"), ("state", "Nullable<Text>"), ("c", "SqlId"));
        assert_eq!(pieces.with_rows(&[&[id, state], &[c]]).rest, "::uuid[]) AS b (\n c)");
        for other in [[state, id], [id, ("stat", "Text")], [id, ("state_of", "Text")], [("id", "Integer"), state]] {
            assert!(std::panic::catch_unwind(|| pieces.with_rows(&[&other, &[c]])).is_err(), "{other:?}");
        }
    }
}
