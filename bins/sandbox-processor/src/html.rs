//! The pages' text: plain HTML without scripts, readable by everybody and everything.

use std::fmt::Write;

use dropin_kernel::Timestamp;

use crate::bank::BankDetails;
use crate::enums::{Choice, Method, Outcome, Reason, Stage};
use crate::response::stored_amount;
use crate::rows::Operation;
use crate::shopper::{FormError, form_value};

/// A page that is still open: what the shopper pays, and the buttons.
pub(crate) fn open_page(operation: &Operation, payable: bool, form_error: Option<&FormError>) -> String {
    let (title, lead) = titles(operation);
    let mut main = format!("<h1>{title}</h1>\n");
    if let Some(form_error) = form_error {
        main += &format!("<p class=\"problem\" role=\"alert\">{}</p>\n", escape(&said(form_error)));
    }
    main += &format!("<p>{lead}</p>\n{}", summary(operation));
    match operation.method {
        Some(Method::BankTransfer) => main += &transfer_forms(operation),
        _ => {
            if !payable {
                main += "<p class=\"problem\">This page takes no payment any more: its last hour has begun.</p>\n";
            }
            main += &form(operation, &buttons(operation, payable));
        }
    }
    document(title, &main)
}

/// A page that was decided: what became of it, and the way on.
pub(crate) fn closed_page(operation: &Operation) -> String {
    let (title, text) = ending(operation);
    let mut main = format!("<h1>{title}</h1>\n<p>{text}</p>\n{}", summary(operation));
    if let Some(url) = &operation.return_url {
        main += &format!("<p><a class=\"onward\" href=\"{}\">Go on to the shop</a></p>\n", escape(url));
    }
    document(title, &main)
}

/// A page that has no payment.
pub(crate) fn plain_page(title: &str, text: &str) -> String {
    document(title, &format!("<h1>{}</h1>\n<p>{}</p>\n", escape(title), escape(text)))
}

