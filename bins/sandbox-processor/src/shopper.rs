//! Executes what the shopper's buttons and the provider's review ask for. Every function runs in one savepoint.

use std::time::Duration;

use diesel::prelude::*;
use dropin_kernel::{OpId, Timestamp};
use dropin_money::{Decimal, DecimalError};

use crate::card::Verdict;
use crate::enums::{Choice, Method, Outcome, Reason, Stage};
use crate::operation_store::{advance, conclude, find, find_page, settle_due, settle_until, was_reviewed};
use crate::request_body::positive_amount;
use crate::response::{Corrupt, stored_amount};
use crate::rows::Operation;
use crate::rules::CallContext;
use crate::store::in_savepoint;

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
    Refused(FormError),
}

/// Why a press did nothing.
#[derive(Debug)]
pub(crate) enum FormError {
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
    settle_until(store, now)?;
    find_page(store, token)
}

/// Whether this page still takes a payment: one of a pay-later provider stops a while before its end.
pub(crate) fn payable(operation: &Operation, context: CallContext) -> bool {
    let margin = if operation.method == Some(Method::PayLater) { context.waits.pay_margin } else { Duration::ZERO };
    operation.due_at.is_some_and(|due| context.now.plus(margin).micros() < due)
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
    context: CallContext,
) -> QueryResult<Option<(Operation, Pressed)>> {
    in_savepoint(store, |store| {
        settle_due(store, context.now)?;
        let Some(operation) = find_page(store, token)? else {
            return Ok(None);
        };
        if !matches!(operation.stage, Some(Stage::Page | Stage::Transfer)) {
            return Ok(Some((operation, Pressed::Done)));
        }
        let secret = operation.form_token.as_deref().unwrap_or_default();
        if press.form.split_once('.').is_none_or(|(presented, _)| presented != secret) {
            return Ok(Some((operation, Pressed::Refused(FormError::Form))));
        }
        if press.form != form_value(&operation) {
            // A second press of a button that has done its work.
            return Ok(Some((operation, Pressed::Done)));
        }
        let pressed = match requested_action(&operation, press, context) {
            Ok(action) => {
                apply(store, &operation, action, context)?;
                Pressed::Done
            }
            Err(form_error) => Pressed::Refused(form_error),
        };
        Ok(Some((operation, pressed)))
    })
}

/// Decides what the provider is reviewing.
pub(crate) fn review(
    store: &mut SqliteConnection,
    key: OpId,
    approve: bool,
    context: CallContext,
) -> QueryResult<Reviewed> {
    in_savepoint(store, |store| {
        settle_due(store, context.now)?;
        let Some(operation) = find(store, key)? else {
            return Ok(Reviewed::Unknown);
        };
        if operation.stage == Some(Stage::Review) {
            let action = if approve { PageAction::Approve } else { PageAction::Decline(Reason::ReviewDeclined) };
            return Ok(Reviewed::Decided(Box::new(apply(store, &operation, action, context)?), false));
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
enum PageAction {
    Approve,
    Decline(Reason),
    Review,
    /// Money has arrived; this is the sum of all that has, in minor units.
    Receive(i64),
}

fn requested_action(operation: &Operation, press: &Press, context: CallContext) -> Result<PageAction, FormError> {
    let (Some(method), Some(choice)) = (operation.method, press.choice) else {
        return Err(FormError::Choice);
    };
    let action = match (method, choice) {
        (Method::Card, Choice::Fail) => PageAction::Decline(Reason::AuthenticationFailed),
        (Method::Card | Method::Paypal | Method::Ideal | Method::PayLater | Method::Own(_), Choice::Cancel) => {
            PageAction::Decline(Reason::Cancelled)
        }
        (Method::Card, Choice::Succeed)
        | (Method::Paypal | Method::Ideal | Method::Own(_), Choice::Pay)
        | (Method::PayLater, Choice::Approve) => PageAction::Approve,
        (Method::PayLater, Choice::Review) => PageAction::Review,
        (Method::BankTransfer, Choice::Arrived) => {
            PageAction::Receive(sum_received(operation, press.amount.as_deref())?)
        }
        _ => return Err(FormError::Choice),
    };
    match action {
        PageAction::Approve | PageAction::Review if !payable(operation, context) => Err(FormError::TooLate),
        action => Ok(action),
    }
}

fn sum_received(operation: &Operation, arrived: Option<&str>) -> Result<i64, FormError> {
    let amount = operation.amount.unwrap_or(0);
    let Some(arrived) = arrived else {
        return Ok(amount);
    };
    let currency = operation.currency.as_deref().unwrap_or_default();
    let no_sense = |_: Corrupt| FormError::Amount("The books hold no such currency.".to_owned());
    let before = stored_amount(&operation.key, operation.received, currency).map_err(no_sense)?;
    let arrived = arrived.trim();
    let arrived = match Decimal::parse(arrived) {
        // Whoever plays the bank writes no JSON.
        Err(DecimalError::NotANumber) => Err("That is not a number.".to_owned()),
        _ => positive_amount(arrived, before.currency()),
    };
    let arrived = arrived.map_err(FormError::Amount)?;
    let sum = before.checked_add(&arrived).map_err(|error| FormError::Amount(format!("Amount: {error}.")))?;
    Ok(sum.minor())
}

fn apply(
    store: &mut SqliteConnection,
    operation: &Operation,
    action: PageAction,
    context: CallContext,
) -> QueryResult<Operation> {
    if context.refuse.is_some() {
        return conclude(store, operation, Some((Reason::GenericDecline, true)), context.now);
    }
    match action {
        PageAction::Approve if operation.method == Some(Method::Card) => match operation.authenticated() {
            Verdict::Decline(reason) => conclude(store, operation, Some((reason, false)), context.now),
            verdict => {
                // Of nothing there is nothing to look at.
                let under_review = verdict == Verdict::ApproveUnderReview && operation.amount != Some(0);
                conclude(store, &Operation { under_review, ..operation.clone() }, None, context.now)
            }
        },
        PageAction::Approve => conclude(store, operation, None, context.now),
        PageAction::Decline(reason) => conclude(store, operation, Some((reason, false)), context.now),
        PageAction::Review => {
            let outcome = if context.waits.review_approves { Outcome::Approved } else { Outcome::Declined };
            let after = Operation {
                stage: Some(Stage::Review),
                due_at: Some(context.now.plus(context.waits.review).micros()),
                due_outcome: Some(outcome),
                ..operation.clone()
            };
            advance(store, after, context.now)
        }
        PageAction::Receive(received) => {
            let after = Operation { received, ..operation.clone() };
            match operation.amount {
                Some(amount) if amount <= received => conclude(store, &after, None, context.now),
                _ => advance(store, after, context.now),
            }
        }
    }
}
