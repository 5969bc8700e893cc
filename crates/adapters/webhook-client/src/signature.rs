//! The headers of a notification (Standard Webhooks, symmetric signatures).

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use dropin_ports::WebhookRequest;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};

/// Tells the order within a payment, also when a notification is sent again later.
const HEADER_WEBHOOK_SEQUENCE: &str = "webhook-sequence";

/// Adds to `headers` what identifies and signs `request`. Returns the signatures; `None` when it has no secret or its body is no text.
pub(crate) fn sign(request: &WebhookRequest, headers: &mut HeaderMap) -> Option<String> {
    let id = request.event_id.to_string();
    let timestamp = request.at.unix_seconds();
    let signatures = signatures(&id, timestamp, &request.body, &request.secrets)?;
    let mut add = |name, value: &str| -> Option<()> {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
        Some(())
    };
    add(HEADER_WEBHOOK_SIGNATURE, &signatures)?;
    add(HEADER_WEBHOOK_ID, &id)?;
    add(HEADER_WEBHOOK_TIMESTAMP, &timestamp.to_string())?;
    add(HEADER_WEBHOOK_SEQUENCE, &request.sequence.to_string())?;
    Some(signatures)
}

/// One signature per secret, with spaces between; any of them convinces the receiver.
fn signatures(id: &str, timestamp: i64, body: &[u8], secrets: &[Vec<u8>]) -> Option<String> {
    let sign =
        |secret: &Vec<u8>| Webhook::from_bytes(secret.clone()).and_then(|key| key.sign(id, timestamp, body)).ok();
    let signatures = secrets.iter().map(sign).collect::<Option<Vec<_>>>()?;
    (!signatures.is_empty()).then(|| signatures.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector that the libraries of Standard Webhooks are tested with.
    #[test]
    fn signs_as_the_published_vector_says() {
        const KEY: [u8; 24] = [
            0x31, 0xf2, 0x90, 0xf6, 0xbf, 0x06, 0x29, 0x8a, 0xab, 0x4f, 0x08, 0xd4, 0x3c, 0x3f, 0x08, 0x2c, 0xf6, 0x48,
            0xa3, 0x62, 0xda, 0x2d, 0xa4, 0xb0,
        ];
        let body = br#"{"test": 2432232314}"#;
        let sign = |secrets: &[Vec<u8>]| signatures("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, secrets);
        assert_eq!(sign(&[KEY.to_vec()]).as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        let both = sign(&[vec![7; 32], KEY.to_vec()]).expect("signed");
        assert_eq!(both.split(' ').count(), 2);
        assert!(both.ends_with(" v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(sign(&[]), None);
    }
}
