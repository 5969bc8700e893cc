//! The documents that run the scripts: their policy, and the scripts that they name.

use std::collections::BTreeMap;

use checkout_api::document_without_session;

use super::Inventory;
use super::site::Served;

/// In place of a SessionId: every page may frame its document, and it holds nothing of anybody.
pub(super) const NO_SESSION: &str = "00000000-0000-0000-0000-000000000000";

/// A document that runs one script.
pub(super) struct Document {
    pub(super) file: &'static str,
    script: &'static str,
    /// What it may show in frames, by what the deployment is for; none where it has no frames.
    frames: &'static [&'static str],
}

pub(super) const DOCUMENTS: [Document; 2] = [
    Document { file: "frame.html", script: "frame.js", frames: &[] },
    Document { file: "challenge.html", script: "challenge.js", frames: &["https:", "http: https:"] },
];

/// What a document's policy says whatever the deployment, so that it runs no script but its own, and sends what is typed nowhere else.
const DIRECTIVES: [(&str, &str); 7] = [
    ("default-src", "'none'"),
    ("script-src", "'self'"),
    ("base-uri", "'none'"),
    ("form-action", "'none'"),
    ("frame-ancestors", "*"),
    ("require-trusted-types-for", "'script'"),
    ("trusted-types", "'none'"),
];

impl Document {
    /// What is wrong with it.
    pub(super) fn differences(&self, served: &Served, expected: &Inventory, connects: &[&str]) -> Vec<String> {
        if served.status != 200 {
            return vec![format!("it is answered with {}", served.status)];
        }
        let mut found = self.of_policy(&served.policy, connects);
        let integrity = expected.integrity.get(self.script).map(String::as_str).unwrap_or_default();
        found.extend(self.of_tags(&String::from_utf8_lossy(&served.body), integrity));
        let own = document_without_session(self.file).filter(|_| expected.version == dropin_browser::VERSION);
        if own.is_some_and(|own| own.as_bytes() != served.body) {
            found.push("it is another document than this program makes".to_owned());
        }
        found
    }

    /// Each directive has to be there once, as it should be, and no other.
    fn of_policy(&self, policy: &str, connects: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        let mut directives = BTreeMap::new();
        for directive in policy.split(';').map(str::trim).filter(|directive| !directive.is_empty()) {
            let (name, value) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
            if directives.insert(name.to_ascii_lowercase(), value.trim()).is_some() {
                found.push(format!("its Content-Security-Policy names {name} more than once"));
            }
        }
        for (name, value) in DIRECTIVES {
            if directives.remove(name) != Some(value) {
                found.push(format!("its Content-Security-Policy lacks {name} {value}"));
            }
        }
        let connected = directives.remove("connect-src").unwrap_or_else(|| {
            found.push("its Content-Security-Policy lacks connect-src 'self'".to_owned());
            ""
        });
        let others: Vec<_> =
            connected.split_whitespace().filter(|source| *source != "'self'" && !connects.contains(source)).collect();
        if !others.is_empty() {
            found.push(format!(
                "its Content-Security-Policy lets it send to {}: if that is the origin of {{stash_url}} or {{checkout_url}}, say so with --connect",
                others.join(" ")
            ));
        }
        if !self.frames.is_empty() && !directives.remove("frame-src").is_some_and(|value| self.frames.contains(&value))
        {
            found.push(format!("its Content-Security-Policy lacks frame-src {}", self.frames[0]));
        }
        let more = directives
            .iter()
            .map(|(name, value)| format!("its Content-Security-Policy has {name} {value} more than it should"));
        found.extend(more);
        found
    }

    /// Its own script has to be there once, and no other element that runs one.
    fn of_tags(&self, text: &str, integrity: &str) -> Vec<String> {
        let lower = text.to_ascii_lowercase();
        let starts = lower.match_indices("<script").map(|(at, tag)| at + tag.len());
        let tags: Vec<&str> = starts.filter_map(|start| text[start..].split('>').next()).collect();
        let (before, after) = (format!(" src=\"{}?", self.script), format!("\" integrity=\"{integrity}\" defer"));
        let own = |tag: &&&str| {
            let fingerprint = tag.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
            fingerprint.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let is_data = |tag: &&&str| **tag == " id=\"session\" type=\"application/json\"";
        let mut found = Vec::new();
        if tags.iter().filter(own).count() != 1 {
            found.push(format!("it does not run {} with the integrity {integrity}", self.script));
        }
        let others = tags.iter().filter(|tag| !own(tag) && !is_data(tag)).count();
        if others > 0 {
            found.push(format!("it has {others} script elements more than it should"));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &[&str] = &["https://pay.example"];

    fn policy() -> String {
        let fixed: Vec<_> = DIRECTIVES.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("{}; connect-src 'self' https://pay.example", fixed.join("; "))
    }

    #[test]
    fn a_document_runs_its_own_script_alone() {
        let tags = |text: &str, integrity: &str| DOCUMENTS[0].of_tags(text, integrity);
        let own = r#"<script id="session" type="application/json">{}</script><script src="frame.js?1" integrity="sha384-x" defer></script>"#;
        assert_eq!(tags(own, "sha384-x"), Vec::<String>::new());
        assert_eq!(tags(own, "sha384-y").len(), 2, "it is not its own, and one more");
        for more in [
            "<script>send(card)</script>",
            "<SCRIPT src=other.js></SCRIPT>",
            r#"<script src="other.js" type="application/json"></script>"#,
            r#"<script src="other.js" x='src="frame.js?1" integrity="sha384-x" defer'></script>"#,
        ] {
            let found = tags(&format!("{own}{more}"), "sha384-x");
            assert_eq!(found, ["it has 1 script elements more than it should"], "{more}");
        }
    }

    #[test]
    fn a_documents_policy_is_what_it_should_be_and_nothing_more() {
        let of = |policy: &str| DOCUMENTS[0].of_policy(policy, SITE);
        assert_eq!(of(&policy()), Vec::<String>::new());
        for (from, to, named) in [
            ("script-src 'self'", "script-src *", "lacks script-src 'self'"),
            ("script-src 'self'", "script-src *; script-src 'self'", "names script-src more than once"),
            ("script-src 'self'", "script-src 'self'; Script-Src-Elem *", "has script-src-elem * more"),
            (
                "connect-src 'self'",
                "connect-src 'self' https://other.example",
                "lets it send to https://other.example:",
            ),
            ("connect-src 'self' https://pay.example", "", "lacks connect-src 'self'"),
            ("trusted-types 'none'", "trusted-types x", "lacks trusted-types 'none'"),
            ("frame-ancestors *", "", "lacks frame-ancestors *"),
        ] {
            let found = of(&policy().replace(from, to));
            assert!(found.len() == 1 && found[0].contains(named), "{named}: {found:?}");
        }
        let challenge = |frames: &str| DOCUMENTS[1].of_policy(&format!("{}; frame-src {frames}", policy()), SITE);
        assert_eq!(challenge("https:"), Vec::<String>::new());
        assert_eq!(challenge("*"), ["its Content-Security-Policy lacks frame-src https:"]);
    }
}
