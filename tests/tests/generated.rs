//! The tables of docs/errors.md, docs/state-machines.md, docs/payment-methods.md and docs/operator-roles.md, made from the code that decides.
//!
//! `cargo xtask docs` (this test with DROPIN_REGENERATE=1) writes them; without it, the test compares.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dropin_access::operator::{ActionReach, OperatorRole, PANEL_ACTIONS};
use dropin_catalogue::{Method, PayLaterRegion, PayOption, WindowFrom, methods};
use dropin_contract::ContractStateKind;
use dropin_kernel::ViolationCode;
use dropin_order::{DISPUTE_TRANSITIONS, DisputeState, FAILURE_RULES, OrderState, ShopperCode};
use dropin_session::SessionStateKind;
use dropin_tests::committed;
use dropin_wire::ErrorCode;
use serde_json::Value;

/// Every operation of every API document: name, and the codes that it may refuse with.
fn operations() -> BTreeMap<String, BTreeSet<String>> {
    let documents = [
        session_api::openapi::document(&[]),
        checkout_api::openapi::document(&[]),
        checkout_api::openapi::shopper::document(&[]),
        stash_api::openapi::document(&[]),
    ];
    let mut operations = BTreeMap::new();
    for document in documents {
        let document: Value = serde_json::from_str(&document).unwrap();
        for item in document["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                let responses = operation["responses"].as_object().unwrap().values();
                let codes = responses.flat_map(|response| {
                    let schema = &response["content"]["application/json"]["schema"];
                    let parts = schema["allOf"].as_array().into_iter().flatten();
                    parts.flat_map(|part| part["properties"]["Code"]["enum"].as_array().into_iter().flatten())
                });
                let codes = codes.map(|code| code.as_str().unwrap().to_owned()).collect();
                operations.insert(operation["operationId"].as_str().unwrap().to_owned(), codes);
            }
        }
    }
    operations
}

fn errors() -> String {
    let operations = operations();
    let mut page = String::from(
        "# Errors\n\n\
         Generated from the table of errors and from the API documents by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         Every 4xx and 5xx answer of every service carries the Error object: `Code` for programs, `Message` for people, `FieldErrors` when fields are\n\
         wrong, `Retryable` with CAPTURE_FAILED, and `OrderId` with PAYMENT_DECLINED and SHOPPER_AUTHENTICATION_REQUIRED. Programs decide by `Code` alone; messages may change.\n\n\
         | HTTP | Code | Meaning | Operations |\n|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let refusing: Vec<&str> = operations
            .iter()
            .filter(|(_, codes)| codes.contains(code.as_str()))
            .map(|(name, _)| name.as_str())
            .collect();
        let whose = match refusing.as_slice() {
            [] => "none: any other address or request".to_owned(),
            some if some.len() == operations.len() => "all".to_owned(),
            some => some.join(", "),
        };
        writeln!(page, "| {} | {} | {} | {whose} |", code.status(), code.as_str(), code.meaning()).unwrap();
    }
    page.push_str(
        "\n## Field errors\n\n\
         `FieldErrors` comes with INVALID_REQUEST and names each field by its path, such as `Items[2].Amount`, sorted by path and index. Wrong types and\n\
         missing members come first, all at once; when those are right, all wrong meanings come at once. No message repeats a rejected value.\n\n\
         | Code | Meaning |\n|---|---|\n",
    );
    for code in ViolationCode::ALL {
        writeln!(page, "| {} | {} |", code.as_str(), code.meaning()).unwrap();
    }
    page
}

fn operator_roles() -> String {
    let mut page = String::from(
        "# Operator roles\n\n\
         Generated from the table of the admin panel's actions by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         An operator has one role or several, for the whole deployment or for named merchants. `•` marks what a role allows. An action on a merchant needs that\n\
         merchant in the operator's scope; an action on the deployment needs the whole deployment. [ADMIN.md](ADMIN.md) explains the rest.\n\n\
         | Action | Lets an operator | On |",
    );
    for role in OperatorRole::ALL {
        write!(page, " {role} |").unwrap();
    }
    page.push_str("\n|---|---|---|");
    page.push_str(&"---|".repeat(OperatorRole::ALL.len()));
    page.push('\n');
    for rule in PANEL_ACTIONS {
        let reach = match rule.reach {
            ActionReach::Merchant => "merchant",
            ActionReach::Deployment => "deployment",
        };
        write!(page, "| {} | {} | {reach} |", rule.action, rule.summary).unwrap();
        for role in OperatorRole::ALL {
            page.push_str(if rule.roles.contains(&role) { " • |" } else { " |" });
        }
        page.push('\n');
    }
    page
}

