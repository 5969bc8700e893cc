//! The field at the top: an id, a reference, an e-mail address or an amount.

use dropin_kernel::uuid::Uuid;
use dropin_kernel::{ContractId, EventId, MerchantId, OrderId, SessionId};
use dropin_money::Decimal;

use crate::fields::query;
use crate::guard::Answer;
use crate::page::see;
use crate::request::PanelRequest;

/// Leads to the one thing that has the id, or to the list that has the rest.
pub(crate) async fn find(request: PanelRequest) -> Answer {
    let wanted = request.fields.text("q");
    if wanted.is_empty() {
        return Ok(see("/orders"));
    }
    if let Ok(id) = wanted.parse::<Uuid>() {
        return Ok(see(match of_id(&request, id).await? {
            Some(path) => path,
            None => format!("/orders{}", query([("reference", wanted)])),
        }));
    }
    let mut words = wanted.split_whitespace();
    let first = words.next().unwrap_or_default();
    let field = match () {
        () if wanted.contains('@') => ("email", wanted),
        () if Decimal::parse(first).is_ok() && first.contains('.') && words.clone().count() <= 1 => {
            let currency = words.next().unwrap_or_default().to_ascii_uppercase();
            let pairs = [("amount", first), ("currency", currency.as_str())];
            return Ok(see(format!("/orders{}", query(pairs.into_iter().filter(|(_, value)| !value.is_empty())))));
        }
        () => ("reference", wanted),
    };
    Ok(see(format!("/orders{}", query([field]))))
}

/// The page of what has this id, among what the operator sees.
async fn of_id(request: &PanelRequest, id: Uuid) -> Result<Option<String>, crate::refusal::Refusal> {
    let deps = &request.deps;
    let covers = |merchant| request.operator.operator.rights.scope.covers(merchant);
    let order = deps.payments.store.find_order_anywhere(OrderId::new(id)).await?;
    if order.is_some_and(|(order, _)| covers(order.merchant_id)) {
        return Ok(Some(format!("/orders/{id}")));
    }
    let session = deps.sessions.find_session_for_shopper(SessionId::new(id)).await?;
    if session.is_some_and(|found| covers(found.session.merchant_id)) {
        return Ok(Some(format!("/sessions/{id}")));
    }
    let event = deps.notifications.show(EventId::new(id)).await?;
    if event.is_some_and(|found| covers(found.notification.merchant_id)) {
        return Ok(Some(format!("/notifications/{id}")));
    }
    let merchant = MerchantId::new(id);
    if covers(merchant) && deps.access.find_merchant(merchant).await?.is_some() {
        return Ok(Some(format!("/merchants/{id}")));
    }
    let of_contract = deps.back_office.find_contract_merchant(ContractId::new(id)).await?;
    Ok(of_contract.filter(|merchant| covers(*merchant)).map(|merchant| format!("/contracts/{id}?merchant={merchant}")))
}
