//! The processor's journal, which has no lists beside it, as lists of payments and refunds.

use std::collections::BTreeMap;

use dropin_kernel::OpId;
use dropin_money::Amount;
use dropin_ports::{JournalEntry, ProcessorRecord, RecordList, RecordedMoney};

/// The payments and refunds that a journal tells of, each as its last entry leaves it.
#[derive(Default)]
pub(crate) struct Records {
    payments: BTreeMap<OpId, ProcessorRecord>,
    refunds: BTreeMap<OpId, ProcessorRecord>,
}

impl Records {
    /// A list, oldest first.
    pub(crate) fn list(self, list: RecordList) -> Vec<ProcessorRecord> {
        let records = match list {
            RecordList::Payments => self.payments,
            RecordList::Refunds => self.refunds,
        };
        let mut records: Vec<_> = records.into_values().collect();
        records.sort_by_key(|record| record.created_at);
        records
    }

    /// Goes on by one entry.
    pub(crate) fn read(&mut self, entry: &JournalEntry) {
        let of_authorization = entry.authorization.and_then(|key| self.payments.get_mut(&key));
        match (entry.kind.as_str(), entry.outcome.as_str(), of_authorization, entry.amount) {
            ("AUTHORIZE", ..) => {
                let approved = if entry.captured { RecordedMoney::Captured } else { RecordedMoney::Reserved };
                self.payments.entry(entry.key).or_insert_with(|| begun(entry)).money = came_to(entry, approved);
            }
            ("REFUND", ..) => {
                let refund = self.refunds.entry(entry.key).or_insert_with(|| begun(entry));
                refund.money = came_to(entry, RecordedMoney::Refunded);
            }
            ("CAPTURE", "APPROVED", Some(payment), Some(amount)) => {
                (payment.money, payment.capture) = (RecordedMoney::Captured(amount), Some(entry.key));
            }
            ("CAPTURE", "PENDING", Some(payment), _) => payment.capture = Some(entry.key),
            ("CAPTURE", _, Some(payment), _) if payment.capture == Some(entry.key) => payment.capture = None,
            ("VOID", "APPROVED", Some(payment), _) => payment.money = RecordedMoney::None,
            _ => {}
        }
    }
}

fn begun(entry: &JournalEntry) -> ProcessorRecord {
    ProcessorRecord {
        reference: entry.key.to_string(),
        created_at: entry.at,
        operation: Some(entry.key),
        order: entry.order,
        merchant: None,
        merchant_reference: None,
        payment_method: None,
        capture: None,
        money: RecordedMoney::None,
    }
}

fn came_to(entry: &JournalEntry, approved: impl Fn(Amount) -> RecordedMoney) -> RecordedMoney {
    match (entry.outcome.as_str(), entry.amount) {
        ("APPROVED", Some(amount)) if !amount.is_zero() => approved(amount),
        ("PENDING", _) => RecordedMoney::Open,
        _ => RecordedMoney::None,
    }
}

#[cfg(test)]
mod tests {
    use dropin_kernel::{OrderId, Timestamp, uuid::Uuid};
    use dropin_money::Currency;

    use super::*;

    fn key(number: u128) -> OpId {
        OpId::new(Uuid::from_u128(number))
    }

    fn usd(minor: i64) -> Amount {
        Amount::from_minor(Currency::Usd, minor).unwrap()
    }

    fn entry(number: u128, kind: &str, outcome: &str, minor: i64) -> JournalEntry {
        JournalEntry {
            number: 1,
            key: key(number),
            kind: kind.to_owned(),
            outcome: outcome.to_owned(),
            amount: Some(usd(minor)),
            authorization: (kind != "AUTHORIZE").then(|| key(1)),
            captured: false,
            at: Timestamp::from_micros(0),
            order: Some(OrderId::new(Uuid::from_u128(9))),
        }
    }

    fn told(list: RecordList, entries: &[JournalEntry]) -> Vec<(Option<OpId>, Option<OpId>, RecordedMoney)> {
        let mut records = Records::default();
        entries.iter().for_each(|entry| records.read(entry));
        records.list(list).into_iter().map(|record| (record.operation, record.capture, record.money)).collect()
    }

    #[test]
    fn a_payment_is_what_its_last_entry_says() {
        let authorized = entry(1, "AUTHORIZE", "APPROVED", 1_000);
        let paid = JournalEntry { captured: true, ..authorized.clone() };
        let then = |next: JournalEntry| vec![authorized.clone(), next];
        for (entries, capture, money) in [
            (vec![authorized.clone()], None, RecordedMoney::Reserved(usd(1_000))),
            (vec![paid], None, RecordedMoney::Captured(usd(1_000))),
            (vec![entry(1, "AUTHORIZE", "PENDING", 1_000)], None, RecordedMoney::Open),
            (vec![entry(1, "AUTHORIZE", "DECLINED", 1_000)], None, RecordedMoney::None),
            (vec![entry(1, "AUTHORIZE", "APPROVED", 0)], None, RecordedMoney::None),
            (
                vec![entry(1, "AUTHORIZE", "PENDING", 1_000), authorized.clone()],
                None,
                RecordedMoney::Reserved(usd(1_000)),
            ),
            (then(entry(2, "CAPTURE", "APPROVED", 600)), Some(key(2)), RecordedMoney::Captured(usd(600))),
            (then(entry(2, "CAPTURE", "DECLINED", 600)), None, RecordedMoney::Reserved(usd(1_000))),
            (then(entry(2, "CAPTURE", "PENDING", 600)), Some(key(2)), RecordedMoney::Reserved(usd(1_000))),
            (
                vec![authorized.clone(), entry(2, "CAPTURE", "PENDING", 600), entry(2, "CAPTURE", "DECLINED", 600)],
                None,
                RecordedMoney::Reserved(usd(1_000)),
            ),
            (then(entry(2, "VOID", "APPROVED", 1_000)), None, RecordedMoney::None),
        ] {
            assert_eq!(told(RecordList::Payments, &entries), [(Some(key(1)), capture, money)], "{entries:?}");
        }
    }

    #[test]
    fn refunds_stand_in_a_list_of_their_own() {
        let entries = [entry(1, "AUTHORIZE", "APPROVED", 1_000), entry(2, "REFUND", "PENDING", 400)];
        assert_eq!(told(RecordList::Refunds, &entries), [(Some(key(2)), None, RecordedMoney::Open)]);
        let entries = [&entries[..], &[entry(2, "REFUND", "APPROVED", 400)]].concat();
        assert_eq!(told(RecordList::Refunds, &entries), [(Some(key(2)), None, RecordedMoney::Refunded(usd(400)))]);
        assert_eq!(told(RecordList::Payments, &entries).len(), 1);
    }
}
