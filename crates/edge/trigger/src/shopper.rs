//! A shopper of one Session, doing over HTTP what the drop-in does.

use std::time::Duration;

use dropin_kernel::Timestamp;
use dropin_ports::IdSource;
use serde_json::{Value, json};

use crate::client::{RequestBody, ServiceClient};
use crate::run::TriggerError;
use crate::scenario::{Pays, TriggerCard};

/// DeviceFingerprint of the shopper that pays here.
pub(crate) const DEVICE: &str = "dropin trigger";
/// More tries than any Session allows.
const MAX_ATTEMPTS: usize = 30;
/// How often an attempt is asked about, each call waiting up to 10 s by itself.
const MAX_PROGRESS_POLLS: usize = 12;
/// Between two of them, should a call not wait.
const POLL: Duration = Duration::from_millis(200);

pub(crate) struct Shopper<'a> {
    pub(crate) service: &'a ServiceClient,
    pub(crate) ids: &'a dyn IdSource,
    pub(crate) now: Timestamp,
    /// Of the shopper's calls for this Session.
    pub(crate) address: String,
}

impl Shopper<'_> {
    /// One attempt, which has to get somewhere.
    pub(crate) async fn pay(&self, pays: Pays) -> Result<(), TriggerError> {
        outcome(&self.attempt(pays).await?, pays)
    }

    /// Attempts until the Session has failed.
    pub(crate) async fn fail(&self, pays: Pays) -> Result<(), TriggerError> {
        for _ in 0..MAX_ATTEMPTS {
            let progress = self.attempt(pays).await?;
            match progress["State"].as_str() {
                Some("FAILED") => return Ok(()),
                Some("CREATED") => {}
                _ => return Err(format!("the payment was to be declined: {progress}").into()),
            }
        }
        Err(format!("the Session still takes attempts after {MAX_ATTEMPTS} that were declined").into())
    }

    /// Submits once; how that came to rest.
    async fn attempt(&self, pays: Pays) -> Result<Value, TriggerError> {
        let view = self.ask("GET", "", None).await?;
        let attempt = self.ids.random().to_string();
        let mut submit = json!({ "Version": view["Version"], "AttemptId": attempt, "DeviceFingerprint": DEVICE });
        match pays {
            Pays::Method(method) => submit["PaymentMethod"] = method.into(),
            Pays::Card(card) => {
                let [url, merchant] = ["StashUrl", "MerchantId"].map(|name| view[name].as_str().unwrap_or_default());
                let url = format!("{url}/{merchant}/{attempt}");
                stash(self.service, &url, card, far_expiry(self.now)).await?;
                submit["StashId"] = attempt.into();
            }
        }
        let mut progress = self.ask("POST", "/submit", Some(&submit)).await?;
        for _ in 0..MAX_PROGRESS_POLLS {
            if progress["State"] != "PROCESSING" {
                return Ok(progress);
            }
            tokio::time::sleep(POLL).await;
            progress = self.ask("GET", "/progress?wait=10&from=PROCESSING", None).await?;
        }
        Err(TriggerError::other("the payment is still being processed: see that the processor answers"))
    }

    async fn ask(&self, method: &str, what: &str, body: Option<&Value>) -> Result<Value, TriggerError> {
        let url = format!("{}{what}", self.address);
        Ok(self.service.browse(method, &url, body.map(RequestBody::Json)).await?.json(&url)?)
    }
}

/// Whether a payment got where its scenario leads. No test card of ours leads to a page: there screening has the shopper authenticate.
fn outcome(progress: &Value, pays: Pays) -> Result<(), TriggerError> {
    match (progress["State"].as_str(), pays) {
        (Some("COMPLETED"), _) | (Some("REDIRECTED"), Pays::Method(_)) => Ok(()),
        (_, Pays::Method(_)) => Err(format!("the payment did not succeed: {progress}").into()),
        (_, Pays::Card(_)) => Err(format!(
            "the payment did not succeed: {progress}. If test cards were used often within this hour, screening stopped it: wait, or switch that off \
             with `dropin merchant set MERCHANT_ID --screening off`"
        )
        .into()),
    }
}

/// Year and month until which a card is good that ends nothing soon.
pub(crate) fn far_expiry(now: Timestamp) -> (i32, u8) {
    (now.to_offset_date_time().year() + 2, 12)
}

/// Puts a test card into the stash, at the address of a new entry.
pub(crate) async fn stash(
    service: &ServiceClient,
    url: &str,
    card: TriggerCard,
    (year, month): (i32, u8),
) -> Result<(), TriggerError> {
    let expiry = json!({ "Year": year.to_string(), "Month": format!("{month:02}") });
    let card = json!({ "Name": "Robin Example", "Number": card.number(), "VerificationCode": "123", "Expiry": expiry });
    let card = card.to_string();
    let form = [("DeviceFingerprint", DEVICE), ("card", card.as_str())];
    let stashed = service.browse("POST", url, Some(RequestBody::Form(&form))).await?.json(url)?;
    match stashed["Warnings"].as_array().is_some_and(Vec::is_empty) {
        true => Ok(()),
        false => Err(format!("the stash does not take the test card: {}", stashed["Warnings"]).into()),
    }
}

/// Presses a button of a hosted page of the sandbox, and follows the way back as far as the service.
pub(crate) async fn press(service: &ServiceClient, page: &str, choice: &str) -> Result<(), TriggerError> {
    let shown = service.browse("GET", page, None).await?;
    let text = String::from_utf8_lossy(&shown.body).into_owned();
    let form = text.split_once("name=\"form\" value=\"").and_then(|(_, rest)| rest.split('"').next());
    let form = form
        .ok_or_else(|| format!("{page} answered {} and shows no form: is it a page of the sandbox?", shown.status))?;
    let pressed = service.browse("POST", page, Some(RequestBody::Form(&[("form", form), ("choice", choice)]))).await?;
    let back = pressed.location.ok_or_else(|| format!("{page} answered {} and leads nowhere", pressed.status))?;
    service.browse("GET", &back, None).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_screening_stops_is_told_at_once() {
        let (card, method) = (Pays::Card(TriggerCard::Pay), Pays::Method("TRANSFER"));
        let at = |state: &str, pays| outcome(&json!({ "State": state }), pays).map_err(|why| why.to_string());
        assert_eq!((at("COMPLETED", card), at("REDIRECTED", method)), (Ok(()), Ok(())));
        for (state, pays, says_why) in [("REDIRECTED", card, true), ("CREATED", card, true), ("CREATED", method, false)]
        {
            let why = at(state, pays).unwrap_err();
            assert_eq!(why.contains("--screening off"), says_why, "{why}");
        }
    }
}
