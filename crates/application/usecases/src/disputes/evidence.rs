//! How evidence is put into the bytes that are sealed: each text and file with its length before it.

use dropin_access::SealedSecret;
use dropin_kernel::DisputeAnswerId;
use dropin_order::{Evidence, EvidenceFile};
use dropin_ports::{KeyringError, Secrets};
use zeroize::Zeroizing;

/// What sealed evidence is bound to.
pub(crate) fn owner(answer: DisputeAnswerId) -> String {
    format!("evidence {answer}")
}

pub(super) fn seal(
    secrets: &dyn Secrets,
    answer: DisputeAnswerId,
    evidence: &Evidence,
) -> Result<SealedSecret, KeyringError> {
    secrets.seal_secret(&owner(answer), &write(evidence))
}

pub(super) fn open(
    secrets: &dyn Secrets,
    answer: DisputeAnswerId,
    sealed: &SealedSecret,
) -> Result<Evidence, KeyringError> {
    let bytes = Zeroizing::new(secrets.open_secret(&owner(answer), sealed)?);
    read(&bytes).ok_or(KeyringError::CannotOpen)
}

fn write(evidence: &Evidence) -> Zeroizing<Vec<u8>> {
    let parts = evidence
        .files()
        .iter()
        .flat_map(|file| [file.name.as_bytes(), file.media.as_str().as_bytes(), file.content.as_slice()]);
    let parts: Vec<&[u8]> = std::iter::once(evidence.text().unwrap_or_default().as_bytes()).chain(parts).collect();
    let length = parts.iter().map(|part| size_of::<u32>() + part.len()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    for part in parts {
        // No part is longer than the 2 MiB that all files together may have.
        bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<Evidence> {
    let mut rest = bytes;
    let mut next = || {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (part, behind) = behind.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        rest = behind;
        Some(part)
    };
    let text = std::str::from_utf8(next()?).ok()?.to_owned();
    let mut files = Vec::new();
    while let Some(name) = next() {
        let name = std::str::from_utf8(name).ok()?.to_owned();
        let media = std::str::from_utf8(next()?).ok()?.parse().ok()?;
        files.push(EvidenceFile { name, media, content: next()?.to_vec() });
    }
    if !rest.is_empty() {
        return None;
    }
    Evidence::new(Some(text), files).ok()
}

#[cfg(test)]
mod tests {
    use dropin_order::EvidenceMedia;

    use super::*;

    fn file(name: &str, media: EvidenceMedia, content: &[u8]) -> EvidenceFile {
        EvidenceFile { name: name.to_owned(), media, content: content.to_vec() }
    }

    #[test]
    fn what_was_written_is_read() {
        let receipt = file("receipt.pdf", EvidenceMedia::Pdf, b"%PDF\0\xff");
        let photo = file("Päckchen.png", EvidenceMedia::Png, &[0; 300]);
        for evidence in [
            Evidence::new(Some("Delivered.".to_owned()), Vec::new()),
            Evidence::new(None, vec![receipt.clone()]),
            Evidence::new(Some("Both".to_owned()), vec![receipt, photo]),
        ] {
            let evidence = evidence.unwrap();
            assert_eq!(read(&write(&evidence)), Some(evidence));
        }
    }

    #[test]
    fn what_is_cut_or_longer_is_nothing() {
        let photo = file("a.png", EvidenceMedia::Png, &[1, 2, 3]);
        let whole = write(&Evidence::new(Some("text".to_owned()), vec![photo]).unwrap());
        assert!((0..whole.len()).filter(|cut| *cut != 8).all(|cut| read(&whole[..cut]).is_none()));
        assert!(read(&whole[..8]).is_some(), "the text alone is evidence too: only the seal tells that it was cut");
        assert!(read(&[&whole[..], &[0]].concat()).is_none());
    }
}
