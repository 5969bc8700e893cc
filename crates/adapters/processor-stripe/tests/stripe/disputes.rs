//! Disputes at the stand-in: told from the oldest on, accepted, answered once under a key with files, decided by the bank.

use actix_web::rt::System;
use dropin_card::Card;
use dropin_kernel::{DisputeAnswerId, MerchantId, OpId};
use dropin_money::Currency;
use dropin_order::{DisputeReason, DisputeState, Evidence, EvidenceFile, EvidenceMedia};
use dropin_ports::{
    CaptureRequest, DisputeAnswerRequest, DisputeReply, DisputeResponse, ListedDispute, PaymentMethodData, Processor,
    ProcessorDisputes, ProcessorReply, Registration, ReportedDispute,
};
use dropin_processor_contract::ProxyFault;
use dropin_processor_stripe::API_VERSION;
use serde_json::Value;
use uuid::Uuid;

use crate::contract::{Stripe, start};
use crate::naming::request;
use crate::stand_in::KEY;

const DISPUTED: &str = "4000000000000259";

impl Stripe {
    /// Pays and captures so much with a card whose payments are disputed.
    async fn disputed(&self, minor: i64) -> OpId {
        let data = PaymentMethodData::Card(Card::new("Ana", DISPUTED, "123", "2031", "12"));
        let mut request = request(data, Currency::Eur, minor);
        let Registration::Registered(reference) = self.processor.register(&request).await else { panic!() };
        request.reference = Some(reference.clone());
        let (authorization, merchant_id, amount) = (request.key, request.merchant_id, request.amount);
        assert!(matches!(self.processor.authorize(request).await, ProcessorReply::Approved { .. }));
        let capture = CaptureRequest {
            processor: None,
            key: OpId::new(Uuid::new_v4()),
            merchant_id,
            authorization,
            reference: Some(reference),
            amount,
        };
        assert!(matches!(self.processor.capture(capture).await, ProcessorReply::Approved { .. }));
        authorization
    }

    async fn listed(&self, after: Option<&str>, limit: u32) -> Vec<ListedDispute> {
        self.processor.list_disputes(after, limit).await.unwrap()
    }

    /// The dispute of a payment that is disputed.
    async fn dispute(&self) -> ReportedDispute {
        self.disputed(9_90).await;
        self.listed(None, 1).await.remove(0).dispute.unwrap()
    }

    /// What the stand-in shows at an address.
    async fn shown(&self, path: &str) -> Value {
        let request = awc::Client::default().get(format!("{}{path}", self.proxy.base())).bearer_auth(KEY);
        request.insert_header(("Stripe-Version", API_VERSION)).send().await.unwrap().json().await.unwrap()
    }

    /// How often the stand-in was asked so.
    fn asked(&self, line: &str) -> usize {
        self.proxy.requests().iter().filter(|asked| asked.starts_with(line)).count()
    }
}

fn answer(dispute: &ReportedDispute, response: DisputeResponse) -> DisputeAnswerRequest {
    DisputeAnswerRequest {
        key: DisputeAnswerId::new(Uuid::new_v4()),
        merchant_id: MerchantId::new(Uuid::new_v4()),
        reference: dispute.reference.clone(),
        tries: 0,
        response,
    }
}

fn file(name: &str, media: EvidenceMedia, bytes: usize) -> EvidenceFile {
    EvidenceFile { name: name.to_owned(), media, content: vec![7; bytes] }
}

fn evidence(text: &str, files: Vec<EvidenceFile>) -> DisputeResponse {
    DisputeResponse::Evidence(Evidence::new(Some(text.to_owned()), files).unwrap())
}

fn states(dispute: &ReportedDispute, state: DisputeState) -> DisputeReply {
    DisputeReply::Taken(ReportedDispute { state, ..dispute.clone() })
}

