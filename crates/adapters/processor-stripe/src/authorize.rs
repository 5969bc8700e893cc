//! Confirming an intent: the one step by which money is reserved.

use dropin_card::{Card, Scheme};
use dropin_contract::Initiator;
use dropin_kernel::OpId;
use dropin_order::DeclineReason;
use dropin_ports::{AuthorizeRequest, PaymentMethodData, ProcessorReply, VerificationCode};
use zeroize::Zeroizing;

use crate::asking::{Asking, Said};
use crate::follow::{cancel, close, read_intent};
use crate::form::form;
use crate::names::{CancellationReason, PAGE_METHODS, network};
use crate::object::{Identified, Intent};
use crate::outcome::{Known, declined, of_authorization, refused, unknown};
use crate::reference::{IntentKind, IntentReference};

/// What an intent is confirmed with. The bodies with card data are written at once, so that the request can be wiped before anybody waits.
pub(crate) struct Confirmation {
    intent: IntentReference,
    key: OpId,
    means: Means,
    return_url: Option<String>,
    /// Whether the shopper is away.
    off_session: bool,
}

enum Means {
    /// The body that creates a payment method of a card.
    Card(Zeroizing<Vec<u8>>),
    /// A payment method that is stored, and the body that creates a token of its verification code.
    Stored { method: Zeroizing<String>, code: Option<Zeroizing<Vec<u8>>> },
    /// Stripe's word for a method without a card.
    Page(&'static str),
}

impl Confirmation {
    /// `None` for what was never registered here.
    pub(crate) fn of(request: &AuthorizeRequest) -> Option<Self> {
        let intent = IntentReference::of(request.reference.as_ref()?)?;
        let mut off_session = false;
        let means = match &request.method_data {
            PaymentMethodData::Card(card) => {
                let (country, postcode) = (request.country.as_deref(), request.postcode.as_deref());
                Means::Card(payment_method(card, request.scheme, country, postcode))
            }
            PaymentMethodData::StoredCredential(payment) => {
                off_session = payment.mark().initiator() == Initiator::Merchant;
                let (_customer, method) = payment.credential().expose().split_once('/')?;
                let code = payment.verification_code().map(VerificationCode::expose);
                let code = code.map(|code| form(&[("cvc_update[cvc]", code)]));
                Means::Stored { method: Zeroizing::new(method.to_owned()), code }
            }
            PaymentMethodData::Method(id) => {
                Means::Page(PAGE_METHODS.iter().find(|(known, ..)| known == id).map(|(_, name, _)| *name)?)
            }
            PaymentMethodData::WalletToken(_) => return None,
        };
        Some(Self { intent, key: request.key, means, return_url: request.return_url.clone(), off_session })
    }

    const fn pays_stored(&self) -> bool {
        matches!(self.means, Means::Stored { .. })
    }

    /// Confirms the intent. Nothing is reserved before the last call of this.
    pub(crate) async fn confirm(self, asking: &Asking<'_>) -> ProcessorReply {
        let (method, token) = match self.create_means(asking).await {
            Ok(created) => created,
            Err(reply) => return reply,
        };
        let mut fields = Vec::new();
        match (&self.means, &method) {
            (Means::Page(name), _) => fields.push(("payment_method_data[type]", *name)),
            (_, Some(method)) => fields.push(("payment_method", method.as_str())),
            (_, None) => return ProcessorReply::NotSent,
        }
        match (&self.return_url, self.intent.kind) {
            (Some(url), _) => fields.push(("return_url", url)),
            (None, IntentKind::Payment) => fields.push(("error_on_requires_action", "true")),
            (None, IntentKind::Setup) => {}
        }
        if self.off_session && self.intent.kind == IntentKind::Payment {
            fields.push(("off_session", "true"));
        }
        if let Some(token) = &token {
            fields.push(("payment_method_options[card][cvc_token]", token));
        }
        fields.push(("expand[0]", self.intent.kind.expanded()));
        let key = format!("{}-confirm", self.key);
        match asking.post::<Intent>(&self.intent.act("confirm"), Some(&key), &fields).await {
            Said::Object(intent) => match of_authorization(&intent, self.key) {
                Known::Reply(reply) => reply,
                // The shopper would have to act, and there is no way to the shopper.
                Known::Nothing => self.give_up(asking, DeclineReason::AuthenticationFailed).await,
                Known::Senseless(why) => unknown(why),
            },
            Said::Refused { error, .. } if error.is_of_type("card_error") => {
                match close(asking, &self.intent, self.key, refused(&error, self.pays_stored())).await {
                    Ok(Known::Reply(reply)) => reply,
                    Ok(Known::Nothing) => unknown("declined, and not cancelled"),
                    Ok(Known::Senseless(why)) => unknown(why),
                    Err(why) => unknown(why),
                }
            }
            Said::Refused { error, .. } => {
                let (operation, error) = (self.key.to_string(), error.words());
                log::warn!(operation = operation.as_str(), error = error.as_str(); "Stripe refuses to confirm");
                match read_intent(asking, &self.intent, |intent| of_authorization(intent, self.key)).await {
                    Ok(Known::Reply(reply)) => reply,
                    Ok(Known::Nothing) => self.give_up(asking, DeclineReason::Generic).await,
                    Ok(Known::Senseless(why)) => unknown(why),
                    Err(why) => unknown(why),
                }
            }
            Said::NotSent(_why) => ProcessorReply::NotSent,
            Said::Unclear(why) => unknown(why),
        }
    }

