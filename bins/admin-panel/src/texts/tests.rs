//! Every language has every text, and nothing that a person reads stands anywhere else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dropin_access::{AuditAction, AuditSubjectKind};
use dropin_contract::{ContractKind, ContractStateKind};
use dropin_order::{FailureReason, OpKind, OpState, OrderState, RefundState, Stuck};
use dropin_ports::DeliveryState;
use dropin_risk::{Decision, Factor, ListKind, VelocityKey, VelocityMeasure, VelocityWindow};
use dropin_session::SessionStateKind;
use dropin_trigger::SCENARIOS;

use super::*;

/// What is the same in every language: codes, names of the API, and what is typed as it stands.
const KEPT: &[&str] = &[
    "Dropin",
    "· Dropin",
    "OrderId",
    "DisputeId",
    "SessionId",
    "MerchantId",
    "EndpointId",
    "Google Pay",
    "CompleteUrl",
    "CancelUrl",
    ". RefundReference:",
    "webhook-id",
    "ORDER_*,REFUND_SUCCEEDED",
    "5s,30s,2m,10m,1h;72h",
    "500.00 EUR",
    "BRL 250",
    "https://shop.example",
    "shop.example",
];

/// Words that German took over.
const SHARED: &[&str] = &["authenticator", "sandbox", "test", "shop", "origins", "domain", "name", "code"];

fn files(folder: &str, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                found.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// The pieces of a text outside everything between `open` and `close`.
fn outside(text: &str, open: &str, close: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for (place, part) in text.split(open).enumerate() {
        let rest = if place == 0 { part } else { part.split_once(close).map_or("", |(_, rest)| rest) };
        pieces.push(rest.to_owned());
    }
    pieces
}

/// What stands between `open` and `close`.
fn inside<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|part| part.split_once(close)).map(|(part, _)| part).collect()
}

/// What stands in quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

#[test]
fn no_template_has_words_of_its_own() {
    let has_letters = |text: &str| text.chars().any(char::is_alphabetic);
    let mut alien = Vec::new();
    for (path, template) in files("templates", ".html") {
        let mut found = Vec::new();
        for call in inside(&template, "{% call ", "%}") {
            found.extend(quoted(call).map(str::to_owned));
        }
        found.retain(|argument| argument.contains(|letter: char| letter.is_uppercase() || letter == ' '));
        let plain = outside(&template, "{%", "%}").join("{{}}");
        let plain = outside(&plain, "{{", "}}").join("\u{0}");
        for attribute in ["aria-label", "placeholder", "title", "alt"] {
            found.extend(inside(&plain, &format!("{attribute}=\""), "\"").into_iter().map(str::to_owned));
        }
        for text in outside(&plain, "<", ">") {
            found.extend(text.split(['\u{0}', '\n']).map(str::to_owned));
        }
        let unknown = found.iter().map(|text| text.trim()).filter(|text| has_letters(text) && !KEPT.contains(text));
        alien.extend(unknown.map(|text| format!("{}: {text}", path.display())));
    }
    assert!(alien.is_empty(), "words belong into src/texts (CONTRIBUTING.md):\n{}", alien.join("\n"));
}

/// A literal of code that reads like something for people: several words, or one with a capital, in a place that is not for the log.
#[test]
fn no_code_has_words_of_its_own() {
    /// Beginnings of literals that no operator reads, or that are the same in every language.
    const CODE: &[&str] =
        &["Path=/; Secure", "OfMerchants", "PaymentMethod", "MerchantReference", "ByEmail", "UnderReview"];
    let mut alien = Vec::new();
    for (path, code) in files("src", ".rs") {
        if path.to_str().unwrap().contains("/texts/") {
            continue;
        }
        let code = code.split("#[cfg(test)]").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in lines.filter(|line| !["log::", "Refusal::Internal(", "#["].iter().any(|one| line.contains(one))) {
            for literal in quoted(line) {
                let mut letters = literal.chars();
                let is_word =
                    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase);
                if is_word && literal.contains(' ') && !CODE.iter().any(|one| literal.starts_with(one)) {
                    alien.push(format!("{}: {literal}", path.display()));
                }
            }
        }
    }
    assert!(alien.is_empty(), "words belong into src/texts (CONTRIBUTING.md):\n{}", alien.join("\n"));
}

