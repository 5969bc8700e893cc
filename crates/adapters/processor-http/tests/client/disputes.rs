//! Disputes: told after the capture, answered once under a key, decided by what the evidence says.

use std::time::{Duration, Instant};

use dropin_kernel::DisputeAnswerId;
use dropin_order::{DisputeReason, DisputeState, Evidence, EvidenceFile, EvidenceMedia};
use dropin_ports::{
    DisputeAnswerRequest, DisputeReply, DisputeResponse, ListedDispute, Processor, ProcessorDisputes, ReportedDispute,
};
use uuid::Uuid;

use crate::harness::{Harness, PATIENT, PLAIN, approved, capture, card, eur, harness, key, merchant};

const DISPUTED: &str = "4000000000000259";

impl Harness {
    /// The list behind a position, once it has so many.
    async fn listed(&self, after: Option<&str>, count: usize) -> Vec<ListedDispute> {
        let begun = Instant::now();
        loop {
            let listed = self.processor.list_disputes(after, 10).await.unwrap();
            if count <= listed.len() || PATIENT < begun.elapsed() {
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn until(&self, reference: &str, state: DisputeState) -> ReportedDispute {
        let begun = Instant::now();
        loop {
            let found = self.processor.read_dispute(reference).await.unwrap();
            if found.state == state || PATIENT < begun.elapsed() {
                assert_eq!(found.state, state);
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn dispute(listed: &ListedDispute) -> &ReportedDispute {
    listed.dispute.as_ref().unwrap()
}

fn answer(reference: &str, response: DisputeResponse) -> DisputeAnswerRequest {
    let key = DisputeAnswerId::new(Uuid::new_v4());
    DisputeAnswerRequest { key, merchant_id: merchant(), reference: reference.to_owned(), tries: 0, response }
}

fn evidence(text: &str) -> DisputeResponse {
    let file = EvidenceFile { name: "a.pdf".to_owned(), media: EvidenceMedia::Pdf, content: vec![7; 100_000] };
    DisputeResponse::Evidence(Evidence::new(Some(text.to_owned()), vec![file]).unwrap())
}

#[actix_web::test]
async fn disputes_are_told_answered_and_decided() {
    let harness = harness(PATIENT).await;
    let mut authorizations = Vec::new();
    for number in [PLAIN, DISPUTED, DISPUTED, DISPUTED] {
        let authorization = key();
        harness.processor.authorize(card(authorization, number, 3_00)).await;
        assert_eq!(harness.processor.capture(capture(authorization, 2_00)).await, approved(2_00));
        authorizations.push(authorization);
    }
    let listed = harness.listed(None, 3).await;
    let told: Vec<_> = listed.iter().map(|one| dispute(one).authorization).collect();
    assert_eq!(told, authorizations[1..].iter().copied().map(Some).collect::<Vec<_>>());
    let first = dispute(&listed[0]);
    assert_eq!((first.state, first.reason), (DisputeState::NeedsResponse, DisputeReason::Fraudulent));
    assert!(first.amount == eur(2_00) && first.due_at.is_some());
    assert_eq!(harness.processor.list_disputes(Some(&listed[1].position), 10).await.unwrap(), listed[2..]);
    assert_eq!(harness.processor.list_disputes(None, 1).await.unwrap(), listed[..1]);
    let request = answer(&first.reference, DisputeResponse::Accept);
    let accepted = ReportedDispute { state: DisputeState::Accepted, ..first.clone() };
    for _ in 0..2 {
        assert_eq!(harness.processor.answer_dispute(request.clone()).await, DisputeReply::Taken(accepted.clone()));
    }
    let late = harness.processor.answer_dispute(answer(&first.reference, evidence("winning_evidence"))).await;
    assert!(matches!(late, DisputeReply::Refused { .. }), "{late:?}");
    for (listed, words, end) in
        [(&listed[1], "winning_evidence", DisputeState::Won), (&listed[2], "losing_evidence", DisputeState::Lost)]
    {
        let reference = &dispute(listed).reference;
        let review = ReportedDispute { state: DisputeState::UnderReview, ..dispute(listed).clone() };
        let given = harness.processor.answer_dispute(answer(reference, evidence(words))).await;
        assert_eq!(given, DisputeReply::Taken(review));
        harness.until(reference, end).await;
    }
    let nobodys = harness.processor.answer_dispute(answer("sbx_dp_nobody", DisputeResponse::Accept)).await;
    assert!(matches!(nobodys, DisputeReply::Refused { .. }), "{nobodys:?}");
    assert!(harness.processor.read_dispute("../journal").await.is_err(), "no other address is asked");
}