    /// The payment method, and the token of the code; the answer, where there is none: then nothing was confirmed.
    async fn create_means(
        &self,
        asking: &Asking<'_>,
    ) -> Result<(Option<Zeroizing<String>>, Option<String>), ProcessorReply> {
        match &self.means {
            Means::Page(_) => Ok((None, None)),
            Means::Card(body) => {
                let id = self.create(asking, "/v1/payment_methods", "method", body).await?;
                Ok((Some(Zeroizing::new(id)), None))
            }
            Means::Stored { method, code } => {
                let token = match code {
                    Some(body) => Some(self.create(asking, "/v1/tokens", "code", body).await?),
                    None => None,
                };
                Ok((Some(method.clone()), token))
            }
        }
    }

    async fn create(
        &self,
        asking: &Asking<'_>,
        path: &str,
        what: &str,
        body: &Zeroizing<Vec<u8>>,
    ) -> Result<String, ProcessorReply> {
        let key = format!("{}-{what}", self.key);
        match asking.post_form::<Identified>(path, Some(&key), body.clone()).await {
            Said::Object(created) => Ok(created.id),
            Said::Refused { error, .. } if error.is_of_type("card_error") => Err(refused(&error, self.pays_stored())),
            said => {
                let (operation, why) = (self.key.to_string(), said.why());
                log::warn!(operation = operation.as_str(), why = why.as_str(); "Stripe did not take a {what}; nothing was confirmed");
                Err(ProcessorReply::NotSent)
            }
        }
    }

    /// Makes sure that nothing can come of it any more, and says no.
    async fn give_up(&self, asking: &Asking<'_>, reason: DeclineReason) -> ProcessorReply {
        match cancel(asking, &self.intent, CancellationReason::Abandoned).await {
            Said::Object(intent) if intent.status == "canceled" => declined(reason),
            said => unknown(format!("nothing came of confirming, and it is not cancelled: {}", said.why())),
        }
    }
}

/// The body that creates a payment method of a card.
fn payment_method(
    card: &Card,
    scheme: Option<Scheme>,
    country: Option<&str>,
    postcode: Option<&str>,
) -> Zeroizing<Vec<u8>> {
    let digits = card.expose_digits();
    let mut fields = vec![
        ("type", "card"),
        ("card[number]", digits.as_str()),
        ("card[exp_month]", card.expiry_month()),
        ("card[exp_year]", card.expiry_year()),
        ("card[cvc]", card.expose_verification_code()),
        ("billing_details[name]", card.name()),
    ];
    if let Some(network) = scheme.and_then(network) {
        fields.push(("card[networks][preferred]", network));
    }
    let address = [("billing_details[address][country]", country), ("billing_details[address][postal_code]", postcode)];
    fields.extend(address.into_iter().filter_map(|(name, part)| part.map(|part| (name, part))));
    form(&fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_method_has_of_the_address_what_is_compared() {
        let card = Card::new("Ana", "4242424242424242", "123", "2031", "12");
        let address = |postcode| {
            let body = payment_method(&card, None, Some("GB"), postcode);
            let fields = url::form_urlencoded::parse(&body).into_owned();
            fields.filter(|(name, _)| name.starts_with("billing_details[address]")).collect::<Vec<_>>()
        };
        let field = |name: &str, value: &str| (format!("billing_details[address][{name}]"), value.to_owned());
        assert_eq!(address(Some("SW1A 1AA")), [field("country", "GB"), field("postal_code", "SW1A 1AA")]);
        assert_eq!(address(None), [field("country", "GB")]);
    }

    #[test]
    fn a_payment_method_says_which_network_was_chosen() {
        let card = Card::new("Ana", "4000002500001001", "123", "2031", "12");
        let preferred = |scheme| {
            let body = payment_method(&card, scheme, Some("FR"), None);
            let fields = url::form_urlencoded::parse(&body).into_owned();
            fields
                .filter(|(name, _)| name == "card[networks][preferred]")
                .map(|(_, network)| network)
                .collect::<Vec<_>>()
        };
        assert_eq!(preferred(Some(Scheme::CartesBancaires)), ["cartes_bancaires"]);
        assert_eq!(preferred(Some(Scheme::Mastercard)), ["mastercard"]);
        assert_eq!(preferred(Some(Scheme::Visa)), ["visa"]);
        assert!(preferred(Some(Scheme::AmericanExpress)).is_empty() && preferred(None).is_empty());
    }
}
