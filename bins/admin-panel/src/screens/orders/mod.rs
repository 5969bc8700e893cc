//! Orders: the list, one Order with everything that happened to it, and what an operator does about it.

mod acts;
mod disputes;
mod list;
mod page;
mod timeline;

pub(crate) use acts::{cancel, capture, refund, refund_notice, refunds, review_again, review_changed, reviewed};
pub(crate) use disputes::answer_dispute;
pub(crate) use list::{FILTERS, OrderRow, filter_of, list, search_of};
pub(crate) use page::show;
