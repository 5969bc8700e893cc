//! A merchant's API users: what they may do, and their passwords.

use dropin_access::operator::PanelAction;
use dropin_access::{ApiUser, MONEY_PERMISSIONS, Permission, Permissions};
use dropin_kernel::MerchantId;
use dropin_usecases::access::MerchantAccount;

use super::{again, load, merchants, overlap, refusal};
use crate::guard::Answer;
use crate::page::see;
use crate::refusal::Refusal;
use crate::request::PanelRequest;
use crate::screens::secret;
use crate::texts::texts;

/// Adds an API user, and shows its password once.
pub(crate) async fn add_user(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let permissions: Permissions =
        request.fields.all("permission[]").filter_map(|code| code.parse::<Permission>().ok()).collect();
    check_money_user(&request, account.merchant.id, permissions)?;
    match merchants(&request).add_user(account.merchant.id, permissions).await {
        Ok(added) => {
            let secrets = vec![(texts().api_user_name, added.username), (texts().api_password, added.password)];
            secret::page(
                &request,
                texts().api_user_added,
                texts().hand_it_over,
                secrets,
                format!("/merchants/{}", account.merchant.id),
            )
        }
        Err(error) => again(&request, &account, error).await,
    }
}

/// The API user of the address, who is the merchant's.
fn user<'a>(request: &PanelRequest, account: &'a MerchantAccount) -> Result<&'a ApiUser, Refusal> {
    let username: String = request.segment("user", "API user")?;
    account.users.iter().find(|user| user.username == username).ok_or(Refusal::NotFound("API user"))
}

/// Whose password moves money, by the API and past every limit of the panel, is only an owner's to know.
fn check_money_user(request: &PanelRequest, merchant: MerchantId, permissions: Permissions) -> Result<(), Refusal> {
    if !permissions.move_money() || request.may(PanelAction::ManageMoneyUsers, merchant) {
        return Ok(());
    }
    let moving = permissions.iter().filter(|one| MONEY_PERMISSIONS.contains(one)).map(|one| one.as_str());
    Err(Refusal::NotAllowed(texts().moves_money(moving.collect::<Vec<_>>().join(", "))))
}

/// Lets an API user do exactly what is ticked.
pub(crate) async fn set_permissions(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let user = user(&request, &account)?;
    let permissions: Permissions =
        request.fields.all("permission[]").filter_map(|code| code.parse::<Permission>().ok()).collect();
    // Neither more nor less: a password that somebody changed meanwhile would move money once the permissions are back.
    check_money_user(&request, account.merchant.id, user.permissions)?;
    check_money_user(&request, account.merchant.id, permissions)?;
    match merchants(&request).set_permissions(&user.username, permissions).await {
        Ok(()) => Ok(see(format!("/merchants/{}?done=saved", account.merchant.id))),
        Err(error) => again(&request, &account, error).await,
    }
}

/// Gives an API user a new password, shown once.
pub(crate) async fn rotate_password(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let user = user(&request, &account)?;
    check_money_user(&request, account.merchant.id, user.permissions)?;
    match merchants(&request).rotate_password(&user.username, overlap(&request)?).await {
        Ok(rotated) => {
            let secrets =
                vec![(texts().api_user_name, user.username.clone()), (texts().new_api_password, rotated.password)];
            secret::page(
                &request,
                texts().new_api_password,
                texts().hand_it_over,
                secrets,
                format!("/merchants/{}", account.merchant.id),
            )
        }
        Err(error) => again(&request, &account, error).await,
    }
}

/// Shuts an API user out for ever.
pub(crate) async fn revoke_user(request: PanelRequest) -> Answer {
    let account = load(&request).await?;
    let username = &user(&request, &account)?.username;
    merchants(&request).revoke_user(username).await.map_err(refusal)?;
    Ok(see(format!("/merchants/{}?done=revoked", account.merchant.id)))
}
