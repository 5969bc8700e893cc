//! What entries say of before and after. Never a secret, a password's hash or a card number.

use dropin_access::{ApiUser, Endpoint, Merchant, Permission, RateSettings, WalletIdentity};
use dropin_catalogue::{Adjustment, MerchantMethods};
use dropin_contract::Contract;
use dropin_order::{Order, Refund, VoidCause};
use dropin_ports::{MerchantSettings, ProcessorAccount};
use dropin_session::Session;
use dropin_wire::audit_log::Document;

pub(crate) fn merchant_document(merchant: &Merchant) -> Document {
    Document::new()
        .text("Name", &merchant.name)
        .texts("Currencies", merchant.currencies.iter().map(|currency| currency.code()))
        .texts("Origins", merchant.origins.iter().map(|origin| origin.as_str()))
        .number("SessionLifetimeSeconds", merchant.session_lifetime.as_secs())
        .number("Attempts", merchant.attempts_allowed.into())
        .flag("SavedCardsOffered", merchant.saved_cards.offered)
        .text("SavedCardKind", merchant.saved_cards.kind)
        .flag("Screening", merchant.screening.on)
        .object("Methods", methods_document(&merchant.methods))
        .texts("Processors", merchant.processors.rules())
}

/// What is set, and nothing else.
pub(crate) fn settings_document(settings: &MerchantSettings) -> Document {
    // All fields are named, so that a new one is thought of here.
    let MerchantSettings {
        decided_on: _,
        name,
        currencies,
        origins,
        session_lifetime,
        attempts_allowed,
        saved_cards_offered,
        saved_card_kind,
        screening,
        methods,
        processors,
    } = settings;
    let mut document = Document::new();
    if let Some(name) = name {
        document = document.text("Name", name);
    }
    if let Some(currencies) = currencies {
        document = document.texts("Currencies", currencies.iter().map(|currency| currency.code()));
    }
    if let Some(origins) = origins {
        document = document.texts("Origins", origins.iter().map(|origin| origin.as_str()));
    }
    if let Some(lifetime) = session_lifetime {
        document = document.number("SessionLifetimeSeconds", lifetime.as_secs());
    }
    if let Some(attempts) = attempts_allowed {
        document = document.number("Attempts", (*attempts).into());
    }
    if let Some(offered) = saved_cards_offered {
        document = document.flag("SavedCardsOffered", *offered);
    }
    if let Some(kind) = saved_card_kind {
        document = document.text("SavedCardKind", kind);
    }
    if let Some(on) = screening {
        document = document.flag("Screening", *on);
    }
    if let Some(methods) = methods {
        document = document.object("Methods", methods_document(methods));
    }
    if let Some(processors) = processors {
        document = document.texts("Processors", processors.rules());
    }
    document
}

fn methods_document(methods: &MerchantMethods) -> Document {
    let MerchantMethods { adjustments, pay_later_clients, google_pay, address_check } = methods;
    let all = adjustments.iter().fold(Document::new(), |all, (id, one)| all.object(id, adjustment_document(one)));
    let all = pay_later_clients
        .iter()
        .fold(all, |all, (region, client)| all.text(&format!("PayLaterClient {}", region.as_str()), client));
    let all = google_pay.iter().fold(all, |all, account| all.text("GooglePay", account.to_string()));
    if *address_check { all.flag("AddressCheck", true) } else { all }
}

fn adjustment_document(adjustment: &Adjustment) -> Document {
    let mut document = Document::new();
    for (name, flag) in [
        ("Offered", adjustment.offered),
        ("Recurring", adjustment.recurring),
        ("CaptureLater", adjustment.capture_later),
        ("Sandbox", adjustment.sandbox),
    ] {
        document = flag.into_iter().fold(document, |document, flag| document.flag(name, flag));
    }
    if let Some(countries) = &adjustment.countries {
        document = document.texts("Countries", countries);
    }
    if let Some(currencies) = &adjustment.currencies {
        document = document.texts("Currencies", currencies.iter().map(|currency| currency.code()));
    }
    if let Some(amounts) = &adjustment.amounts {
        document = document.texts("Amounts", amounts);
    }
    if let Some(channels) = &adjustment.channels {
        document = document.texts("Channels", channels.iter().map(|channel| channel.as_str()));
    }
    document
}

pub(crate) fn user_document(user: &ApiUser) -> Document {
    let permissions = user.permissions.iter().map(Permission::as_str);
    let old = user.previous.as_ref().map(|old| old.until);
    Document::new()
        .texts("Permissions", permissions)
        .optional("OldPasswordUntil", old)
        .optional("RevokedAt", user.revoked_at)
}

pub(crate) fn endpoint_document(endpoint: &Endpoint) -> Document {
    Document::new()
        .text("Url", &endpoint.url)
        .optional("Events", endpoint.settings.events.as_ref())
        .optional("Retry", endpoint.settings.retry.as_ref())
        .optional("OldSecretUntil", endpoint.previous.as_ref().map(|old| old.until))
}

pub(crate) fn rates_document(rates: &RateSettings) -> Document {
    let markups = rates.pricing.markups.iter();
    let markups =
        markups.fold(Document::new(), |all, (currency, markup)| all.text(currency.code(), markup.basis_points()));
    Document::new()
        .text("Form", rates.form.as_str())
        .text("SettlementCurrency", rates.pricing.settlement.code())
        .object("MarkupBasisPoints", markups)
}

pub(crate) fn wallet_document(identity: &WalletIdentity) -> Document {
    Document::new()
        .text("MerchantIdentifier", identity.identifier.as_str())
        .text("Country", &identity.country)
        .text("CertificateEndsAt", identity.expires_at)
}

pub(crate) fn processor_account_document(account: &ProcessorAccount) -> Document {
    Document::new()
        .text("Account", &account.account)
        .text("SetAt", account.set_at)
        .text("Events", if account.has_events { "signed" } else { "none" })
}

pub(crate) fn session_document(session: &Session) -> Document {
    Document::new().text("State", session.state.kind().as_str())
}

pub(crate) fn order_document(order: &Order) -> Document {
    let amounts = &order.amounts;
    Document::new()
        .text("State", order.state.as_str())
        .flag("UnderReview", order.under_review)
        .text("Currency", order.total.currency().code())
        .text("Authorized", amounts.total_authorized())
        .text("Captured", amounts.captured())
        .text("CapturePending", amounts.capture_pending())
        .text("Refunded", amounts.refunded())
        .text("RefundPending", amounts.refund_pending())
        .optional("CapturePromised", order.capture_promised)
        .optional("Voiding", order.voiding.map(VoidCause::as_str))
}

pub(crate) fn refund_document(order: &Order, refund: &Refund) -> Document {
    order_document(order)
        .text("RefundId", refund.id)
        .text("RefundReference", &refund.reference)
        .text("Amount", refund.amount)
}

pub(crate) fn contract_document(contract: &Contract) -> Document {
    Document::new().text("State", contract.state.kind().as_str())
}
