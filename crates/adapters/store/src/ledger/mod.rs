//! The ledger: a transaction is a row with a column for each account, which a CHECK holds at zero.

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use dropin_kernel::LedgerTransactionId;
use dropin_money::Currency;
use dropin_order::{Account, LedgerTransaction};
use dropin_ports::Balance;
use dropin_store_runtime::connection::AnyConnection;
use dropin_store_runtime::fault::{Fault, InTable, corrupt};
use dropin_store_runtime::sql::{Id, Instant, SqlId, SqlInstant};
use dropin_store_runtime::{rows, statement_about};

use crate::schema::ledger_posting;

const TABLE: &str = "ledger_posting";

rows! {
    /// A ledger transaction; `number` names the batched row that it belongs to.
    Postings of Posting<'a> {
        number: i64 => BigInt,
        id: Id => SqlId,
        order_id: Id => SqlId,
        currency: &'a str => Text,
        shopper: i64 => BigInt,
        authorized: i64 => BigInt,
        captured: i64 => BigInt,
        refunded: i64 => BigInt,
        disputed: i64 => BigInt,
        charged_back: i64 => BigInt,
        posted_at: Instant => SqlInstant,
    }
}

statement_about! {
    Post { postings: Postings, }
    include_str!("post.postgres.sql");
}

/// What each account gains or loses, in the order of the columns.
fn minors(posted: &LedgerTransaction) -> [i64; 6] {
    // The database refuses a row that a sum beyond 64 bits has put out of balance.
    Account::ALL.map(|account| {
        let own = posted.entries().iter().filter(|entry| entry.account == account);
        own.fold(0_i64, |sum, entry| sum.saturating_add(entry.minor))
    })
}

/// The row of a transaction.
pub(crate) fn posting(number: i64, posted: &LedgerTransaction) -> Posting<'_> {
    let [shopper, authorized, captured, refunded, disputed, charged_back] = minors(posted);
    Posting {
        number,
        id: Id(posted.id.uuid()),
        order_id: Id(posted.order_id.uuid()),
        currency: posted.currency.code(),
        shopper,
        authorized,
        captured,
        refunded,
        disputed,
        charged_back,
        posted_at: Instant(posted.at),
    }
}

/// Posts transactions.
pub(crate) fn post(connection: &mut AnyConnection, transactions: &[LedgerTransaction]) -> Result<(), Fault> {
    match connection {
        AnyConnection::Postgres(connection) if !transactions.is_empty() => {
            Post { postings: transactions.iter().map(|one| posting(0, one)).collect() }.execute(connection)?;
        }
        AnyConnection::Postgres(_) => {}
        AnyConnection::Sqlite(connection) => {
            for one in transactions {
                diesel::insert_into(ledger_posting::table).values(PostedRow::new(one)).execute(connection)?;
            }
        }
    }
    Ok(())
}

/// A stored transaction.
#[derive(Debug, Queryable, Selectable, Insertable)]
#[diesel(table_name = ledger_posting)]
pub(crate) struct PostedRow {
    pub(crate) id: Id,
    pub(crate) order_id: Id,
    currency: String,
    shopper_minor: i64,
    authorized_minor: i64,
    captured_minor: i64,
    refunded_minor: i64,
    disputed_minor: i64,
    charged_back_minor: i64,
    posted_at: Instant,
}

impl PostedRow {
    fn new(posted: &LedgerTransaction) -> Self {
        let [shopper_minor, authorized_minor, captured_minor, refunded_minor, disputed_minor, charged_back_minor] =
            minors(posted);
        Self {
            id: Id(posted.id.uuid()),
            order_id: Id(posted.order_id.uuid()),
            currency: posted.currency.code().to_owned(),
            shopper_minor,
            authorized_minor,
            captured_minor,
            refunded_minor,
            disputed_minor,
            charged_back_minor,
            posted_at: Instant(posted.at),
        }
    }

    /// Those of some Orders.
    pub(crate) fn of(connection: &mut AnyConnection, orders: &[Id]) -> Result<Vec<Self>, Fault> {
        let own = ledger_posting::table.filter(ledger_posting::order_id.eq_any(orders));
        own.select(Self::as_select()).load(connection).in_table(TABLE)
    }

    fn minor(&self, account: Account) -> i64 {
        match account {
            Account::Shopper => self.shopper_minor,
            Account::Authorized => self.authorized_minor,
            Account::Captured => self.captured_minor,
            Account::Refunded => self.refunded_minor,
            Account::Disputed => self.disputed_minor,
            Account::ChargedBack => self.charged_back_minor,
        }
    }
}

/// What the accounts of an Order come to, those that something was posted to, and which of its transactions do not sum to zero.
pub(crate) fn sums(transactions: &[PostedRow]) -> Result<(Vec<Balance>, Vec<LedgerTransactionId>), Fault> {
    let (mut balances, mut unbalanced) = (Vec::<Balance>::new(), Vec::new());
    for posted in transactions {
        let currency: Currency =
            posted.currency.parse().map_err(|_unknown| corrupt(TABLE, "the currency is not one that Dropin knows"))?;
        let moved = Account::ALL.map(|account| (account, posted.minor(account)));
        for (account, minor) in moved.into_iter().filter(|(_, minor)| *minor != 0) {
            match balances.iter_mut().find(|known| known.account == account && known.currency == currency) {
                Some(balance) => balance.minor = balance.minor.saturating_add(minor),
                None => balances.push(Balance { account, currency, minor }),
            }
        }
        if moved.iter().map(|(_, minor)| i128::from(*minor)).sum::<i128>() != 0 {
            unbalanced.push(LedgerTransactionId::new(posted.id.0));
        }
    }
    Ok((balances, unbalanced))
}
