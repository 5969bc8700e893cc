//! What a merchant has for the mobile wallet's button, as its page shows it.

use dropin_kernel::MerchantId;

use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::show::{self, Html};
use crate::texts::texts;

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
}

pub(super) async fn wallet(request: &PanelRequest, merchant: MerchantId) -> Result<WalletCard, Refusal> {
    let wallets = &request.deps.wallets;
    let identity = wallets.find_wallet(merchant).await?;
    let domains = wallets.list_wallet_domains(merchant).await?;
    let expires_at = identity.as_ref().map(|identity| identity.expires_at);
    Ok(WalletCard {
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
