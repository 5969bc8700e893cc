//! Bodies that carry a file (docs.stripe.com/api/files/create), in one buffer that wipes itself.

use dropin_order::EvidenceFile;
use zeroize::Zeroizing;

/// A body and its media type, which names the boundary.
pub(crate) struct Upload {
    pub(crate) content_type: String,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

/// A file of evidence. Nobody who writes the file may know `boundary` before.
pub(crate) fn evidence_file(boundary: &str, file: &EvidenceFile) -> Upload {
    // No name has line breaks or other control characters.
    let name = file.name.replace('"', "%22");
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\ndispute_evidence\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {}\r\n\r\n",
        file.media
    );
    let parts = [head.as_bytes(), &file.content, b"\r\n--", boundary.as_bytes(), b"--\r\n"];
    // Room for all of it: what grows leaves a copy behind that is not wiped.
    let mut body = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| body.extend_from_slice(part));
    Upload { content_type: format!("multipart/form-data; boundary={boundary}"), body }
}

#[cfg(test)]
mod tests {
    use dropin_order::EvidenceMedia;

    use super::*;

    #[test]
    fn a_file_is_written_with_its_purpose_and_fills_its_room() {
        let content = b"%PDF\r\n--other--\xff".to_vec();
        let file = EvidenceFile { name: "a \"b\".pdf".to_owned(), media: EvidenceMedia::Pdf, content };
        let Upload { content_type, body } = evidence_file("dropin-1", &file);
        assert_eq!(content_type, "multipart/form-data; boundary=dropin-1");
        let expected = [
            &b"--dropin-1\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\ndispute_evidence\r\n"[..],
            b"--dropin-1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a %22b%22.pdf\"\r\nContent-Type: application/pdf\r\n\r\n",
            b"%PDF\r\n--other--\xff\r\n--dropin-1--\r\n",
        ];
        assert_eq!(*body, expected.concat());
        assert_eq!(body.capacity(), body.len(), "it grew");
    }
}
