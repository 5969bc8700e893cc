//! What the shopper's buttons and the provider's review do to the books. Every function is one step.

use std::time::Duration;

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};

use crate::answer::{Corrupt, stored_amount};
use crate::books::{advance, bring_up_to, conclude, find, find_page, settle_due, was_reviewed};
use crate::rows::Operation;
use crate::rules::Terms;
use crate::store::step;
use crate::wire::positive_amount;
use crate::words::{Choice, Method, Outcome, Reason, Stage};

/// A form that was sent from a page.
#[derive(Debug)]
pub(crate) struct Press {
    /// What the form carried, see [`form_value`].
    pub(crate) form: String,
    pub(crate) choice: Option<Choice>,
    /// How much has arrived, as it was written; all that is missing when absent.
    pub(crate) amount: Option<String>,
}

/// What came of a press.
#[derive(Debug)]
pub(crate) enum Pressed {
    /// It was decided, now or before: the shopper goes on.
    Done,
    /// Nothing was done.
    Refused(Complaint),
}

/// Why a press did nothing.
#[derive(Debug)]
pub(crate) enum Complaint {
    /// The form is not one of this page.
    Form,
    /// The page has no such button.
    Choice,
    /// A pay-later page takes no payment in its last hour.
    TooLate,
    /// The amount makes no sense, for this reason.
    Amount(String),
}

/// What came of a review's decision.
#[derive(Debug)]
pub(crate) enum Reviewed {
    /// No such key.
    Unknown,
    /// Nothing is being reviewed under this key, and no such decision was made.
    NotInReview,
    /// Decided, now or (true) before.
    Decided(Box<Operation>, bool),
}

/// The operation of a page, as it stands at `now`.
pub(crate) fn visit(store: &mut SqliteConnection, token: &str, now: Timestamp) -> QueryResult<Option<Operation>> {
    bring_up_to(store, now)?;
    find_page(store, token)
}

/// Whether this page still takes a payment: one of a pay-later provider stops a while before its end.
pub(crate) fn payable(operation: &Operation, terms: Terms) -> bool {
    let margin = if operation.method == Some(Method::PayLater) { terms.waits.pay_margin } else { Duration::ZERO };
    operation.due_at.is_some_and(|due| terms.now.plus(margin).micros() < due)
}

/// What a form of this page carries: good for the state that the page showed, so that a second press does nothing.
pub(crate) fn form_value(operation: &Operation) -> String {
    format!("{}.{}", operation.form_token.as_deref().unwrap_or_default(), operation.received)
}

/// Does what a button says, once. None: there is no such page.
pub(crate) fn press(
    store: &mut SqliteConnection,
    token: &str,
    press: &Press,
    terms: Terms,
) -> QueryResult<Option<(Operation, Pressed)>> {
    step(store, |store| {
        settle_due(store, terms.now)?;
        let Some(operation) = find_page(store, token)? else {
            return Ok(None);
        };
        if !matches!(operation.stage, Some(Stage::Page | Stage::Transfer)) {
            return Ok(Some((operation, Pressed::Done)));
        }
        let secret = operation.form_token.as_deref().unwrap_or_default();
        if press.form.split_once('.').is_none_or(|(presented, _)| presented != secret) {
            return Ok(Some((operation, Pressed::Refused(Complaint::Form))));
        }
        if press.form != form_value(&operation) {
            // A second press of a button that has done its work.
            return Ok(Some((operation, Pressed::Done)));
        }
        let pressed = match wanted(&operation, press, terms) {
            Ok(step) => {
                take(store, &operation, step, terms)?;
                Pressed::Done
            }
            Err(complaint) => Pressed::Refused(complaint),
        };
        Ok(Some((operation, pressed)))
    })
}

