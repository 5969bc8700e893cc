//! The stand-in's disputes and the files that are evidence in them, written from Stripe's public API reference.

use serde_json::{Value, json};

use super::{Answer, Asked, Books, Fields, PAGE, invalid, metadata, refusal};

/// A card whose payments are disputed once they are captured.
const DISPUTED: &str = "4000000000000259";
/// Until when a dispute may be answered, in seconds since 1970.
const DUE_BY: i64 = 4_000_000_000;
/// The members of evidence that are texts; the others are files.
const TEXTS: &[&str] = &["uncategorized_text"];

pub(super) struct Dispute {
    shown: Value,
    /// What the bank will have said when it is asked the next time.
    decision: Option<&'static str>,
    /// Whether Stripe has failed at its evidence.
    has_failed: bool,
}

fn missing() -> Answer {
    refusal(404, "invalid_request_error", Some("resource_missing"))
}

impl Books {
    /// The cardholder of some cards wants back what was just captured.
    pub(super) fn captured(&mut self, intent: &str) {
        let kept = &self.intents[intent];
        if kept.method.as_ref().is_none_or(|method| self.methods[method].number != DISPUTED) {
            return;
        }
        let (amount, currency) = (kept.received, kept.fields["currency"].clone());
        let id = self.id("du");
        // It is of the intent's account: no other one sees it.
        if let Some(account) = self.remembered.accounts.get(intent).cloned() {
            self.remembered.accounts.insert(id.clone(), account);
        }
        let shown = json!({"id": id, "object": "dispute", "status": "needs_response", "reason": "fraudulent",
            "amount": amount, "currency": currency, "payment_intent": intent, "metadata": {}, "evidence": {},
            "evidence_details": {"due_by": DUE_BY, "submission_count": 0}});
        // The newest first.
        self.disputes.insert(0, Dispute { shown, decision: None, has_failed: false });
    }

    pub(super) fn dispute(&mut self, asked: &Asked, parts: &[&str]) -> Answer {
        let fields = &asked.fields;
        let Some((id, rest)) = parts.split_first() else { return self.list_disputes(asked) };
        let Some(at) = self.disputes.iter().position(|dispute| dispute.shown["id"] == *id) else { return missing() };
        let dispute = &mut self.disputes[at];
        match (asked.method.as_str(), rest) {
            ("GET", []) => {
                if let Some(decision) = dispute.decision.take() {
                    dispute.shown["status"] = json!(decision);
                }
            }
            ("POST", [] | ["close"]) if dispute.shown["status"] != "needs_response" => return invalid(None),
            ("POST", ["close"]) => dispute.shown["status"] = json!("lost"),
            ("POST", []) => {
                if let Err(refused) = self.update(at, fields) {
                    return refused;
                }
            }
            _ => return missing(),
        }
        (200, self.expanded(&self.disputes[at].shown, fields, "payment_intent"))
    }

    fn update(&mut self, at: usize, fields: &Fields) -> Result<(), Answer> {
        let evidence: Vec<_> = fields
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("evidence[")?.strip_suffix(']')?, value)))
            .collect();
        let is_there = |(kind, value): &(&str, &String)| TEXTS.contains(kind) || self.files.contains_key(*value);
        if !evidence.iter().all(is_there) {
            return Err(missing());
        }
        let text = fields.get("evidence[uncategorized_text]").map(String::as_str);
        let failure = refusal(500, "api_error", None);
        let Dispute { shown, decision, has_failed } = &mut self.disputes[at];
        // It fails once, and does nothing.
        if text == Some("failing_evidence") && !std::mem::replace(has_failed, true) {
            return Err(failure);
        }
        for (name, value) in metadata(fields).as_object().unwrap() {
            shown["metadata"][name] = value.clone();
        }
        for (kind, value) in &evidence {
            shown["evidence"][*kind] = json!(value);
        }
        if fields.get("submit").is_none_or(|submit| submit == "true") {
            shown["status"] = json!("under_review");
            shown["evidence_details"]["submission_count"] = json!(1);
            *decision = match text {
                Some("winning_evidence") => Some("won"),
                Some("losing_evidence") => Some("lost"),
                _ => None,
            };
        }
        // It fails when all is done.
        if text == Some("doubtful_evidence") { Err(failure) } else { Ok(()) }
    }

    fn list_disputes(&self, asked: &Asked) -> Answer {
        let is_seen = |dispute: &&Value| dispute["id"].as_str().is_some_and(|id| self.remembered.is_seen(asked, id));
        let all: Vec<_> = self.disputes.iter().map(|dispute| &dispute.shown).filter(is_seen).collect();
        let fields = &asked.fields;
        let place = |name: &str| {
            let id = fields.get(name)?;
            all.iter().position(|dispute| dispute["id"] == id.as_str())
        };
        let mut places = ["starting_after", "ending_before"].into_iter();
        if places.any(|name| fields.contains_key(name) && place(name).is_none()) {
            return missing();
        }
        let limit = fields["limit"].parse::<usize>().unwrap().min(PAGE);
        let (begin, end) = match (place("starting_after"), place("ending_before")) {
            (None, Some(before)) => (before.saturating_sub(limit), before),
            (after, _) => {
                let begin = after.map_or(0, |after| after + 1);
                (begin, all.len().min(begin + limit))
            }
        };
        let has_more = if fields.contains_key("ending_before") { 0 < begin } else { end < all.len() };
        let shown = all[begin..end].iter().map(|dispute| self.expanded(dispute, fields, "data.payment_intent"));
        (200, json!({"object": "list", "data": Value::from_iter(shown), "has_more": has_more}))
    }

    fn expanded(&self, dispute: &Value, fields: &Fields, wanted: &str) -> Value {
        let mut dispute = dispute.clone();
        if fields.get("expand[0]").is_some_and(|expand| expand == wanted) {
            dispute["payment_intent"] = self.show(dispute["payment_intent"].as_str().unwrap(), "").1;
        }
        dispute
    }

    /// Takes a file of evidence, sent as multipart/form-data.
    pub(super) fn take_file(&mut self, content_type: &str, body: &[u8]) -> Answer {
        let Some(boundary) = content_type.strip_prefix("multipart/form-data; boundary=") else { return invalid(None) };
        let body: String = body.iter().map(|byte| char::from(*byte)).collect();
        let Some(parts) = body.strip_suffix(&format!("--{boundary}--\r\n")) else { return invalid(None) };
        let (mut purpose, mut file) = (None, None);
        for part in parts.split(&format!("--{boundary}\r\n")).skip(1) {
            let (head, content) = part.strip_suffix("\r\n").unwrap().split_once("\r\n\r\n").unwrap();
            match head.split_once("name=\"").unwrap().1.split_once('"').unwrap().0 {
                "purpose" => purpose = Some(content.to_owned()),
                "file" => file = Some((head.to_owned(), content.chars().count())),
                _ => return invalid(None),
            }
        }
        let Some((head, size)) = file.filter(|_| purpose.as_deref() == Some("dispute_evidence")) else {
            return invalid(None);
        };
        if !["application/pdf", "image/jpeg", "image/png"].iter().any(|media| head.ends_with(media)) {
            return invalid(None);
        }
        let id = self.id("file");
        let name = head.split_once("filename=\"").unwrap().1.split_once('"').unwrap().0;
        let shown = json!({"id": id, "object": "file", "purpose": purpose, "filename": name, "size": size});
        self.files.insert(id, shown.clone());
        (200, shown)
    }
}
