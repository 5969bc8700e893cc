//! A request of an operator who is signed in.

use std::net::IpAddr;
use std::str::FromStr;

use actix_web::http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use dropin_access::operator::{OperatorScope, PanelAction};
use dropin_kernel::MerchantId;
use dropin_usecases::operators::{CurrentOperator, PanelClient};
use dropin_wire::dispute::FormPart;

use crate::assets::{ICON, LIVE, STYLE};
use crate::fields::Fields;
use crate::refusal::Refusal;
use crate::routes::{Access, NAVIGATION, PanelRoute};
use crate::texts::{Texts, sentence, texts};
use crate::{PanelDeps, guard, live, page};

/// A request with who makes it.
pub(crate) struct PanelRequest {
    pub(crate) deps: web::Data<PanelDeps>,
    pub(crate) operator: CurrentOperator,
    /// The token of the forms on its page.
    pub(crate) csrf: String,
    pub(crate) route: &'static PanelRoute,
    pub(crate) fields: Fields,
    /// The files of a form that takes some.
    pub(crate) files: Vec<FormPart>,
    pub(crate) http: HttpRequest,
}

impl PanelRequest {
    /// The identifier in the address, of what the whole address is about.
    pub(crate) fn id<T: FromStr>(&self, what: &'static str) -> Result<T, Refusal> {
        self.segment("id", what)
    }

    /// What stands in the address in the place of `{name}`.
    pub(crate) fn segment<T: FromStr>(&self, name: &str, what: &'static str) -> Result<T, Refusal> {
        let text = self.http.match_info().get(name);
        text.and_then(|text| text.parse().ok()).ok_or(Refusal::NotFound(what))
    }

    /// Refuses a thing of a merchant that the operator does not see, as if there were none.
    pub(crate) fn own(&self, merchant: MerchantId, what: &'static str) -> Result<(), Refusal> {
        if !self.operator.operator.rights.scope.covers(merchant) {
            return Err(Refusal::NotFound(what));
        }
        match self.route.access {
            Access::Allowed(action) => {
                self.operator.require(action, Some(merchant)).map_err(|refused| Refusal::NotAllowed(sentence(&refused)))
            }
            Access::Anybody | Access::SignedIn => Ok(()),
        }
    }

    /// Whether a button for it is shown.
    pub(crate) fn may(&self, action: PanelAction, merchant: MerchantId) -> bool {
        self.operator.require(action, Some(merchant)).is_ok()
    }

    /// Whether the operator sees one merchant alone.
    pub(crate) fn merchants(&self) -> Option<Vec<MerchantId>> {
        match &self.operator.operator.rights.scope {
            OperatorScope::Deployment => None,
            OperatorScope::Merchants(merchants) => Some(merchants.iter().copied().collect()),
        }
    }

    /// The merchants that a list is of: the one that is chosen, else all that the operator sees.
    pub(crate) fn chosen_merchants(&self) -> Result<Option<Vec<MerchantId>>, Refusal> {
        if self.fields.given("merchant").is_none() {
            return Ok(self.merchants());
        }
        let chosen = self.fields.id("merchant", "merchant")?;
        if !self.operator.operator.rights.scope.covers(chosen) {
            return Err(Refusal::NotFound("merchant"));
        }
        Ok(Some(vec![chosen]))
    }

    /// Who it is, for people.
    pub(crate) fn name(&self) -> String {
        self.operator.operator.name.as_str().to_owned()
    }

    /// The same person as histories and the audit log name it: by its e-mail address, which is one person's.
    pub(crate) fn actor(&self) -> String {
        self.operator.operator.email.as_str().to_owned()
    }

    /// From where.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        guard::client_address(&self.http)
    }

    /// The same with the browser.
    pub(crate) fn client(&self) -> PanelClient {
        guard::client(&self.http)
    }

    /// The frame of a page.
    pub(crate) fn shell(&self, title: impl Into<String>) -> Shell {
        let section = section(self.route.path);
        let nav = NAVIGATION.iter().filter(|item| guard::may(&self.operator, item.action));
        let nav = nav
            .map(|item| ShownItem { path: item.path, name: (item.name)(texts()), current: section == item.path })
            .collect();
        Shell {
            t: texts(),
            title: title.into(),
            style: &STYLE.path,
            icon: &ICON.path,
            sandbox: self.deps.sandbox,
            search: if self.route.path == "/find" { self.fields.text("q").to_owned() } else { String::new() },
            operator: self.name(),
            role: self.operator.operator.rights.roles.to_string().replace(',', ", "),
            csrf: self.csrf.clone(),
            nav,
            notice: self.notice(),
            live: live::stream_of(self).map(|stream| LivePage { stream, script: &LIVE.path }),
        }
    }

    /// What the act of before came to; only texts of ours, whatever the address says.
    fn notice(&self) -> Option<Notice> {
        if self.route.method != Method::GET {
            return None;
        }
        let done = self.fields.given("done")?;
        NOTICES.iter().find(|(code, ..)| *code == done).map(|(_, kind, text)| Notice { kind, text: text(texts()) })
    }

    /// A page.
    pub(crate) fn page(&self, shown: &impl Template) -> HttpResponse {
        let mut response = page::html(StatusCode::OK, shown);
        if live::stream_of(self).is_some() {
            let policy = HeaderValue::from_static(page::LIVE_SECURITY_POLICY);
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        response
    }

    /// A page with a form that was not accepted.
    pub(crate) fn rejected(&self, page: &impl Template) -> HttpResponse {
        page::html(StatusCode::UNPROCESSABLE_ENTITY, page)
    }
}

