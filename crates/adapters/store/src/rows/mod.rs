//! Rows that several ports read, and how the domain's values are made of them again: through the domain's own constructors, as strictly as from a
//! request.

mod bank;
mod billing;
pub(crate) mod methods;
mod operation;
mod order;
mod rates;
mod refund;
mod session;
mod terms;
mod values;

pub(crate) use billing::ProfileRow;
pub(crate) use operation::{OpRow, read_kind, read_state};
pub(crate) use order::{OrderRow, bank_document};
pub(crate) use rates::{OfferRow, OfferSetRow, RateDocument, RateSourceRow, RatesRow, TableDocument};
pub(crate) use refund::RefundRow;
pub(crate) use session::{SessionRow, StateColumns, TermsChange};
pub(crate) use values::{amount, currency, missing, text};
