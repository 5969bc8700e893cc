use std::fmt;

use dropin_kernel::{Violation, ViolationCode, Violations, coded_enum};

coded_enum! {
    /// What a file of evidence may be.
    pub enum EvidenceMedia: "media type of evidence" {
        /// A PDF document.
        Pdf = "application/pdf",
        /// A photograph.
        Jpeg = "image/jpeg",
        /// A picture.
        Png = "image/png",
        /// Plain text.
        Text = "text/plain",
    }
}

/// A file that a merchant hands in.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvidenceFile {
    /// Its name.
    pub name: String,
    /// What it is.
    pub media: EvidenceMedia,
    /// What is in it.
    pub content: Vec<u8>,
}

impl fmt::Debug for EvidenceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvidenceFile({}, {} bytes)", self.media, self.content.len())
    }
}

/// What a merchant hands in to win a dispute: a text, files or both. It may tell of the shopper, so it is neither shown by [`fmt::Debug`] nor logged.
///
/// ```
/// use dropin_order::{Evidence, EvidenceFile, EvidenceMedia};
///
/// let receipt = EvidenceFile { name: "receipt.pdf".to_owned(), media: EvidenceMedia::Pdf, content: b"%PDF-1.7".to_vec() };
/// let evidence = Evidence::new(Some("Delivered on 3 May.".to_owned()), vec![receipt])?;
/// assert_eq!(format!("{evidence:?}"), "Evidence(19 characters, [EvidenceFile(application/pdf, 8 bytes)])");
/// assert!(Evidence::new(None, Vec::new()).is_err(), "it says nothing");
/// # Ok::<(), dropin_kernel::Violations>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Evidence {
    text: Option<String>,
    files: Vec<EvidenceFile>,
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters = self.text.as_ref().map_or(0, |text| text.chars().count());
        write!(f, "Evidence({characters} characters, {:?})", self.files)
    }
}

impl Evidence {
    /// Most characters of its text.
    pub const MAX_TEXT_CHARACTERS: usize = 20_000;
    /// Most files.
    pub const MAX_FILES: usize = 8;
    /// Most bytes of its files together: 2 MiB.
    pub const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;
    /// Most characters of a file's name.
    pub const MAX_NAME_CHARACTERS: usize = 255;

    /// Of what was handed in.
    ///
    /// # Errors
    /// All that is wrong with it, by the members `Text` and `Files`.
    pub fn new(text: Option<String>, files: Vec<EvidenceFile>) -> Result<Self, Violations> {
        let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut all = Violations::new();
        if text.is_none() && files.is_empty() {
            all.push("Text", ViolationCode::Missing, "is required where no file is sent");
        }
        if let Some(text) = &text {
            check_text(text, &mut all);
        }
        if Self::MAX_FILES < files.len() {
            all.push("Files", ViolationCode::TooLong, format!("at most {} files are taken", Self::MAX_FILES));
        }
        for (index, file) in files.iter().enumerate() {
            check_file(index, file, &mut all);
        }
        if Self::MAX_FILE_BYTES < files.iter().map(|file| file.content.len()).sum() {
            all.push("Files", ViolationCode::TooLong, "all files together may have 2 MiB (2,097,152 bytes)");
        }
        all.into_result(Some(Self { text, files }))
    }

    /// In the merchant's words.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The files, in their order.
    pub fn files(&self) -> &[EvidenceFile] {
        &self.files
    }
}

fn check_text(text: &str, all: &mut Violations) {
    if Evidence::MAX_TEXT_CHARACTERS < text.chars().count() {
        let message = format!("at most {} characters are taken; send more as a file", Evidence::MAX_TEXT_CHARACTERS);
        all.push("Text", ViolationCode::TooLong, message);
    }
    if text.chars().any(|one| one.is_control() && !matches!(one, '\n' | '\r' | '\t')) {
        all.push("Text", ViolationCode::Invalid, "must have no control characters but line breaks and tabs");
    }
}

fn check_file(index: usize, file: &EvidenceFile, all: &mut Violations) {
    let at = |member: &str| format!("Files[{index}].{member}");
    let characters = file.name.chars().count();
    if !(1..=Evidence::MAX_NAME_CHARACTERS).contains(&characters) || file.name.chars().any(char::is_control) {
        let message = "must be 1 to 255 characters without control characters";
        all.add(Violation::new(at("Name"), ViolationCode::Invalid, message));
    }
    if file.content.is_empty() {
        all.add(Violation::new(at("Content"), ViolationCode::Missing, "is empty"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: usize) -> EvidenceFile {
        EvidenceFile { name: name.to_owned(), media: EvidenceMedia::Png, content: vec![7; bytes] }
    }

    fn fields(text: Option<&str>, files: Vec<EvidenceFile>) -> Vec<String> {
        match Evidence::new(text.map(str::to_owned), files) {
            Ok(_evidence) => Vec::new(),
            Err(all) => all.into_sorted().into_iter().map(|one| format!("{} {}", one.field, one.code)).collect(),
        }
    }

    #[test]
    fn limits_hold_at_their_edge() {
        let most = "x".repeat(Evidence::MAX_TEXT_CHARACTERS);
        assert!(fields(Some(&most), Vec::new()).is_empty());
        assert_eq!(fields(Some(&format!("{most}x")), Vec::new()), ["Text VALUE_TOO_LONG"]);
        assert!(fields(None, vec![file("a", Evidence::MAX_FILE_BYTES)]).is_empty());
        assert_eq!(fields(None, vec![file("a", Evidence::MAX_FILE_BYTES), file("b", 1)]), ["Files VALUE_TOO_LONG"]);
        assert!(fields(None, vec![file("a", 1); Evidence::MAX_FILES]).is_empty());
        assert_eq!(fields(None, vec![file("a", 1); Evidence::MAX_FILES + 1]), ["Files VALUE_TOO_LONG"]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(fields(None, Vec::new()), ["Text FIELD_MISSING"]);
        assert_eq!(fields(Some(" \n "), Vec::new()), ["Text FIELD_MISSING"]);
        assert_eq!(fields(Some("a\u{0}b"), Vec::new()), ["Text FIELD_INVALID"]);
        assert_eq!(
            fields(None, vec![file("", 1), file("b", 0)]),
            ["Files[0].Name FIELD_INVALID", "Files[1].Content FIELD_MISSING"]
        );
    }
}
