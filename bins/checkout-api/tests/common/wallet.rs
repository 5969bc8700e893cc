//! A wallet provider that gives a session to everybody, and counts.

use std::sync::Mutex;

use async_trait::async_trait;
use dropin_access::WalletDomain;
use dropin_kernel::Timestamp;
use dropin_ports::{WalletCredentials, WalletFailure, WalletProvider, WalletSessionRequest};
use serde_json::json;

/// Stands at every domain.
pub(crate) const FILE: &str = "the association file\n";
/// 2100.
const FAR: Timestamp = Timestamp::from_micros(4_102_444_800_000_000);

#[derive(Default)]
pub(crate) struct Gateway {
    /// What was asked for, in order.
    pub(crate) asked: Mutex<Vec<WalletSessionRequest>>,
    /// Whether it fails.
    pub(crate) fails: Mutex<Option<WalletFailure>>,
}

/// What it answers for a domain.
pub(crate) fn session(domain: &str) -> String {
    json!({"epochTimestamp": 1, "expiresAt": 2, "merchantSessionIdentifier": "s", "nonce": "n", "merchantIdentifier": "m",
        "domainName": domain, "displayName": "d", "signature": "x"})
    .to_string()
}

#[async_trait]
impl WalletProvider for Gateway {
    fn inspect(&self, _: &WalletCredentials) -> Result<Timestamp, WalletFailure> {
        Ok(FAR)
    }

    async fn start_session(
        &self,
        _: WalletCredentials,
        request: WalletSessionRequest,
    ) -> Result<Vec<u8>, WalletFailure> {
        let session = session(&request.domain).into_bytes();
        self.asked.lock().unwrap().push(request);
        self.fails.lock().unwrap().clone().map_or(Ok(session), Err)
    }

    async fn fetch_association(&self, _: &WalletDomain) -> Result<Vec<u8>, String> {
        Ok(FILE.as_bytes().to_vec())
    }
}

impl Gateway {
    pub(crate) fn session(domain: &str) -> String {
        session(domain)
    }
}
