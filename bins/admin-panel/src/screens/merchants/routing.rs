//! Which of the deployment's processors a merchant's payments go to. Every operator of the merchant sees it; those of the whole deployment change it,
//! for each processor is paid into an account of its own.

use dropin_access::ProcessorRouting;
use dropin_kernel::ProcessorId;
use dropin_ports::MerchantSettings;

use super::merchants;
use super::settings::{Current, again, changed, current, is_seen, page_of, saved};
use crate::guard::Answer;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::texts::texts;

/// The fields of the form: a rule a line, as the command line takes it.
pub(crate) const FIELDS: &[&str] = &["csrf", "seen", "processor_rules", "note"];

/// The names of the deployment's processors, the main one first, and of the merchant's own accounts.
pub(super) fn names(request: &PanelRequest, current: &Current) -> String {
    known(request, current).map(|id| id.as_str()).collect::<Vec<_>>().join(", ")
}

fn known<'a>(request: &'a PanelRequest, current: &'a Current) -> impl Iterator<Item = &'a ProcessorId> {
    request.deps.processors.iter().chain(current.accounts.iter().map(|account| &account.processor))
}

/// Sets the rules; those of before are replaced.
pub(crate) async fn set(request: PanelRequest) -> Answer {
    let current = current(&request).await?;
    if !is_seen(&request, &current) {
        return changed(&request).await;
    }
    if request.merchants().is_some() {
        return Err(Refusal::NotAllowed(texts().processors_are_the_deployments.to_owned()));
    }
    let typed = request.fields.text("processor_rules").parse::<ProcessorRouting>();
    let routing = typed.map_err(|error| format!("{}.", texts().domain(&error.to_string()))).and_then(|routing| {
        let mut named = routing.rules().iter().flat_map(|rule| &rule.processors);
        let unknown = named.find(|id| known(&request, &current).all(|one| one != *id)).cloned();
        match unknown {
            Some(unknown) => Err(texts().no_such_processor(unknown, names(&request, &current))),
            None => Ok(routing),
        }
    });
    let routing = match routing {
        Ok(routing) => routing,
        Err(why) => return Ok(request.rejected(&page_of(&request, &current, vec![why]))),
    };
    let change = MerchantSettings {
        processors: Some(routing).filter(|routing| *routing != current.merchant.processors),
        decided_on: Some(current.merchant.clone()),
        ..MerchantSettings::default()
    };
    match merchants(&request).set(current.merchant.id, change).await {
        Ok(_) => saved(&current),
        Err(error) => again(&request, &current, error).await,
    }
}
