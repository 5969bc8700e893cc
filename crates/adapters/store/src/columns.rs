//! The columns of rows that statements written as text give.

use diesel::Expression;
use diesel::pg::Pg;
use diesel::prelude::Selectable;

/// What the columns of a row are in SQL. A text names them in the order of the row's fields.
pub(crate) type ColumnsOf<R> = <<R as Selectable<Pg>>::SelectExpression as Expression>::SqlType;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use diesel::debug_query;
    use diesel::prelude::*;

    use super::*;
    use crate::rows::{OpRow, OrderRow, ProfileRow, RefundRow, SessionRow};
    use crate::schema::{billing_profile, processor_op, purchase_order, refund, session};

    /// The files below a folder, each as one line.
    fn texts(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(texts(&path));
            } else {
                let text = fs::read_to_string(&path).unwrap().replace("\\\n", "");
                found.push((path.display().to_string(), text.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
        found
    }

    #[test]
    fn texts_name_the_columns_of_rows_as_diesel_does() {
        let columns = |query: String| {
            let plain = query.replace('"', "");
            plain.trim_start_matches("SELECT ").split(" FROM").next().unwrap_or_default().to_owned()
        };
        macro_rules! selected {
            ($table:ident, $row:ty) => {
                columns(debug_query::<Pg, _>(&$table::table.select(<$row>::as_select())).to_string())
            };
        }
        let texts = texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        let receiver = "endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_until, endpoint.removed_at IS NOT NULL, \
            endpoint.event_types, endpoint.retry, (SELECT sandbox FROM merchant WHERE merchant.id = endpoint.merchant_id), e.event_id, e.merchant_id, \
            e.event_type, e.body, e.happened_at";
        for (expected, least) in [
            (receiver.to_owned(), 7),
            (selected!(purchase_order, OrderRow), 7),
            (selected!(session, SessionRow), 4),
            (selected!(billing_profile, ProfileRow), 4),
            (selected!(processor_op, OpRow), 3),
            (selected!(refund, RefundRow), 4),
        ] {
            // A text that begins a list of columns so, goes on so.
            let beginning = expected.split(", ").take(2).collect::<Vec<_>>().join(", ");
            let mut count = 0;
            for (path, text) in &texts {
                for (at, _) in text.match_indices(&beginning) {
                    assert!(text[at..].starts_with(&expected), "{path} names other columns than {expected}");
                    count += 1;
                }
            }
            assert!(least <= count, "{count} texts name {beginning}");
        }
    }
}
