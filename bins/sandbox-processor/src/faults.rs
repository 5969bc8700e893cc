//! Switches that make the sandbox misbehave on purpose. They are kept in memory: a restart heals everything.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::credential::{IssuerCode, IssuerCodes};
use crate::enums::Call;

/// Longest delay that can be asked for, in milliseconds.
const MAX_DELAY_MS: u64 = 600_000;
/// How long `slow` waits when nothing is said.
const DEFAULT_SLOW: Duration = Duration::from_secs(1);

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// It does not.
    #[default]
    None,
    /// The work begins after the delay.
    Slow,
    /// The work is done at once; the answer is a 504 after the delay.
    TimeoutAfterWork,
    /// 500, nothing done.
    #[serde(rename = "error_500")]
    Error500,
    /// Declined, retryable.
    Refuse,
    /// The call arrives twice, one after the other; the answer is the second's.
    Duplicate,
}

/// The switch as it is set and shown.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Switch {
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    /// Calls that are still to go wrong; absent: all until switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u32>,
    /// Which calls go wrong; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "kinds")]
    kinds: Option<Vec<Call>>,
    /// Whose payments by stored credentials go wrong, and nothing else; absent: all calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    merchant_id: Option<String>,
    /// What the issuer says, when `refuse` hits a payment by a stored credential: ISO 8583 field 39.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_code: Option<IssuerCode>,
    /// Mastercard's merchant advice, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    advice_code: Option<IssuerCode>,
}

/// What one call has to suffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) mode: Mode,
    delay: Option<Duration>,
    issuer: IssuerCodes,
}

impl Fault {
    /// What the issuer says, if the call is refused on purpose.
    pub(crate) fn refusal(&self) -> Option<IssuerCodes> {
        (self.mode == Mode::Refuse).then_some(self.issuer)
    }

    /// How long to wait before the work of `slow`.
    pub(crate) fn slowness(&self) -> Duration {
        self.delay.unwrap_or(DEFAULT_SLOW)
    }

    /// How long to stay silent, `silence` unless the switch says otherwise.
    pub(crate) fn silence(&self, silence: Duration) -> Duration {
        self.delay.unwrap_or(silence)
    }
}

/// The one switch of a processor.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Switch>);

impl Faults {
    /// Sets the switch from a request's body and shows it; the error is a message for the caller.
    pub(crate) fn set(&self, body: &[u8]) -> Result<Switch, String> {
        let switch: Switch = serde_json::from_slice(body)
            .map_err(|error| format!("The body is no fault switch: {error}. Modes: none, slow, timeout_after_work, error_500, refuse, duplicate; kinds: AUTHORIZE, CAPTURE, VOID, REFUND, PAGE, REVIEW, CREDENTIAL, DISPUTE."))?;
        if switch.delay_ms.is_some_and(|delay| MAX_DELAY_MS < delay) {
            return Err(format!("DelayMs must be at most {MAX_DELAY_MS}."));
        }
        self.lock().clone_from(&switch);
        Ok(self.show())
    }

    /// The switch as it stands.
    pub(crate) fn show(&self) -> Switch {
        self.lock().clone()
    }

    /// The fault of one call of this kind; counts it. `payer` is the merchant whose stored credential it charges.
    pub(crate) fn take(&self, call: Call, payer: Option<&str>) -> Fault {
        let mut switch = self.lock();
        let is_spared = switch.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&call))
            || switch.merchant_id.as_deref().is_some_and(|merchant| payer != Some(merchant));
        if is_spared || switch.remaining == Some(0) {
            return Fault { mode: Mode::None, delay: None, issuer: IssuerCodes::default() };
        }
        let issuer = IssuerCodes { response: switch.response_code, advice: switch.advice_code };
        let fault = Fault { mode: switch.mode, delay: switch.delay_ms.map(Duration::from_millis), issuer };
        if let Some(remaining) = &mut switch.remaining {
            *remaining -= 1;
            if *remaining == 0 {
                *switch = Switch::default();
            }
        }
        fault
    }

    fn lock(&self) -> MutexGuard<'_, Switch> {
        // Every change is one assignment, so a panic elsewhere leaves a whole switch behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Call>>, D::Error> {
    let words = Option::<Vec<String>>::deserialize(deserializer)?;
    let call = |word: String| Call::from_word(&word).ok_or_else(|| serde::de::Error::custom("unknown kind"));
    words.map(|words| words.into_iter().map(call).collect()).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_counts_down_and_heals() {
        let faults = Faults::default();
        faults.set(br#"{"Mode":"refuse","Remaining":2,"Kinds":["CAPTURE"]}"#).unwrap();
        assert_eq!(faults.take(Call::Refund, None).mode, Mode::None);
        assert_eq!(faults.take(Call::Capture, None).mode, Mode::Refuse);
        assert_eq!(faults.take(Call::Capture, None).mode, Mode::Refuse);
        assert_eq!(faults.take(Call::Capture, None).mode, Mode::None);
        assert_eq!(faults.show().mode, Mode::None);
    }

    #[test]
    fn a_switch_for_one_merchant_spares_all_others() {
        let faults = Faults::default();
        faults.set(br#"{"Mode":"refuse","Remaining":1,"Kinds":["AUTHORIZE"],"MerchantId":"m1"}"#).unwrap();
        for spared in [None, Some("m2")] {
            assert_eq!(faults.take(Call::Authorize, spared).mode, Mode::None);
        }
        assert_eq!(faults.take(Call::Authorize, Some("m1")).mode, Mode::Refuse);
        assert_eq!(faults.take(Call::Authorize, Some("m1")).mode, Mode::None);
    }

    #[test]
    fn without_a_count_it_lasts() {
        let faults = Faults::default();
        faults.set(br#"{"Mode":"error_500"}"#).unwrap();
        for _ in 0..5 {
            assert_eq!(faults.take(Call::Void, None).mode, Mode::Error500);
        }
        for wrong in [
            "{}",
            r#"{"Mode":"x"}"#,
            r#"{"Mode":"slow","DelayMs":600001}"#,
            r#"{"Mode":"slow","Kinds":["X"]}"#,
            r#"{"Mode":"refuse","ResponseCode":"r1"}"#,
        ] {
            assert!(faults.set(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert_eq!(faults.show().mode, Mode::Error500);
    }
}