#[test]
fn each_text_has_the_same_parts_and_marks_in_every_language() {
    let parts = |text: &str| inside(text, "{", "}").into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let marks = |text: &str| ["`", "[", "]"].map(|mark| text.matches(mark).count());
    for (english, german) in en::TEXTS.forms().into_iter().zip(de::TEXTS.forms()) {
        assert_eq!(english.0, german.0);
        assert_eq!(parts(&english.1), parts(&german.1), "{}", english.0);
    }
    for ((key, english), (_, german)) in en::TEXTS.words().into_iter().zip(de::TEXTS.words()) {
        assert_eq!(marks(english), marks(german), "{key}");
        assert!(
            !english.is_empty() && !german.is_empty() && english.trim() == english && german.trim() == german,
            "{key}"
        );
        assert_eq!(english == german, SHARED.contains(&key), "{key}: {german}");
        for familiar in ["du", "dein", "deine", "dich", "dir"] {
            let spoken: Vec<_> = german.split(|letter: char| !letter.is_alphabetic()).collect();
            assert!(!spoken.contains(&familiar), "{key} is not formal: {german}");
        }
    }
    assert_eq!(de::TEXTS.disagreements_found(1), "1 Abweichung");
    assert_eq!(de::TEXTS.disagreements_found(2), "2 Abweichungen");
}

#[test]
fn every_code_has_a_meaning_in_every_language() {
    let keys = |texts: &Texts| texts.codes.iter().map(|(code, _)| *code).collect::<Vec<_>>();
    assert_eq!(keys(&en::TEXTS), keys(&de::TEXTS));
    let known: BTreeSet<_> = keys(&de::TEXTS).into_iter().collect();
    assert_eq!(known.len(), de::TEXTS.codes.len(), "one stands twice");
    let all = OrderState::ALL.map(OrderState::as_str).into_iter();
    let all = all.chain(RefundState::ALL.map(RefundState::as_str)).chain(OpState::ALL.map(OpState::as_str));
    let all = all.chain(OpKind::ALL.map(OpKind::as_str)).chain(SessionStateKind::ALL.map(SessionStateKind::as_str));
    let all = all
        .chain(ContractStateKind::ALL.map(ContractStateKind::as_str))
        .chain(ContractKind::ALL.map(ContractKind::as_str));
    let all =
        all.chain(DeliveryState::ALL.map(DeliveryState::as_str)).chain(FailureReason::ALL.map(FailureReason::as_str));
    let all =
        all.chain(AuditAction::ALL.map(AuditAction::as_str)).chain(AuditSubjectKind::ALL.map(AuditSubjectKind::as_str));
    let all = all.chain(Decision::ALL.map(Decision::as_str)).chain(Factor::ALL.map(Factor::as_str));
    let parts = VelocityKey::ALL.map(VelocityKey::as_str).into_iter();
    let parts = parts.chain(VelocityMeasure::ALL.map(VelocityMeasure::as_str));
    let parts = parts.chain(VelocityWindow::ALL.map(VelocityWindow::as_str)).chain(ListKind::ALL.map(ListKind::as_str));
    let parts = parts.chain(SCENARIOS.iter().map(|one| one.event));
    let all = all.map(str::to_owned).chain(parts.map(|code| format!("~{code}")));
    let missing: Vec<_> = all.filter(|code| !known.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "without a meaning: {missing:?}");
    for scenario in SCENARIOS {
        assert_eq!(en::TEXTS.part(scenario.event), scenario.does, "as `dropin trigger --list` says it");
    }
    assert_eq!(en::TEXTS.code("NEW_CODE"), "New code", "one that is not known is spelled out");
}