#[test]
fn disputes_of_the_stand_in_are_told_from_the_oldest_on() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        assert_eq!(stripe.listed(None, 10).await, []);
        let mut authorizations = Vec::new();
        for minor in [1_00, 2_00, 3_00, 4_00, 5_00] {
            authorizations.push(Some(stripe.disputed(minor).await));
        }
        let told = |listed: &[ListedDispute]| {
            let told = listed.iter().map(|one| one.dispute.as_ref().unwrap());
            told.map(|one| (one.authorization, one.amount.minor())).collect::<Vec<_>>()
        };
        let expected: Vec<_> = authorizations.into_iter().zip([1_00, 2_00, 3_00, 4_00, 5_00]).collect();
        // The stand-in's pages have two entries: the oldest stand on the third.
        let all = stripe.listed(None, 10).await;
        assert_eq!(told(&all), expected);
        let first = stripe.listed(None, 2).await;
        assert_eq!(first, all[..2]);
        let next = stripe.listed(Some(&first[1].position), 2).await;
        assert_eq!(next, all[2..4]);
        assert_eq!(stripe.listed(Some(&next[1].position), 2).await, all[4..]);
        assert_eq!(stripe.listed(Some(&all[4].position), 2).await, []);
        assert_eq!(stripe.listed(Some(&all[0].position), 10).await, all[1..], "over two pages");
        // Behind one that Stripe does not know any more it begins anew.
        assert_eq!(stripe.listed(Some("du_gone"), 2).await, all[..2]);
        let oldest = all[0].dispute.as_ref().unwrap();
        assert_eq!((oldest.state, oldest.reason), (DisputeState::NeedsResponse, DisputeReason::Fraudulent));
        assert_eq!(oldest.due_at.unwrap().unix_seconds(), 4_000_000_000);
        assert_eq!(stripe.processor.read_dispute(&oldest.reference).await.as_ref(), Ok(oldest));
        for foreign in ["../balance", "du_nobody"] {
            assert!(stripe.processor.read_dispute(foreign).await.is_err(), "{foreign}");
        }
        assert!(stripe.processor.list_disputes(Some("1&a=b"), 2).await.is_err());
    });
}

#[test]
fn a_dispute_of_the_stand_in_is_accepted_once_and_stays_so() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let dispute = stripe.dispute().await;
        let accept = answer(&dispute, DisputeResponse::Accept);
        let is_close = |line: &str| line.contains("/close ");
        stripe.proxy.fault(is_close, ProxyFault::LoseAnswer);
        let lost = stripe.processor.answer_dispute(accept.clone()).await;
        assert!(matches!(lost, DisputeReply::Unknown { .. }), "{lost:?}");
        for _ in 0..2 {
            let again = stripe.processor.answer_dispute(accept.clone()).await;
            assert_eq!(again, states(&dispute, DisputeState::Accepted));
        }
        // Also after Stripe has forgotten the keys: the dispute itself says that it was accepted.
        let other = answer(&dispute, DisputeResponse::Accept);
        assert_eq!(stripe.processor.answer_dispute(other).await, states(&dispute, DisputeState::Accepted));
        let read = stripe.processor.read_dispute(&dispute.reference).await.unwrap();
        assert_eq!(read.state, DisputeState::Accepted);
        let late = stripe.processor.answer_dispute(answer(&dispute, evidence("late", Vec::new()))).await;
        assert!(matches!(late, DisputeReply::Refused { .. }), "{late:?}");
        let nobodys = ReportedDispute { reference: "du_nobody".to_owned(), ..dispute };
        let refused = stripe.processor.answer_dispute(answer(&nobodys, DisputeResponse::Accept)).await;
        assert!(matches!(&refused, DisputeReply::Refused { why } if why.contains("no such dispute")), "{refused:?}");
    });
}