/// One move of a machine.
struct Move {
    from: Option<&'static str>,
    trigger: &'static str,
    to: &'static str,
    event: Option<&'static str>,
}

/// The moves of a domain crate's transition table.
macro_rules! moves {
    ($domain:ident) => {
        $domain::TRANSITIONS
            .iter()
            .map(|row| Move {
                from: row.from.map(|state| state.as_str()),
                trigger: row.trigger.as_str(),
                to: row.to.as_str(),
                event: row.event.map(|event| event.as_str()),
            })
            .collect::<Vec<_>>()
    };
}

fn machine(page: &mut String, title: &str, states: &[&'static str], moves: &[Move]) {
    write!(page, "\n## {title}\n\n| From | Trigger | To | Event |\n|---|---|---|---|\n").unwrap();
    for Move { from, trigger, to, event } in moves {
        writeln!(page, "| {} | {trigger} | {to} | {} |", from.unwrap_or("(none)"), event.unwrap_or_default()).unwrap();
    }
    let names =
        |of: &dyn Fn(&str) -> bool| states.iter().copied().filter(|state| of(state)).collect::<Vec<_>>().join(", ");
    let reached = |state: &str| moves.iter().any(|one| one.to == state);
    let ended = |state: &str| reached(state) && !moves.iter().any(|one| one.from == Some(state) && one.to != state);
    write!(page, "\nNothing leads out of {}.", names(&ended)).unwrap();
    let unreached = names(&|state| !reached(state));
    if !unreached.is_empty() {
        write!(page, " What leads to {unreached} is not offered yet.").unwrap();
    }
    page.push_str("\n\n```mermaid\nstateDiagram-v2\n");
    for Move { from, trigger, to, event } in moves {
        let event = event.map(|event| format!(" / {event}")).unwrap_or_default();
        writeln!(page, "    {} --> {to}: {trigger}{event}", from.unwrap_or("[*]")).unwrap();
    }
    for state in states.iter().filter(|state| ended(state)) {
        writeln!(page, "    {state} --> [*]").unwrap();
    }
    page.push_str("```\n");
}

fn failures(page: &mut String) {
    page.push_str(
        "\n### Why an attempt fails\n\n\
         After a mendable failure the Session is CREATED again (ATTEMPT_FAILED), unless it was the last attempt allowed (REFUSED) or the Session's own\n\
         time was over (ATTEMPT_FAILED_LATE). The merchant reads the code in `Attempts`; the shopper's browser hears another one, so that nobody can\n\
         use the drop-in to test cards.\n\n\
         | Code | The browser hears | Mendable |\n|---|---|---|\n",
    );
    for rule in FAILURE_RULES {
        let mendable = if rule.is_mendable { "yes" } else { "no" };
        writeln!(page, "| {} | {} | {mendable} |", rule.reason, rule.shopper_code).unwrap();
    }
}

fn state_machines() -> String {
    let mut page = String::from(
        "# State machines\n\n\
         Generated from the transition tables that guard every change by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         A trigger in a state without a row here is refused. The event is the notification that is written in the transaction of the move; that of an\n\
         Order is left out as long as the Order was never shown.\n",
    );
    machine(&mut page, "Session", &SessionStateKind::ALL.map(SessionStateKind::as_str), &moves!(dropin_session));
    failures(&mut page);
    machine(&mut page, "Order", &OrderState::ALL.map(OrderState::as_str), &moves!(dropin_order));
    let disputes = DISPUTE_TRANSITIONS.iter().map(|row| Move {
        from: row.from.map(DisputeState::as_str),
        trigger: row.trigger.as_str(),
        to: row.to.as_str(),
        // The Order's part of the move tells the merchant, by the same name.
        event: Some(row.order.as_str()),
    });
    let states = DisputeState::ALL.map(DisputeState::as_str);
    machine(&mut page, "Dispute", &states, &disputes.collect::<Vec<_>>());
    let states = ContractStateKind::ALL.map(ContractStateKind::as_str);
    machine(&mut page, "Contract", &states, &moves!(dropin_contract));
    page
}

fn payment_methods() -> String {
    let mut page = String::from(
        "# Payment methods\n\n\
         Generated from the table of methods by `cargo xtask docs`; a test compares. Change the code, not this file.\n\n\
         What is publicly known of each method, in the order of every list. Which of them are offered depends on what the processor can do (the sandbox's can do\n\
         those marked), on the deployment's catalogue file and on the merchant: see OPERATIONS.md. Countries are billing countries (ISO 3166-1); limits are of one\n\
         payment. Waits: how long the shopper is waited for. Capture later: whether the\n\
         money waits for the merchant's capture; where not, the method is not offered with AutoCapture false. Capture: how long an authorization may be captured; the first capture ends it, and where a part\n\
         is possible the rest is released.\n\n\
         | Id | Name | Class | Sandbox | Countries | Currencies | Limits | Again without the shopper | Capture later | Capture | In part | Refunds | Waits | Source |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for method in methods() {
        let [countries, currencies, limits] = method.reach();
        let class = if method.is_token() { "token method" } else { method.class().as_str() };
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        writeln!(
            page,
            "| {} | {} | {class} | {} | {countries} | {currencies} | {limits} | {} | {} | {} | {} | {} | {} | {} |",
            method.id(),
            method.name(),
            yes(method.is_in_sandbox()),
            yes(method.recurring()),
            yes(method.capture_later()),
            window(method),
            yes(method.partial_capture()),
            yes(method.refunds()),
            time(method.patience()),
            method.source(),
        )
        .unwrap();
    }
    page.push_str("\n## Pay later, by region\n\n| Region | Ways of paying |\n|---|---|\n");
    for region in PayLaterRegion::ALL {
        let ways = region.options().iter().map(PayOption::to_string);
        writeln!(page, "| {} | {} |", region.as_str(), ways.collect::<Vec<_>>().join(", ")).unwrap();
    }
    page
}

fn window(method: &Method) -> String {
    let from = match method.window_from() {
        WindowFrom::Authorization => "",
        WindowFrom::Creation => " from the Order's creation",
    };
    format!("{}{from}", time(method.capture_window()))
}

fn time(time: std::time::Duration) -> String {
    match time.as_secs() / 60 {
        minutes if minutes % 1_440 == 0 => format!("{} d", minutes / 1_440),
        minutes if minutes % 60 == 0 => format!("{} h", minutes / 60),
        minutes => format!("{minutes} min"),
    }
}

#[test]
fn the_table_of_payment_methods() {
    committed("payment-methods.md", &payment_methods(), "docs");
}

#[test]
fn the_table_of_errors() {
    committed("errors.md", &errors(), "docs");
}

#[test]
fn the_state_machines() {
    committed("state-machines.md", &state_machines(), "docs");
    committed("operator-roles.md", &operator_roles(), "docs");
}

#[test]
fn every_code_of_an_api_document_is_in_the_table_of_errors() {
    let operations = operations();
    assert!(5 < operations.len(), "{operations:?}");
    for (name, codes) in operations {
        assert!(!codes.is_empty(), "{name} refuses nothing");
        for code in codes {
            assert!(ErrorCode::ALL.iter().any(|one| one.as_str() == code), "{name}: {code}");
        }
    }
}

/// What docs/INTEGRATION.md lists by hand: every code of a field, and every code of a Session that is over, which stand above those that end none.
#[test]
fn the_guide_names_every_code_of_a_field_and_of_a_session_that_is_over() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/INTEGRATION.md")).unwrap();
    let (_, fields) = guide.split_once("FieldErrors codes: ").unwrap();
    let named: BTreeSet<&str> = fields.split_once(".\n").unwrap().0.split(", ").collect();
    assert_eq!(named, ViolationCode::ALL.iter().map(|code| code.as_str()).collect());
    let (_, table) = guide.split_once("| errorCode |").unwrap();
    let (over, _) = table.split_once("| `RATE_OFFER_EXPIRED` |").unwrap();
    let first_cells = over.lines().skip(2).filter_map(|row| row.split('|').nth(1));
    let named: BTreeSet<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let known = ShopperCode::ALL.map(ShopperCode::as_str);
    assert_eq!(named, known.into_iter().chain(["SESSION_CANCELLED", "SESSION_EXPIRED"]).collect());
}
