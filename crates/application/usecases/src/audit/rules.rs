//! What has to hold of one Order (domain/order, `step.rs`, says what each step posts).

use dropin_kernel::{OpId, Timestamp};
use dropin_money::Amount;
use dropin_order::{Account, DisputeState, OpKind, OpState, Operation, Order, OrderState, RefundState};
use dropin_ports::{Balance, OrderRecords, PositionedOperation};

use super::journal::{Done, Journal};
use super::report::{Disagreement, Finding, Report};

/// An amount with its currency.
pub(super) fn money(amount: &Amount) -> String {
    format!("{amount} {}", amount.currency())
}

/// Checks one Order, against the processor's journal too when that was read.
pub(super) fn check(audited: &OrderRecords, journal: Option<&Journal>, now: Timestamp, report: &mut Report) {
    let mut case = Case { audited, order: &audited.order, journal, report };
    case.ledger();
    case.state();
    case.reservations();
    case.refunds();
    case.disputes();
    case.authorization();
    case.captured();
    case.refunded();
    case.released();
    case.at_the_processor();
    case.stuck(now);
}

struct Case<'a> {
    audited: &'a OrderRecords,
    order: &'a Order,
    journal: Option<&'a Journal>,
    report: &'a mut Report,
}

impl<'a> Case<'a> {
    fn add(&mut self, what: Disagreement, operation: Option<OpId>, words: String) {
        self.report.add(Finding { what, order: Some(self.order.id), operation, words });
    }

    /// Minor units in words, in the Order's currency; a difference may be negative.
    fn minor(&self, minor: i64) -> String {
        let currency = self.order.total.currency();
        match Amount::from_minor(currency, minor.saturating_abs()) {
            Ok(amount) if minor < 0 => format!("-{}", money(&amount)),
            Ok(amount) => money(&amount),
            Err(_too_large) => format!("{minor} minor units {currency}"),
        }
    }

    fn of(&self, kind: OpKind) -> impl Iterator<Item = &'a PositionedOperation> + use<'a> {
        self.audited.operations.iter().filter(move |placed| placed.operation.kind == kind)
    }

    fn approved(&self, kind: OpKind) -> impl Iterator<Item = &'a PositionedOperation> + use<'a> {
        self.of(kind).filter(|placed| placed.operation.state == OpState::Approved)
    }

    /// What the processor did, or what is written here where its journal was not read or says nothing.
    fn done(&self, placed: &PositionedOperation) -> Done {
        let asked = || Done { amount: placed.operation.amount, captured: false };
        self.journal.and_then(|journal| journal.done(placed)).unwrap_or_else(asked)
    }

    /// The sum of operations, in minor units of the Order's currency; of another currency, nothing counts.
    fn sum(&self, operations: impl Iterator<Item = &'a PositionedOperation>) -> i64 {
        let currency = self.order.total.currency();
        let amounts = operations.map(|placed| self.done(placed).amount);
        amounts.filter(|amount| amount.currency() == currency).fold(0, |sum, amount| sum.saturating_add(amount.minor()))
    }

    /// The sum of disputes in some states, in minor units.
    fn disputed(&self, wanted: impl Fn(DisputeState) -> bool) -> i64 {
        let disputes = self.audited.disputes.iter().filter(|dispute| wanted(dispute.state));
        disputes.fold(0, |sum, dispute| sum.saturating_add(dispute.amount.minor()))
    }

    /// What the Order counts as disputed is what its disputes hold.
    fn disputes(&mut self) {
        let (counted, held) = (self.order.amounts.disputed().minor(), self.disputed(DisputeState::holds_money));
        if counted != held {
            let (counted, held) = (self.minor(counted), self.minor(held));
            let words = format!("{counted} counts as disputed; its disputes hold {held}");
            self.add(Disagreement::Disputes, None, words);
        }
    }