/// The files of the domain whose refusals a person of the panel reads.
const REFUSING: &[&str] = &[
    "application/usecases/src/operators/accept.rs",
    "application/usecases/src/operators/credentials.rs",
    "application/usecases/src/operators/manage.rs",
    "application/usecases/src/operators/money.rs",
    "application/usecases/src/operators/passwords.rs",
    "application/usecases/src/operators/refunds.rs",
    "application/usecases/src/operators/sign_in.rs",
    "application/usecases/src/payments/cancel.rs",
    "application/usecases/src/payments/capture.rs",
    "application/usecases/src/payments/refund.rs",
    "application/usecases/src/payments/review.rs",
    "application/usecases/src/notifications/discard.rs",
    "application/usecases/src/notifications/replay.rs",
    "application/usecases/src/access/mod.rs",
    "application/usecases/src/contracts.rs",
    "application/usecases/src/wallet/setup.rs",
    "domain/access/src/wallet/mod.rs",
    "application/usecases/src/disputes/mod.rs",
    "domain/access/src/merchant.rs",
    "domain/access/src/operator/money.rs",
    "domain/access/src/operator/password.rs",
    "domain/order/src/plan.rs",
    "domain/notification/src/filter.rs",
    "domain/notification/src/schedule.rs",
];

/// A format string with its parts emptied: `at most {0} {currency}` is `at most {} {}`.
fn emptied(form: &str) -> String {
    let joined = form.split('\\').map(str::trim_start).collect::<Vec<_>>().join("");
    outside(&joined, "{", "}").join("{}")
}

#[test]
fn what_the_domain_refuses_is_said_in_german() {
    let crates = "../../crates";
    let mut missing = Vec::new();
    for file in REFUSING {
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(crates).join(file)).unwrap();
        for attribute in inside(&source, "#[error(", "\n    ").iter().chain(&inside(&source, "#[error(\n", ")]")) {
            let Some(form) = quoted(attribute).next().map(emptied) else { continue };
            if form.chars().any(char::is_alphabetic) && !de::TEXTS.refusals.iter().any(|(said, _)| *said == form) {
                missing.push(format!("{file}: {form}"));
            }
        }
    }
    for advice in Stuck::ALL.map(Stuck::advice) {
        assert!(de::TEXTS.known_domain(advice).is_some(), "{advice}");
    }
    assert!(missing.is_empty(), "not in src/texts/de.rs:\n{}", missing.join("\n"));
}

#[test]
fn german_knows_nothing_that_the_domain_does_not_say() {
    let sources: String = files("../../crates", ".rs").into_iter().map(|(_, source)| source).collect();
    // A literal that goes on in the next line reads as if it stood in one.
    let lines: Vec<_> = sources.lines().map(str::trim).collect();
    let sources = lines.join(" ").replace("\\ ", "");
    for (said, means) in de::TEXTS.refusals {
        assert_eq!(said.matches("{}").count(), means.matches("{}").count(), "{said}");
        assert!(said.split("{}").all(|piece| sources.contains(piece)), "nobody says: {said}");
    }
}

#[test]
fn what_the_domain_says_is_found_with_its_parts() {
    let german = |said: &str| de::TEXTS.domain(said);
    assert_eq!(german("there is no such contract"), "diesen Vertrag gibt es nicht");
    assert_eq!(
        german("too many wrong ones: try again in 7 seconds"),
        "zu viele falsche: versuchen Sie es in 7 Sekunden erneut"
    );
    assert_eq!(german("at most 29.90 USD is left to be refunded"), "höchstens 29.90 USD sind noch erstattbar");
    assert_eq!(
        german(
            "the processor's journal (entry 7) says that CAPTURE of an unknown amount was approved; here it is a REFUND"
        ),
        "das Journal des Abwicklers (Eintrag 7) sagt, dass CAPTURE über einen unbekannten Betrag genehmigt wurde; hier ist es REFUND",
        "a part may be a sentence of its own"
    );
    assert_eq!(german("something new"), "something new");
    assert_eq!(en::TEXTS.domain("there is no such contract"), "there is no such contract");
}

#[test]
fn a_browsers_preference_is_weighed() {
    for (asked, language) in [
        ("de", Some(Language::German)),
        ("de-AT,de;q=0.9,en;q=0.8", Some(Language::German)),
        ("en-GB,en;q=0.9,de;q=0.8", Some(Language::English)),
        ("fr,de;q=0.5,en;q=0.4", Some(Language::German)),
        ("en;q=0.3, de;q=0.7", Some(Language::German)),
        ("de;q=0,en", Some(Language::English)),
        ("fr,*;q=0.5", None),
        ("de;q=much", None),
        ("", None),
    ] {
        assert_eq!(Language::preferred(asked), language, "{asked}");
    }
}
