//! What one request is counted against.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use actix_web::http::StatusCode;
use dropin_kernel::{MerchantId, SessionId};

use super::RateLimiter;
use crate::ApiError;
use crate::client::Client;

/// The limits that a request is counted against, and what it has used of them.
pub(crate) struct RequestQuota {
    rate_limiter: Arc<RateLimiter>,
    client: Client,
    /// The keyed hash of its credentials, when it has some.
    credentials: Option<u64>,
    /// Whether its client address paid for it.
    charged: bool,
    merchant: Cell<Option<MerchantId>>,
    /// The user name of a refused login, as it may stand in a log.
    refused_user: RefCell<Option<String>>,
    /// Whether it counts against anything.
    is_counted: bool,
    /// What its body has taken of the budget.
    body_bytes: Cell<usize>,
}

impl RequestQuota {
    /// A request with these credentials; `charged` says whether its client address paid for it.
    pub(super) fn counted(
        rate_limiter: &Arc<RateLimiter>,
        client: Client,
        credentials: Option<u64>,
        charged: bool,
    ) -> Rc<Self> {
        let mut quota = Self::blank(rate_limiter, client);
        (quota.credentials, quota.is_counted, quota.charged) = (credentials, true, charged);
        Rc::new(quota)
    }

    /// A request that does not count against its client address.
    pub(crate) fn uncounted(rate_limiter: &Arc<RateLimiter>, client: Client) -> Rc<Self> {
        Rc::new(Self::blank(rate_limiter, client))
    }

    fn blank(rate_limiter: &Arc<RateLimiter>, client: Client) -> Self {
        Self {
            rate_limiter: rate_limiter.clone(),
            client,
            credentials: None,
            is_counted: false,
            charged: true,
            merchant: Cell::new(None),
            refused_user: RefCell::default(),
            body_bytes: Cell::new(0),
        }
    }

    /// Notes that the login of `username` was refused, for the access log.
    pub(crate) fn refuse_login(&self, username: &str) {
        self.refused_user.replace(Some(loggable(username).to_owned()));
    }

    /// The user name whose login was refused.
    pub(crate) fn refused_user(&self) -> Option<String> {
        self.refused_user.borrow().clone()
    }

    /// The client that sent it.
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// The merchant, once the request has proven it.
    pub(crate) fn merchant(&self) -> Option<MerchantId> {
        self.merchant.get()
    }

    /// The request has proven its merchant; 429 RATE_LIMITED when that one is over its rate.
    pub(crate) fn prove(&self, merchant: MerchantId) -> Result<(), ApiError> {
        if self.merchant.replace(Some(merchant)) == Some(merchant) {
            return Ok(());
        }
        if let Some(credentials) = self.credentials {
            self.rate_limiter.trusted.record(credentials);
        }
        self.rate_limiter.merchant(merchant)
    }

    /// The request names a merchant without proving it; 429 RATE_LIMITED when too many do. Only for merchants that exist.
    pub(crate) fn count_public(&self, merchant: MerchantId) -> Result<(), ApiError> {
        self.rate_limiter.named(merchant, self.client)
    }

    /// The request names a live Session of that merchant; 429 RATE_LIMITED when too many do.
    pub(crate) fn count_session(&self, merchant: MerchantId, session: SessionId) -> Result<(), ApiError> {
        self.rate_limiter.named_session(merchant, session)
    }

    /// Takes memory for the request's body, which is `size` bytes large from now on, until the request is over. A proven merchant's takes none: its
    /// merchant has a rate.
    ///
    /// # Errors
    /// 429 RATE_LIMITED, 503 SERVICE_UNAVAILABLE: no memory is left for it.
    pub(crate) fn grow_body(&self, size: usize) -> Result<(), ApiError> {
        let more = size.saturating_sub(self.body_bytes.get());
        if !self.is_counted || self.merchant.get().is_some() || more == 0 {
            return Ok(());
        }
        self.rate_limiter.bodies.take(self.client, more, size)?;
        self.body_bytes.set(size);
        Ok(())
    }

    /// The request asks for a payment session of the wallet; 429 RATE_LIMITED when its client asks for too many.
    pub(crate) fn wallet(&self, merchant: MerchantId) -> Result<(), ApiError> {
        self.rate_limiter.wallet(merchant, self.client)
    }

    /// The merchant that the request has proven reads a page of events; 429 RATE_LIMITED when it reads too many.
    pub(crate) fn page(&self) -> Result<(), ApiError> {
        self.merchant.get().map_or(Ok(()), |merchant| self.rate_limiter.page(merchant))
    }

    /// Ends the request. Credentials that prove nothing any more, or are sent to an operation that needs none, lose their trust.
    pub(crate) fn finish(&self, status: StatusCode) {
        let Some(credentials) = self.credentials.filter(|_| !self.charged && self.merchant.get().is_none()) else {
            return;
        };
        let paid = self.rate_limiter.client(self.client);
        if paid.is_err() || status == StatusCode::UNAUTHORIZED {
            self.rate_limiter.trusted.forget(credentials);
        }
    }
}

impl Drop for RequestQuota {
    fn drop(&mut self) {
        if 0 < self.body_bytes.get() {
            self.rate_limiter.bodies.give_back(self.client, self.body_bytes.get());
        }
    }
}

/// A user name as it may stand in a log: `-` for one that is none of those that we make (`api-` and twelve hexadecimal digits), which may be a password or a
/// card number in the wrong place, or try to look like other members of the line.
fn loggable(username: &str) -> &str {
    let is_hex = |digits: &str| digits.len() == 12 && digits.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    if username.strip_prefix("api-").is_some_and(is_hex) { username } else { "-" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_shows_user_names_and_nothing_that_was_typed_in_their_place() {
        for shown in ["api-0123456789ab", "api-012345678901"] {
            assert_eq!(loggable(shown), shown);
        }
        for hidden in [
            "4242424242424242",
            "4242-4242-4242-4242",
            "4242.4242.4242.4242@x",
            "hunter2",
            "api-hunter2",
            "api-0123456789AB",
            "api-0123456789ab\n",
            "x status=200",
            "p\u{e4}ss",
            "",
        ] {
            assert_eq!(loggable(hidden), "-", "{hidden}");
        }
    }
}