    fn ledger(&mut self) {
        for id in &self.audited.unbalanced {
            let words = format!("the entries of its ledger transaction {id} do not sum to zero, or one is missing");
            self.add(Disagreement::UnbalancedTransaction, None, words);
        }
        let (order, amounts) = (self.order, &self.order.amounts);
        let [disputed, lost] = [self.disputed(|state| !state.is_final()), self.disputed(DisputeState::is_lost)];
        let [authorized, captured, refunded] =
            [amounts.total_authorized(), amounts.captured(), amounts.refunded()].map(Amount::minor);
        // What is neither captured nor released by the end of its life; what was reserved later is held until its void is done.
        let is_voiding = self.of(OpKind::Void).any(|placed| placed.operation.state.is_open());
        let held = if order.state.is_final() && !is_voiding { 0 } else { authorized - captured };
        for (account, expected) in [
            (Account::Shopper, -held - captured),
            (Account::Authorized, held),
            (Account::Captured, captured - refunded - disputed - lost),
            (Account::Refunded, refunded),
            (Account::Disputed, disputed),
            (Account::ChargedBack, lost),
        ] {
            let of_account = self.audited.balances.iter().filter(|balance| balance.account == account);
            let (own, other): (Vec<&Balance>, Vec<&Balance>) =
                of_account.partition(|balance| balance.currency == order.total.currency());
            let found = own.iter().fold(0_i64, |sum, balance| sum.saturating_add(balance.minor));
            if found != expected {
                let (found, expected) = (self.minor(found), self.minor(expected));
                let (account, state) = (account.as_str(), order.state.as_str());
                self.add(
                    Disagreement::Ledger,
                    None,
                    format!("its ledger has {found} in {account}; its amounts, being {state}, make {expected}"),
                );
            }
            for balance in other.iter().filter(|balance| balance.minor != 0) {
                let (account, minor, currency) = (account.as_str(), balance.minor, balance.currency);
                let words = format!(
                    "its ledger has {minor} minor units {currency} in {account}, and it is not in that currency"
                );
                self.add(Disagreement::Ledger, None, words);
            }
        }
    }

    /// Whether what was taken after the end of its life is given back in full, or is about to be.
    fn gives_all_back(&self) -> bool {
        let amounts = &self.order.amounts;
        let returned = amounts.refunded().checked_add(amounts.refund_pending());
        !amounts.captured().is_zero() && returned.is_ok_and(|returned| returned == *amounts.captured())
    }

    fn state(&mut self) {
        let (order, amounts) = (self.order, &self.order.amounts);
        let nothing = |amount: &Amount| amount.is_zero();
        let untouched = nothing(amounts.captured()) && nothing(amounts.refunded()) && nothing(amounts.refund_pending());
        let fits = match order.state {
            OrderState::Processing => {
                untouched && nothing(amounts.total_authorized()) && nothing(amounts.capture_pending())
            }
            OrderState::CommitAccepted => untouched,
            // Held for review when the processor authorized in another currency: nothing of it can be captured.
            OrderState::PaymentAuthorized => {
                untouched && (order.under_review || !nothing(amounts.total_authorized()) || order.total.is_zero())
            }
            OrderState::Processed => {
                nothing(amounts.capture_pending()) && (!nothing(amounts.captured()) || order.total.is_zero())
            }
            OrderState::ProcessingFailed | OrderState::Cancelled | OrderState::Declined => {
                (untouched || self.gives_all_back()) && nothing(amounts.capture_pending())
            }
        };
        if !fits {
            let words = format!(
                "it is {}, which does not fit what it says was moved: authorized {}, captured {} (asked for {}), refunded {} (asked for {})",
                order.state.as_str(),
                money(amounts.total_authorized()),
                amounts.captured(),
                amounts.capture_pending(),
                amounts.refunded(),
                amounts.refund_pending()
            );
            self.add(Disagreement::State, None, words);
        }
        if order.total.partial_cmp(amounts.total_authorized()).is_none_or(std::cmp::Ordering::is_lt) {
            let words = format!("{} was authorized of {}", money(amounts.total_authorized()), money(&order.total));
            self.add(Disagreement::State, None, words);
        }
        let voids = self.of(OpKind::Void).any(|placed| placed.operation.state.is_open());
        if order.voiding.is_some() && !order.state.is_final() && !voids {
            let words = "it is held because a void is under way, and there is none: nothing else can begin";
            self.add(Disagreement::State, None, words.to_owned());
        }
    }

    /// What is reserved is what is asked for.
    fn reservations(&mut self) {
        let amounts = &self.order.amounts;
        for (kind, reserved) in
            [(OpKind::Capture, amounts.capture_pending()), (OpKind::Refund, amounts.refund_pending())]
        {
            let open = self.of(kind).map(|placed| &placed.operation).filter(|operation| operation.state.is_open());
            let asked = open.fold(0_i64, |sum, operation| sum.saturating_add(operation.amount.minor()));
            if asked != reserved.minor() {
                let (kind, reserved, asked) = (kind.as_str(), money(reserved), self.minor(asked));
                let words =
                    format!("{reserved} is reserved for a {kind} under way; its open operations ask for {asked}");
                self.add(Disagreement::Operations, None, words);
            }
        }
    }