/// Decides what the provider is reviewing.
pub(crate) fn review(store: &mut SqliteConnection, key: OpId, approve: bool, terms: Terms) -> QueryResult<Reviewed> {
    step(store, |store| {
        settle_due(store, terms.now)?;
        let Some(operation) = find(store, key)? else {
            return Ok(Reviewed::Unknown);
        };
        if operation.stage == Some(Stage::Review) {
            let step = if approve { Step::Approve } else { Step::Decline(Reason::ReviewDeclined) };
            return Ok(Reviewed::Decided(Box::new(take(store, &operation, step, terms)?), false));
        }
        let same = match operation.outcome {
            Outcome::Approved => approve,
            Outcome::Declined => !approve && operation.reason == Some(Reason::ReviewDeclined),
            Outcome::Pending | Outcome::Abandoned => false,
        };
        let same = same && was_reviewed(store, &operation)?;
        Ok(if same { Reviewed::Decided(Box::new(operation), true) } else { Reviewed::NotInReview })
    })
}

/// What a button asks for.
enum Step {
    Approve,
    Decline(Reason),
    Review,
    /// Money has arrived; this is the sum of all that has, in minor units.
    Receive(i64),
}

fn wanted(operation: &Operation, press: &Press, terms: Terms) -> Result<Step, Complaint> {
    let (Some(method), Some(choice)) = (operation.method, press.choice) else {
        return Err(Complaint::Choice);
    };
    let step = match (method, choice) {
        (Method::Card, Choice::Fail) => Step::Decline(Reason::AuthenticationFailed),
        (Method::Card | Method::Paypal | Method::Ideal | Method::PayLater, Choice::Cancel) => {
            Step::Decline(Reason::Cancelled)
        }
        (Method::Card, Choice::Succeed)
        | (Method::Paypal | Method::Ideal, Choice::Pay)
        | (Method::PayLater, Choice::Approve) => Step::Approve,
        (Method::PayLater, Choice::Review) => Step::Review,
        (Method::BankTransfer, Choice::Arrived) => Step::Receive(sum_received(operation, press.amount.as_deref())?),
        _ => return Err(Complaint::Choice),
    };
    match step {
        Step::Approve | Step::Review if !payable(operation, terms) => Err(Complaint::TooLate),
        step => Ok(step),
    }
}

fn sum_received(operation: &Operation, arrived: Option<&str>) -> Result<i64, Complaint> {
    let amount = operation.amount.unwrap_or(0);
    let Some(arrived) = arrived else {
        return Ok(amount);
    };
    let currency = operation.currency.as_deref().unwrap_or_default();
    let no_sense = |_: Corrupt| Complaint::Amount("The books hold no such currency.".to_owned());
    let before = stored_amount(&operation.key, operation.received, currency).map_err(no_sense)?;
    let arrived = positive_amount(arrived.trim(), before.currency()).map_err(Complaint::Amount)?;
    let sum = before.checked_add(&arrived).map_err(|error| Complaint::Amount(format!("Amount: {error}.")))?;
    Ok(sum.minor())
}

fn take(store: &mut SqliteConnection, operation: &Operation, step: Step, terms: Terms) -> QueryResult<Operation> {
    if terms.refuse {
        return conclude(store, operation, Some((Reason::GenericDecline, true)), terms.now);
    }
    match step {
        Step::Approve => conclude(store, operation, None, terms.now),
        Step::Decline(reason) => conclude(store, operation, Some((reason, false)), terms.now),
        Step::Review => {
            let outcome = if terms.waits.review_approves { Outcome::Approved } else { Outcome::Declined };
            let after = Operation {
                stage: Some(Stage::Review),
                due_at: Some(terms.now.plus(terms.waits.review).micros()),
                due_outcome: Some(outcome),
                ..operation.clone()
            };
            advance(store, after, terms.now)
        }
        Step::Receive(received) => {
            let after = Operation { received, ..operation.clone() };
            match operation.amount {
                Some(amount) if amount <= received => conclude(store, &after, None, terms.now),
                _ => advance(store, after, terms.now),
            }
        }
    }
}
