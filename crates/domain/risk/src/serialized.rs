//! Serialized forms: codes as texts, and the flat form of a sum.

use dropin_kernel::serialize_as_text;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::facts::FactText;
use crate::reason::{ReasonCode, RuleName};
use crate::rules::RulesFingerprint;
use crate::velocity::{VelocityCounts, VelocityName, VelocitySum};

serialize_as_text!(RuleName, RulesFingerprint, VelocityName);

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReasonCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of_stored(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for FactText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FactText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(&text))
    }
}

/// What only a merchant in alarm has is left out elsewhere.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct StoredSum {
    tries: u32,
    declines: u32,
    blocks: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    alarm_challenges: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    alarm_passes: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    alarm_verifications: u32,
    cards: u32,
    amount_cents: u64,
}

impl From<VelocitySum> for StoredSum {
    fn from(VelocitySum { counts, cards }: VelocitySum) -> Self {
        Self {
            tries: counts.tries,
            declines: counts.declines,
            blocks: counts.blocks,
            alarm_challenges: counts.alarm_challenges,
            alarm_passes: counts.alarm_passes,
            alarm_verifications: counts.alarm_verifications,
            cards,
            amount_cents: counts.amount_cents,
        }
    }
}

impl From<StoredSum> for VelocitySum {
    fn from(stored: StoredSum) -> Self {
        let counts = VelocityCounts {
            tries: stored.tries,
            declines: stored.declines,
            blocks: stored.blocks,
            alarm_challenges: stored.alarm_challenges,
            alarm_passes: stored.alarm_passes,
            alarm_verifications: stored.alarm_verifications,
            amount_cents: stored.amount_cents,
        };
        Self { counts, cards: stored.cards }
    }
}