    fn refunds(&mut self) {
        let amounts = &self.order.amounts;
        for (state, expected) in
            [(RefundState::Succeeded, amounts.refunded()), (RefundState::InProgress, amounts.refund_pending())]
        {
            let rows = self.audited.refunds.iter().filter(|refund| refund.state == state);
            let sum = rows.fold(0_i64, |sum, refund| sum.saturating_add(refund.amount.minor()));
            if sum != expected.minor() {
                let (sum, expected, state) = (self.minor(sum), money(expected), state.as_str());
                self.add(Disagreement::Refunds, None, format!("its refunds {state} make {sum}; it says {expected}"));
            }
        }
        for refund in &self.audited.refunds {
            let own = self.of(OpKind::Refund).filter(|placed| placed.operation.refund == Some(refund.id));
            let (mut open, mut approved) = (0, 0);
            for placed in own {
                open += u32::from(placed.operation.state.is_open());
                approved += u32::from(placed.operation.state == OpState::Approved);
            }
            let fits = match refund.state {
                RefundState::InProgress => (open, approved) == (1, 0),
                RefundState::Succeeded => (open, approved) == (0, 1),
                RefundState::Failed => (open, approved) == (0, 0),
            };
            if !fits {
                let (id, state) = (refund.id, refund.state.as_str());
                let words = format!("its refund {id} is {state}, with {approved} approved and {open} open operations");
                self.add(Disagreement::Refunds, None, words);
            }
        }
        let rows = &self.audited.refunds;
        let nobodys = |operation: &&Operation| rows.iter().all(|refund| operation.refund != Some(refund.id));
        let nobodys = self.of(OpKind::Refund).map(|placed| &placed.operation).find(nobodys);
        if let Some(operation) = nobodys {
            let words = "money was given back, or is asked to be, for a refund that it does not have".to_owned();
            self.add(Disagreement::Refunds, Some(operation.id), words);
        }
    }

    /// What is authorized is what the processor reserved, as far as it is ours to capture.
    fn authorization(&mut self) {
        let order = self.order;
        let authorized = order.amounts.total_authorized();
        let Some(placed) = self.approved(OpKind::Authorize).next() else {
            if !authorized.is_zero() {
                let words = format!("{} counts as authorized, and no authorization was approved", money(authorized));
                self.add(Disagreement::Operations, None, words);
            }
            return;
        };
        let reserved = self.done(placed).amount;
        let usable = match reserved.partial_cmp(&order.total) {
            Some(std::cmp::Ordering::Less) => reserved,
            Some(_) => order.total,
            None => Amount::zero(order.total.currency()),
        };
        // One that was approved after the end of the Order's life never counted.
        let late = order.state.is_final() && order.state != OrderState::Processed && authorized.is_zero();
        let fits = match self.journal {
            Some(_) => *authorized == usable,
            // A reviewer may have accepted less, and in another currency nothing counts.
            None => {
                let something = !authorized.is_zero() || order.under_review || usable.is_zero();
                something && authorized.partial_cmp(&usable).is_some_and(std::cmp::Ordering::is_le)
            }
        };
        let alive = matches!(order.state, OrderState::PaymentAuthorized | OrderState::CommitAccepted);
        if !late && !fits && order.state != OrderState::Processing {
            let words =
                format!("{} counts as authorized; the processor reserved {}", money(authorized), money(&reserved));
            self.add(Disagreement::Operations, Some(placed.operation.id), words);
        } else if alive && usable != reserved {
            let words =
                format!("the processor reserved {}, and was asked for {}", money(&reserved), money(&order.total));
            self.add(Disagreement::Mismatch, Some(placed.operation.id), words);
        }
    }

    /// What is captured is what the processor took: by one capture, or with the authorization.
    fn captured(&mut self) {
        let captured = self.order.amounts.captured().minor();
        let captures = self.approved(OpKind::Capture).count();
        if 1 < captures {
            self.add(Disagreement::Operations, None, format!("{captures} captures of one authorization were approved"));
        }
        let at_once = self.approved(OpKind::Authorize).filter(|placed| self.done(placed).captured);
        let taken = self.sum(self.approved(OpKind::Capture)).saturating_add(self.sum(at_once));
        let most = match captures {
            // Without the journal nobody knows whether it was paid at once.
            0 if self.journal.is_none() => self.sum(self.approved(OpKind::Authorize)),
            _ => taken,
        };
        let late = self.order.state.is_final() && self.order.state != OrderState::Processed && captures == 0;
        let fits = match self.journal {
            Some(_) => captured == taken,
            // A reviewer may have accepted less.
            None => captured <= most && (captures == 0 || 0 < captured),
        };
        if !fits && !late {
            let (captured, taken) = (self.minor(captured), self.minor(most));
            let words = format!("{captured} counts as captured; the processor took {taken}");
            self.add(Disagreement::Operations, None, words);
        }
    }

