//! Disputes: what a merchant is told of one, and what it hands in (docs/SPECIFICATION.md#disputes).

use std::borrow::Cow;

use dropin_kernel::{ViolationCode, Violations};
use dropin_order::{Dispute, Evidence, EvidenceFile, EvidenceMedia};
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema};

use crate::number::ExactNumber;
use crate::request::RequestError;
use crate::schema;

/// A dispute as its merchant sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Dispute, description = "Money that a shopper wants back through their bank (a chargeback).")]
pub struct DisputeBody {
    #[schema(value_type = schema::Id)]
    dispute_id: String,
    #[schema(value_type = schema::DisputeStateName)]
    state: &'static str,
    #[schema(value_type = schema::DisputeReasonName)]
    reason: &'static str,
    #[schema(value_type = schema::Amount)]
    amount: ExactNumber,
    #[schema(value_type = schema::CurrencyCode)]
    currency: &'static str,
    /// Until when it may be accepted or evidence handed in. Left out where the processor takes no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema::Moment)]
    due_at: Option<String>,
    /// True while an answer is on its way to the processor: its outcome is told by a notification, or seen here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    answer_pending: bool,
    #[schema(value_type = schema::Moment)]
    created_at: String,
    #[schema(value_type = schema::Moment)]
    updated_at: String,
}

impl From<&Dispute> for DisputeBody {
    fn from(dispute: &Dispute) -> Self {
        Self {
            dispute_id: dispute.id.to_string(),
            state: dispute.state.as_str(),
            reason: dispute.reason.as_str(),
            amount: (&dispute.amount).into(),
            currency: dispute.amount.currency().code(),
            due_at: dispute.due_at.map(|due| due.to_string()),
            answer_pending: false,
            created_at: dispute.created_at.to_string(),
            updated_at: dispute.updated_at.to_string(),
        }
    }
}

impl DisputeBody {
    fn answered(dispute: &Dispute, pending: bool) -> Self {
        Self { answer_pending: pending, ..Self::from(dispute) }
    }
}

/// The disputes of an Order.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(as = Disputes, description = "The disputes of an Order.")]
pub struct DisputeListBody {
    /// Oldest first.
    disputes: Vec<DisputeBody>,
}

/// The answer to GET /v1/order/{OrderId}/dispute; oldest first.
pub fn dispute_list<'a>(disputes: impl IntoIterator<Item = (&'a Dispute, bool)>) -> DisputeListBody {
    let body = |(dispute, pending): (&Dispute, bool)| DisputeBody::answered(dispute, pending);
    DisputeListBody { disputes: disputes.into_iter().map(body).collect() }
}

/// The body of the answer to an accept or to evidence; `pending` while the processor has not said that it has it.
pub fn dispute(dispute: &Dispute, pending: bool) -> Vec<u8> {
    serde_json::to_vec(&DisputeBody::answered(dispute, pending))
        .expect("a dispute has string keys and exact numbers only")
}

/// One part of a multipart form.
#[derive(Clone, PartialEq, Eq)]
pub struct FormPart {
    /// The name of its field.
    pub name: String,
    /// The name of the file, where it is one.
    pub file_name: Option<String>,
    /// Its media type without parameters, where it says one.
    pub media_type: Option<String>,
    /// What is in it.
    pub content: Vec<u8>,
}

/// The body of POST /v1/order/{OrderId}/dispute/{DisputeId}/evidence, for the document; the media types of its files stand beside it there.
#[derive(Debug)]
pub enum DisputeEvidenceForm {}

impl DisputeEvidenceForm {
    /// The field with the files, and what each may be.
    pub fn files() -> (&'static str, String) {
        ("Files", EvidenceMedia::ALL.map(EvidenceMedia::as_str).join(", "))
    }
}

impl PartialSchema for DisputeEvidenceForm {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("In your own words: at most 20,000 characters, not blank, without control characters but line breaks and tabs."))
            .max_length(Some(Evidence::MAX_TEXT_CHARACTERS))
            .pattern(Some(r"^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*$"));
        let file =
            ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
        let files = ArrayBuilder::new()
            .items(file.min_length(Some(1)))
            .min_items(Some(1))
            .max_items(Some(Evidence::MAX_FILES))
            .description(Some("2 MiB together, each part with a file name and a Content-Type."));
        let form = ObjectBuilder::new()
            .description(Some("A form of multipart/form-data, at most 2.5 MiB: Text, Files or both."))
            .schema_type(Type::Object)
            .property("Text", text)
            .property(Self::files().0, files)
            .min_properties(Some(1))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)));
        RefOr::T(form.into())
    }
}

impl ToSchema for DisputeEvidenceForm {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("DisputeEvidence")
    }
}

/// Reads evidence of the parts of a form.
///
/// # Errors
/// All that is wrong with them.
pub fn evidence(parts: Vec<FormPart>) -> Result<Evidence, RequestError> {
    let mut all = Violations::new();
    let (mut text, mut files) = (None, Vec::new());
    for part in parts {
        match part.name.as_str() {
            "Text" if text.is_some() => all.push("Text", ViolationCode::Conflict, "is sent twice"),
            "Text" => match String::from_utf8(part.content) {
                Ok(read) => text = Some(read),
                Err(_other) => all.push("Text", ViolationCode::Invalid, "must be UTF-8"),
            },
            "Files" => match file(files.len(), part, &mut all) {
                Some(file) => files.push(file),
                None => continue,
            },
            _ => all.push("", ViolationCode::Unknown, "the form has a field that is neither Text nor Files"),
        }
    }
    if !all.is_empty() {
        return Err(all.into());
    }
    Ok(Evidence::new(text, files)?)
}

fn file(index: usize, part: FormPart, all: &mut Violations) -> Option<EvidenceFile> {
    let media = part.media_type.unwrap_or_default().to_ascii_lowercase().parse::<EvidenceMedia>();
    if media.is_err() {
        let message = format!("the part's Content-Type must be one of {}", DisputeEvidenceForm::files().1);
        all.push(format!("Files[{index}].Content-Type"), ViolationCode::NotAllowed, message);
    }
    if part.file_name.is_none() {
        all.push(format!("Files[{index}].Name"), ViolationCode::Missing, "the part must name its file");
    }
    Some(EvidenceFile { name: part.file_name?, media: media.ok()?, content: part.content })
}
