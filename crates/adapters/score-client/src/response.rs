use dropin_risk::{OutsideScore, RuleName, Score};
use serde::Deserialize;

/// Most reasons that are kept.
const MAX_REASONS: usize = 10;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    score: Score,
    #[serde(default)]
    reasons: Vec<RuleName>,
}

/// The score, where the answer has one and its reasons are names.
pub(crate) fn read(bytes: &[u8]) -> Option<OutsideScore> {
    let Answer { score, mut reasons } = serde_json::from_slice(bytes).ok()?;
    reasons.truncate(MAX_REASONS);
    Some(OutsideScore { score: Some(score), reasons })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_score_with_names_is_an_answer() {
        let read = |text: &str| read(text.as_bytes()).map(|one| (one.score.map(Score::value), one.reasons.len()));
        assert_eq!(read(r#"{"Score":0}"#), Some((Some(0), 0)));
        assert_eq!(read(r#"{"Score":100,"Reasons":["A","B_2"],"Model":"7"}"#), Some((Some(100), 2)));
        let many = format!(r#"{{"Score":7,"Reasons":[{}]}}"#, [r#""A""#; 11].join(","));
        assert_eq!(read(&many), Some((Some(7), 10)));
        for text in [
            "",
            "{}",
            r#"{"Score":101}"#,
            r#"{"Score":-1}"#,
            r#"{"Score":1.5}"#,
            r#"{"Score":"7"}"#,
            r#"{"Score":7,"Reasons":["a person"]}"#,
            r#"{"Score":7} {}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