fn document(title: &str, main: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{} - Sandbox</title>\n\
         <link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n\
         <header><p class=\"sandbox\">Sandbox: no money moves here.</p></header>\n<main>\n{main}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

fn titles(operation: &Operation) -> (&'static str, &'static str) {
    match operation.method {
        Some(Method::Paypal) => ("Pay with the sandbox's wallet", "You are where a wallet would ask you to pay."),
        Some(Method::Ideal) => ("Pay at the sandbox's bank", "You are where your bank would ask you to pay."),
        Some(Method::Own(_)) => (
            "Pay with a method of the shop's own",
            "You are where the provider of this method would ask you to pay. The sandbox does not know the method, so it asks plainly.",
        ),
        Some(Method::PayLater) => {
            ("Pay later with the sandbox's lender", "You are where a lender would ask how you want to pay.")
        }
        Some(Method::BankTransfer) => ("Play the bank", "Mark the shopper's transfer as arrived, all of it or a part."),
        Some(Method::Card) | None => {
            ("Confirm that it is you", "You are where the bank of your card would ask you to confirm the payment.")
        }
    }
}

fn buttons(operation: &Operation, payable: bool) -> Vec<(Choice, &'static str)> {
    let cancel = (Choice::Cancel, "Cancel and go back");
    match operation.method {
        Some(Method::PayLater) if !payable => vec![cancel],
        Some(Method::PayLater) => {
            vec![(Choice::Approve, "Approve"), (Choice::Review, "Let the lender review it"), cancel]
        }
        Some(Method::Paypal | Method::Ideal | Method::Own(_)) => vec![(Choice::Pay, "Pay"), cancel],
        _ => vec![(Choice::Succeed, "Succeed"), (Choice::Fail, "Fail"), cancel],
    }
}

fn form(operation: &Operation, buttons: &[(Choice, &str)]) -> String {
    let mut form = form_start(operation);
    for (choice, label) in buttons {
        // Writing to a String cannot fail.
        let _infallible = writeln!(form, "<button name=\"choice\" value=\"{}\">{label}</button>", choice.word());
    }
    form + "</form>\n"
}

fn form_start(operation: &Operation) -> String {
    format!("<form method=\"post\">\n<input type=\"hidden\" name=\"form\" value=\"{}\">\n", form_value(operation))
}

fn transfer_forms(operation: &Operation) -> String {
    let all = form(operation, &[(Choice::Arrived, "All of it has arrived")]);
    let part = format!(
        "{}<label>Amount that has arrived, in {}<input name=\"amount\" inputmode=\"decimal\" autocomplete=\"off\" required></label>\n\
         <button name=\"choice\" value=\"{}\">This amount has arrived</button>\n</form>\n",
        form_start(operation),
        escape(operation.currency.as_deref().unwrap_or_default()),
        Choice::Arrived.word()
    );
    format!("{all}<h2>Or a part of it</h2>\n{part}")
}

/// What is paid, and until when, as a list of terms.
fn summary(operation: &Operation) -> String {
    let money = |minor: i64| {
        let currency = operation.currency.as_deref()?;
        let amount = stored_amount(&operation.key, minor, currency).ok()?;
        Some(format!("{amount} {currency}"))
    };
    let mut terms = vec![
        ("Amount", operation.amount.and_then(money)),
        ("Method", operation.method.filter(|method| matches!(method, Method::Own(_))).map(|own| own.word().to_owned())),
        ("Order", operation.order_id.clone()),
        ("Card", operation.last4.as_ref().map(|last4| format!("ends with {last4}"))),
        ("Scheme", operation.scheme.map(|scheme| scheme.name().to_owned())),
        ("Arrived", Some(operation.received).filter(|received| *received != 0).and_then(money)),
    ];
    if operation.stage.is_some_and(|stage| stage != Stage::Review) {
        terms.push(("Open until", operation.due_at.map(clock)));
    }
    if let Some(bank) = BankDetails::of(operation) {
        terms.extend([
            ("To", Some(bank.account_holder.to_owned())),
            ("IBAN", Some(bank.iban)),
            ("BIC", Some(bank.swift_code.to_owned())),
            ("Reference", Some(bank.payment_reference)),
        ]);
    }
    let mut list = "<dl>\n".to_owned();
    for (term, text) in terms.into_iter().filter_map(|(term, text)| Some((term, text?))) {
        let _infallible = writeln!(list, "<dt>{term}</dt><dd><bdi>{}</bdi></dd>", escape(&text));
    }
    list + "</dl>\n"
}

/// A time for people, to the minute.
fn clock(micros: i64) -> String {
    let at = Timestamp::from_micros(micros).to_string();
    format!("{} UTC", at.get(..16).unwrap_or(&at).replace('T', " "))
}

fn ending(operation: &Operation) -> (&'static str, &'static str) {
    match (operation.outcome, operation.reason) {
        (Outcome::Approved, _) if operation.pays_at_once() => {
            ("Paid", "The money is there. Nothing more is to be done here.")
        }
        (Outcome::Approved, _) => ("Approved", "The payment was approved. Nothing more is to be done here."),
        (Outcome::Pending, _) => {
            ("In review", "The lender looks at this payment. The shop will hear what comes of it.")
        }
        (_, Some(Reason::Voided)) => ("Stopped", "The shop has stopped this payment. You were not charged."),
        (_, Some(Reason::PageClosed)) => (
            "Cancelled",
            "You chose to pay another way. This page cannot be paid any more, and you were not charged here.",
        ),
        (_, Some(Reason::Expired)) => ("Too late", "The time for this payment is over. You were not charged."),
        (_, Some(Reason::Cancelled)) => ("Cancelled", "You cancelled this payment. You were not charged."),
        (_, Some(Reason::AuthenticationFailed)) => {
            ("Not confirmed", "The bank could not confirm that it is you. You were not charged.")
        }
        _ => ("Declined", "The payment was declined. You were not charged."),
    }
}

fn said(form_error: &FormError) -> String {
    match form_error {
        FormError::Form => "Nothing was done: this form was not from this page. Choose again below.".to_owned(),
        FormError::Choice => "Nothing was done: choose one of the buttons below.".to_owned(),
        FormError::TooLate => "Nothing was done: this page takes no payment any more.".to_owned(),
        FormError::Amount(why) => format!("Nothing was done. {why} Enter an amount such as 10.00."),
    }
}

/// Text as it may stand in an element or in a quoted attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        assert_eq!(clock(0), "1970-01-01 00:00 UTC");
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape(r#"<a href="x" title='&'>"#), "&lt;a href=&quot;x&quot; title=&#39;&amp;&#39;&gt;");
        assert!(!plain_page("<b>", "<script>").contains("<script>"));
    }
}
