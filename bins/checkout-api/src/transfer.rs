//! Our page that shows the shopper of a server-to-server checkout where to transfer the money to: HTML without a script.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use dropin_http::ApiError;
use dropin_kernel::OrderId;
use dropin_order::{BankDetails, OrderState};
use dropin_usecases::payments::{ShopperError, Transfer};

use crate::CheckoutDeps;
use crate::return_page::{Translations, escaped, page, translations_for};

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
            let text = escaped(translations.text("failed.SESSION_NOT_FOUND"));
            Ok(page(StatusCode::NOT_FOUND, &translations, &format!("<p>{text}</p>")))
        }
        Err(error @ ShopperError::Store(_)) => Err(error.into()),
    }
}

fn content(transfer: &Transfer, translations: &Translations) -> String {
    let Transfer { order, merchant } = transfer;
    let fill = |name: &str| escaped(&translations.text(name).replace("{merchant}", &merchant.name));
    let Some(details) = order.bank_details.as_deref().filter(|_| order.awaits_transfer()) else {
        // Arrived, or no longer waited for: the shopper is not asked to transfer anything.
        let (title, text) = match order.state {
            OrderState::Processed => ("doneTitle", "doneText"),
            // Another amount than was asked for has arrived, or it is being taken back.
            OrderState::Processing => ("checkingTitle", "checkingText"),
            _ => ("failedTitle", "failed.SESSION_NOT_FOUND"),
        };
        return format!("<h1>{}</h1>\n<p>{}</p>", fill(title), fill(text));
    };
    let amount = format!("{} {}", order.total, order.total.currency());
    let mut rows = String::new();
    for (name, value) in rows_of(details, &amount) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let name = escaped(translations.text(name));
            // Numbers and names of banks are written from left to right in every language.
            rows.push_str(&format!("<dt>{name}</dt><dd><bdi>{}</bdi></dd>\n", escaped(value)));
        }
    }
    format!("<h1>{}</h1>\n<p>{}</p>\n<dl>\n{rows}</dl>", fill("bankTitle"), fill("bankText"))
}

/// The names of the drop-in's words, and the values; in the order of the drop-in.
fn rows_of<'a>(details: &'a BankDetails, amount: &'a str) -> [(&'static str, Option<&'a str>); 10] {
    [
        ("bankAmount", Some(amount)),
        ("bankHolder", details.account_holder.as_deref()),
        ("bankIban", details.iban.as_deref()),
        ("bankAccount", details.account_number.as_deref()),
        ("bankSwift", details.swift_code.as_deref()),
        ("bankExtra", details.extra_bank_data.as_deref()),
        ("bankReference", details.payment_reference.as_deref()),
        ("bankName", details.bank_name.as_deref()),
        ("bankPlace", details.city.as_deref()),
        ("bankPlace", details.country.as_deref()),
    ]
}
