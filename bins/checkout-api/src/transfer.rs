//! Our page that shows the shopper of a server-to-server checkout where to transfer the money to: HTML without a script.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_http::ApiError;
use dropin_kernel::OrderId;
use dropin_order::{BankDetails, OrderState};
use dropin_usecases::payments::{ShopperError, Transfer};

use crate::CheckoutDeps;
use crate::return_page::{Translations, WAITING, escaped, page, translations_for};

pub(crate) fn resource() -> Resource {
    web::resource("/v1/transfer/{OrderId}").route(web::get().to(show))
}

/// Every address that names no transfer is answered alike, whatever is wrong with it.
async fn show(deps: web::Data<CheckoutDeps>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let translations = translations_for(&request);
    let id: Option<OrderId> = request.match_info().get("OrderId").and_then(|text| text.parse().ok());
    let found = match id {
        Some(id) => deps.shopper.transfer(id).await,
        None => Err(ShopperError::NotFound),
    };
    match found {
        Ok(transfer) => Ok(page(StatusCode::OK, &translations, &content(&transfer, &translations))),
        Err(ShopperError::NotFound) => {
            let text = translations.text("failed.SESSION_NOT_FOUND", "There is no payment under this address.");
            Ok(page(StatusCode::NOT_FOUND, &translations, &format!("<p>{}</p>", escaped(&text))))
        }
        Err(error @ ShopperError::Store(_)) => Err(error.into()),
    }
}

fn content(transfer: &Transfer, translations: &Translations) -> String {
    let Transfer { order, merchant } = transfer;
    let fill = |text: String| escaped(&text.replace("{merchant}", &merchant.name));
    let Some(details) = order.bank_details.as_deref().filter(|_| order.awaits_transfer()) else {
        // Arrived, or no longer waited for: the shopper is not asked to transfer anything.
        let (title, text) = match order.state {
            OrderState::Processed => (
                translations.text("doneTitle", "Payment submitted"),
                translations.text("doneText", "Thank you. {merchant} will confirm your order."),
            ),
            // Another amount than was asked for has arrived, or it is being taken back.
            OrderState::Processing => {
                (translations.text("checkingTitle", WAITING[0]), translations.text("checkingText", WAITING[1]))
            }
            _ => {
                let over = "This payment is no longer available. Go back to the shop to start again.";
                (
                    translations.text("failedTitle", "The payment did not go through"),
                    translations.text("failed.SESSION_NOT_FOUND", over),
                )
            }
        };
        return format!("<h1>{}</h1>\n<p>{}</p>", fill(title), fill(text));
    };
    let text =
        "Please give the reference with your transfer. {merchant} confirms your order once the money has arrived.";
    let amount = format!("{} {}", order.total, order.total.currency());
    let mut rows = String::new();
    for (name, english, value) in rows_of(details, &amount) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let name = escaped(&translations.text(name, english));
            // Numbers and names of banks are written from left to right in every language.
            rows.push_str(&format!("<dt>{name}</dt><dd><bdi>{}</bdi></dd>\n", escaped(value)));
        }
    }
    let title = fill(translations.text("bankTitle", "Transfer the amount to finish"));
    format!("<h1>{title}</h1>\n<p>{}</p>\n<dl>\n{rows}</dl>", fill(translations.text("bankText", text)))
}

/// The names in the drop-in's words, in English, and the values; in the order of the drop-in.
fn rows_of<'a>(details: &'a BankDetails, amount: &'a str) -> [(&'static str, &'static str, Option<&'a str>); 10] {
    [
        ("bankAmount", "Amount", Some(amount)),
        ("bankHolder", "Recipient", details.account_holder.as_deref()),
        ("bankIban", "IBAN", details.iban.as_deref()),
        ("bankAccount", "Account number", details.account_number.as_deref()),
        ("bankSwift", "SWIFT code (BIC)", details.swift_code.as_deref()),
        ("bankExtra", "Further bank code", details.extra_bank_data.as_deref()),
        ("bankReference", "Payment reference", details.payment_reference.as_deref()),
        ("bankName", "Name of the bank", details.bank_name.as_deref()),
        ("bankPlace", "Place of the bank", details.city.as_deref()),
        ("bankPlace", "Place of the bank", details.country.as_deref()),
    ]
}
