//! The operator's file of the countries of IP addresses.

use std::sync::Arc;

use dropin_boot::{Failure, IpCountriesArgs};
use dropin_ip_countries::IpCountryFile;
use dropin_private_file::watch;

/// Reads the file, where there is one, and again whenever it changes.
///
/// # Errors
/// The file cannot be used, or the system gives no thread.
pub(crate) fn open(settings: &IpCountriesArgs) -> Result<Option<Arc<IpCountryFile>>, Failure> {
    let Some(path) = &settings.ip_countries else { return Ok(None) };
    let file = IpCountryFile::open(path).map_err(|error| format!("DROPIN_IP_COUNTRIES: {error}"))?;
    let file = Arc::new(file);
    watch("ip-countries", vec![path.clone()], &file, |file| match file.reload() {
        Ok(()) => log::info!("read DROPIN_IP_COUNTRIES again: payments are screened by its countries"),
        Err(error) => {
            log::error!(
                "DROPIN_IP_COUNTRIES has changed and cannot be used: {error}; what was read before stays in use"
            );
        }
    })?;
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_stops_the_start_and_none_is_none() {
        assert!(open(&IpCountriesArgs::default()).unwrap().is_none());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        let settings = IpCountriesArgs { ip_countries: Some(path.clone()) };
        let refused = || open(&settings).map(|opened| opened.is_some()).expect_err("refused").to_string();
        assert!(refused().starts_with("DROPIN_IP_COUNTRIES: cannot read"), "{}", refused());
        std::fs::write(path, "<html>").unwrap();
        assert!(refused().contains("no complete file of the MaxMind DB format"), "{}", refused());
    }
}