/// The item of the navigation that an address is below.
fn section(path: &str) -> &str {
    let end = path[1..].find(['/', '.']).map_or(path.len(), |end| end + 1);
    &path[..end]
}

/// A code, the colour of what it means, and its text.
type NoticeRow = (&'static str, &'static str, fn(&Texts) -> &'static str);

/// What acts came to, by the code in the address that they lead to.
const NOTICES: &[NoticeRow] = &[
    ("refunded", "good", |t| t.notice_refunded),
    ("refund-pending", "wait", |t| t.notice_refund_pending),
    ("refund-failed", "bad", |t| t.notice_refund_failed),
    ("refund-waits", "wait", |t| t.notice_refund_waits),
    ("withdrawn", "good", |t| t.notice_withdrawn),
    ("approved", "good", |t| t.notice_approved),
    ("refused", "good", |t| t.notice_refused),
    ("captured", "good", |t| t.notice_captured),
    ("capture-pending", "wait", |t| t.notice_capture_pending),
    ("capture-held", "wait", |t| t.notice_capture_held),
    ("capture-refused", "bad", |t| t.notice_capture_refused),
    ("cancelled", "good", |t| t.notice_cancelled),
    ("cancel-pending", "wait", |t| t.notice_cancel_pending),
    ("cancel-refused", "bad", |t| t.notice_cancel_refused),
    ("review-approved", "good", |t| t.notice_review_approved),
    ("review-declined", "good", |t| t.notice_review_declined),
    ("review-pending", "wait", |t| t.notice_review_pending),
    ("dispute-answered", "good", |t| t.notice_dispute_answered),
    ("dispute-pending", "wait", |t| t.notice_dispute_pending),
    ("closed", "good", |t| t.notice_closed),
    ("queued", "good", |t| t.notice_queued),
    ("hurried", "good", |t| t.notice_hurried),
    ("not-queued", "wait", |t| t.notice_not_queued),
    ("discarded", "good", |t| t.notice_discarded),
    ("not-discarded", "wait", |t| t.notice_not_discarded),
    ("comparing", "wait", |t| t.notice_comparing),
    ("compares-already", "wait", |t| t.notice_compares_already),
    ("domain-added", "wait", |t| t.notice_domain_added),
    ("domain-verified", "good", |t| t.notice_domain_verified),
    ("domain-not-verified", "bad", |t| t.notice_domain_not_verified),
    ("happens-already", "wait", |t| t.notice_happens_already),
    ("saved", "good", |t| t.notice_saved),
    ("removed", "good", |t| t.notice_removed),
    ("revoked", "good", |t| t.notice_revoked),
    ("ended", "good", |t| t.notice_ended),
    ("changed", "good", |t| t.notice_changed),
    ("enabled-invited", "wait", |t| t.notice_enabled_invited),
];

/// A line above a page.
pub(crate) struct Notice {
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

/// An item of the navigation.
pub(crate) struct ShownItem {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
    pub(crate) current: bool,
}

/// What makes a page live.
pub(crate) struct LivePage {
    pub(crate) stream: String,
    pub(crate) script: &'static str,
}

/// The frame of a page.
pub(crate) struct Shell {
    pub(crate) t: &'static Texts,
    pub(crate) title: String,
    pub(crate) style: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) sandbox: bool,
    pub(crate) search: String,
    pub(crate) operator: String,
    pub(crate) role: String,
    pub(crate) csrf: String,
    pub(crate) nav: Vec<ShownItem>,
    pub(crate) notice: Option<Notice>,
    pub(crate) live: Option<LivePage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_belongs_to_an_item_of_the_navigation() {
        for (path, item) in
            [("/", "/"), ("/orders", "/orders"), ("/orders/{id}/refund", "/orders"), ("/orders.csv", "/orders")]
        {
            assert_eq!(section(path), item);
        }
    }
}