    fn refunded(&mut self) {
        let refunded = self.order.amounts.refunded().minor();
        let given = self.sum(self.approved(OpKind::Refund));
        let fits = if self.journal.is_some() { refunded == given } else { refunded <= given };
        if !fits {
            let (refunded, given) = (self.minor(refunded), self.minor(given));
            self.add(
                Disagreement::Operations,
                None,
                format!("{refunded} counts as refunded; the processor gave back {given}"),
            );
        }
    }

    /// Money that the processor reserved or took is explained by a living Order, or was captured, or let go.
    fn released(&mut self) {
        let order = self.order;
        let voided = self.approved(OpKind::Void).next();
        let ended = matches!(order.state, OrderState::ProcessingFailed | OrderState::Cancelled | OrderState::Declined);
        if let Some(void) = voided.filter(|_| !ended) {
            let words = format!("the processor voided it, and it is {}", order.state.as_str());
            self.add(Disagreement::Operations, Some(void.operation.id), words);
        }
        let open = self.of(OpKind::Authorize).find(|placed| ended && placed.operation.state.is_open());
        let late = open.and_then(|placed| Some((placed, self.journal?.done(placed)?)));
        if let Some((placed, done)) = late.filter(|(_placed, done)| done.captured) {
            let (amount, state) = (money(&done.amount), order.state.as_str());
            let words = format!("{amount} came after its end, and it is {state}: give it back at the processor");
            self.add(Disagreement::UnexplainedMoney, Some(placed.operation.id), words);
        }
        let Some(placed) = self.approved(OpKind::Authorize).next() else { return };
        let Done { amount, captured } = self.done(placed);
        let (id, amount, state) = (placed.operation.id, money(&amount), order.state.as_str());
        let waits = order.state == OrderState::Processing;
        // A processor that declines a void for good says that nothing is left to be voided.
        let let_go = self.of(OpKind::Void).any(|void| void.operation.state != OpState::Abandoned);
        let worthless = order.state == OrderState::ProcessingFailed
            && self.of(OpKind::Capture).any(|capture| capture.operation.state == OpState::Declined);
        if ended && captured && !self.gives_all_back() {
            let words = format!("{amount} was paid, and it is {state}: give it back at the processor");
            self.add(Disagreement::UnexplainedMoney, Some(id), words);
        } else if waits || ended && !captured && !let_go && !worthless {
            let words = format!("the processor authorized {amount}, and it is {state} with nothing that releases it");
            self.add(Disagreement::UnexplainedMoney, Some(id), words);
        }
    }

    /// What is approved here stands in the journal.
    fn at_the_processor(&mut self) {
        let Some(journal) = self.journal else { return };
        for placed in &self.audited.operations {
            let operation = &placed.operation;
            if operation.state == OpState::Approved && journal.done(placed).is_none() {
                let (kind, amount) = (operation.kind.as_str(), money(&operation.amount));
                let words = format!(
                    "its {kind} of {amount} is approved here, and the processor's journal knows of no such thing"
                );
                self.add(Disagreement::NotAtProcessor, Some(operation.id), words);
            }
        }
    }

    fn stuck(&mut self, now: Timestamp) {
        for placed in &self.audited.operations {
            let operation = &placed.operation;
            let Some(stuck) = operation.stuck(now) else { continue };
            let (kind, state) = (operation.kind.as_str(), operation.state.as_str());
            let minutes = now.since(operation.created_at).as_secs() / 60;
            let there = match self.journal.map(|journal| journal.done(placed)) {
                Some(Some(done)) => format!(" The processor did {}.", money(&done.amount)),
                Some(None) => " The processor has not approved it.".to_owned(),
                None => String::new(),
            };
            let words = format!(
                "its {kind} has been {state} for {minutes} minutes.{there} Somebody has to look: {}",
                stuck.advice()
            );
            self.add(Disagreement::Stuck, Some(operation.id), words);
        }
    }
}
