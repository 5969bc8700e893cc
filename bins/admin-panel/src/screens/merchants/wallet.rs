//! What a merchant has for the mobile wallet's button: its domains and certificate. The certificate's key comes by command alone, so that no browser
//! has it.

use dropin_access::operator::PanelAction;
use dropin_kernel::MerchantId;
use dropin_usecases::wallet::{WalletSetup, WalletSetupError};

use super::{load, page_of};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::screens::{acting, in_words};
use crate::show::{self, Html};
use crate::texts::{sentence, texts};

pub(super) struct DomainRow {
    pub(super) name: String,
    pub(super) state: Html,
    pub(super) checked: Html,
    pub(super) why: String,
}

/// What the merchant has for the mobile wallet's button.
pub(super) struct WalletCard {
    pub(super) identifier: Option<String>,
    pub(super) country: String,
    pub(super) expires: Html,
    pub(super) has_ended: bool,
    pub(super) domains: Vec<DomainRow>,
    pub(super) may_change: bool,
    /// What was typed of a domain that was refused.
    pub(super) domain: String,
    pub(super) file: String,
}

pub(super) async fn wallet(request: &PanelRequest, merchant: MerchantId) -> Result<WalletCard, Refusal> {
    let wallets = &request.deps.wallets.store;
    let identity = wallets.find_wallet(merchant).await?;
    let domains = wallets.list_wallet_domains(merchant).await?;
    let expires_at = identity.as_ref().map(|identity| identity.expires_at);
    Ok(WalletCard {
        may_change: request.may(PanelAction::ManageWallet, merchant),
        domain: request.fields.text("domain").to_owned(),
        file: request.fields.text("file").to_owned(),
        country: identity.as_ref().map(|identity| identity.country.clone()).unwrap_or_default(),
        identifier: identity.map(|identity| identity.identifier.as_str().to_owned()),
        expires: show::instant_or_dash(expires_at),
        has_ended: expires_at.is_some_and(|at| at <= request.deps.clock.now()),
        domains: domains
            .iter()
            .map(|one| {
                let check = one.check.as_ref();
                let kind = match check {
                    None => "wait",
                    Some(check) if check.failure.is_none() => "good",
                    Some(_) => "bad",
                };
                DomainRow {
                    name: one.domain.as_str().to_owned(),
                    state: show::badge(kind, &show::words(one.state().as_str())),
                    checked: show::instant_or_dash(check.map(|check| check.at)),
                    why: check
                        .and_then(|check| check.failure.as_deref())
                        .map(|why| texts().domain(why))
                        .unwrap_or_default(),
                }
            })
            .collect(),
    })
}

/// The use cases, in the name of this operator.
fn setup(request: &PanelRequest) -> WalletSetup {
    WalletSetup { by: acting(request), ..request.deps.wallets.clone() }
}

/// Takes the certificate and its key away.
pub(crate) async fn remove(request: PanelRequest) -> Answer {
    let merchant = load(&request).await?.merchant.id;
    match setup(&request).remove(merchant).await {
        Ok(()) => Ok(see(format!("/merchants/{merchant}?done=removed"))),
        Err(error) => again(&request, error).await,
    }
}

/// Registers a domain, or registers it anew with another file.
pub(crate) async fn add_domain(request: PanelRequest) -> Answer {
    let merchant = load(&request).await?.merchant.id;
    let fields = &request.fields;
    match setup(&request).add_domain(merchant, fields.text("domain"), fields.text("file")).await {
        Ok(_) => Ok(see(format!("/merchants/{merchant}?done=domain-added"))),
        Err(error) => again(&request, error).await,
    }
}

/// Looks for the file at a domain.
pub(crate) async fn check_domain(request: PanelRequest) -> Answer {
    let merchant = load(&request).await?.merchant.id;
    match setup(&request).check_domain(merchant, request.fields.text("domain")).await {
        Ok(checked) => {
            let failed = checked.check.is_some_and(|check| check.failure.is_some());
            let done = if failed { "domain-not-verified" } else { "domain-verified" };
            Ok(see(format!("/merchants/{merchant}?done={done}")))
        }
        Err(error) => again(&request, error).await,
    }
}

/// The merchant's page again with what is wrong, or why there is none.
async fn again(request: &PanelRequest, error: WalletSetupError) -> Answer {
    match error {
        WalletSetupError::Invalid(violations) => {
            let account = load(request).await?;
            Ok(request.rejected(&page_of(request, &account, in_words(&violations)).await?))
        }
        WalletSetupError::NoMerchant => Err(Refusal::NotFound("merchant")),
        WalletSetupError::NoWallet | WalletSetupError::NoDomain => Err(Refusal::Changed(sentence(&error))),
        WalletSetupError::Keyring(error) => Err(error.into()),
        WalletSetupError::Store(error) => Err(error.into()),
    }
}