#[test]
fn evidence_reaches_the_stand_in_once_with_its_files() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        for (text, end) in [("winning_evidence", DisputeState::Won), ("losing_evidence", DisputeState::Lost)] {
            let dispute = stripe.dispute().await;
            let dispute = match end {
                DisputeState::Won => dispute,
                _ => stripe.listed(None, 2).await.remove(1).dispute.unwrap(),
            };
            let files = vec![
                file("receipt.pdf", EvidenceMedia::Pdf, 100_000),
                file("photo \"1\".jpg", EvidenceMedia::Jpeg, 1_000_000),
            ];
            let request = answer(&dispute, evidence(text, files));
            let of_this = format!("/v1/disputes/{} ", dispute.reference);
            stripe.proxy.fault(move |line| line.starts_with("POST") && line.contains(&of_this), ProxyFault::LoseAnswer);
            let lost = stripe.processor.answer_dispute(request.clone()).await;
            assert!(matches!(lost, DisputeReply::Unknown { .. }), "{lost:?}");
            let given = stripe.processor.answer_dispute(request.clone()).await;
            assert_eq!(given, states(&dispute, DisputeState::UnderReview));
            let shown = stripe.shown(&format!("/v1/disputes/{}", dispute.reference)).await;
            assert_eq!(
                (&shown["evidence_details"]["submission_count"], &shown["evidence"]["uncategorized_text"]),
                (&1.into(), &text.into())
            );
            for (kind, name, size) in
                [("receipt", "receipt.pdf", 100_000), ("uncategorized_file", "photo %221%22.jpg", 1_000_000)]
            {
                let id = shown["evidence"][kind].as_str().unwrap();
                let file = stripe.shown(&format!("/v1/files/{id}")).await;
                assert_eq!((&file["filename"], &file["size"]), (&name.into(), &size.into()), "{file}");
            }
            let decided = stripe.processor.read_dispute(&dispute.reference).await.unwrap();
            assert_eq!(decided.state, end);
        }
    });
}

/// Stripe keeps its own failure under the key, whether the evidence was taken or not.
#[test]
fn a_failure_that_stripe_repeats_under_a_key_holds_up_no_answer() {
    System::new().block_on(async {
        for (text, submissions) in [("failing_evidence", 3), ("doubtful_evidence", 2)] {
            let stripe = start(KEY).await;
            let dispute = stripe.dispute().await;
            let files = vec![file("a.pdf", EvidenceMedia::Pdf, 1)];
            let mut request = answer(&dispute, evidence(text, files));
            for _ in 0..2 {
                let failed = stripe.processor.answer_dispute(request.clone()).await;
                assert!(matches!(failed, DisputeReply::Unknown { .. }), "{failed:?}");
            }
            request.tries = 1;
            let given = stripe.processor.answer_dispute(request).await;
            assert_eq!(given, states(&dispute, DisputeState::UnderReview), "{text}");
            let shown = stripe.shown(&format!("/v1/disputes/{}", dispute.reference)).await;
            assert_eq!(shown["evidence_details"]["submission_count"], 1);
            assert_eq!(stripe.asked("POST /v1/disputes/"), submissions, "{text}");
        }
    });
}

/// Stripe shows the evidence with the dispute: more bytes than any other answer has.
#[test]
fn a_dispute_with_the_longest_text_is_read() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let dispute = stripe.dispute().await;
        let text = "\u{1d11e}".repeat(Evidence::MAX_TEXT_CHARACTERS);
        let given = stripe.processor.answer_dispute(answer(&dispute, evidence(&text, Vec::new()))).await;
        assert_eq!(given, states(&dispute, DisputeState::UnderReview));
        let read = stripe.processor.read_dispute(&dispute.reference).await.unwrap();
        assert_eq!(read.state, DisputeState::UnderReview);
        assert_eq!(stripe.listed(None, 1).await[0].dispute, Some(read));
    });
}

#[test]
fn evidence_that_stripe_cannot_take_is_refused_before_anything_is_sent() {
    System::new().block_on(async {
        let stripe = start(KEY).await;
        let dispute = stripe.dispute().await;
        let pdf = || file("a.pdf", EvidenceMedia::Pdf, 1);
        for files in [vec![pdf(), pdf()], vec![file("a.txt", EvidenceMedia::Text, 1)]] {
            let refused = stripe.processor.answer_dispute(answer(&dispute, evidence("text", files))).await;
            assert!(matches!(&refused, DisputeReply::Refused { why } if why.contains("file")), "{refused:?}");
        }
        assert_eq!((stripe.asked("POST /v1/files"), stripe.asked("POST /v1/disputes")), (0, 0));
        // An error that says nothing of the answer leaves it open.
        let busy = ProxyFault::answer("500 Internal Server Error", "", "{}");
        stripe.proxy.fault(|line| line.starts_with("POST /v1/files"), ProxyFault::AnswerInstead(busy));
        let request = answer(&dispute, evidence("text", vec![pdf()]));
        let open = stripe.processor.answer_dispute(request.clone()).await;
        assert!(matches!(open, DisputeReply::Unknown { .. }), "{open:?}");
        assert_eq!(stripe.processor.answer_dispute(request).await, states(&dispute, DisputeState::UnderReview));
    });
}
